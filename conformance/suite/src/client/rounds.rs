//! Rounds of input: what comes back, and with which request.

use serde_json::{Value, json};

use super::asking::{asks, call, form, tick, with};
use super::script::try_calls;
use super::{Answer, Cx, Played, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-mrtr-answers", Both, answers),
    client_check!("client-mrtr-state-only", Both, state_only),
    client_check!("client-mrtr-state-verbatim", Both, state_verbatim),
    client_check!("client-mrtr-no-state", Both, no_state),
    client_check!("client-mrtr-unrelated-call", Both, unrelated_call),
    client_check!("client-mrtr-unknown-kind", Both, unknown_kind),
    client_check!("client-mrtr-unsupported-method", Both, unsupported_method),
];

/// Answers that input is required, with these members.
fn requires(seen: &Seen, members: Value) -> Answer {
    Answer::result(seen, with(Some(json!({ "resultType": "input_required" })), members))
}

/// Goes on if the client answers forms, as far as it declares.
fn answers_forms(played: &Played) -> Verdict {
    let declares = |seen: &Seen| {
        let elicitation = seen.capability("/elicitation");
        elicitation.get("form").is_some() || elicitation.as_object().is_some_and(|it| it.is_empty())
    };
    if played.requests.iter().any(declares) {
        return Ok(());
    }
    Err(Stop::skip("the client does not declare that it answers forms"))
}

const KEYS: [&str; 4] = ["confirm", "", "__proto__", "\u{2603}"];

async fn answers(cx: Cx) -> Verdict {
    let steps = json!([
        { "do": "tools/call", "params": { "name": "echo", "arguments": { "text": "hi" } } },
        { "do": "prompts/get", "params": { "name": "greet", "arguments": { "who": "Ada" } } },
        { "do": "resources/read", "params": { "uri": "test://one" } },
    ]);
    let part = |seen: &Seen| match seen.method() {
        "tools/call" | "prompts/get" | "resources/read" if !seen.is_retry() => {
            let requests = KEYS.map(|key| (key.to_owned(), tick())).into_iter();
            asks(seen, requests.collect::<serde_json::Map<_, _>>().into())
        }
        _ => good(seen),
    };
    let played = cx.play(steps, part).await?;
    played.first("tools/call")?;
    answers_forms(&played)?;
    for (step, method) in ["tools/call", "prompts/get", "resources/read"].into_iter().enumerate() {
        let both = played.of(method).collect::<Vec<_>>();
        let [first, retry] = *both else {
            let told = format!("{} requests", both.len());
            return Err(Stop::fail(format!("{method} and one retry"), told));
        };
        comes_back(first, retry)?;
        played.result(step)?;
    }
    played.ended_well()
}

/// The retry is the same request, with the answers and under a new id.
fn comes_back(first: &Seen, retry: &Seen) -> Verdict {
    let told = || shown(&retry.message);
    expect(first.id() != retry.id(), "a new id", told())?;
    for param in ["name", "arguments", "uri"] {
        expect(first.param(param) == retry.param(param), format!("the same {param}"), told())?;
    }
    expect(retry.param("requestState") == "state-1", "the state that was given", told())?;
    let given = retry.param("inputResponses").as_object();
    let given = given.ok_or_else(|| Stop::fail("answers to what was asked", told()))?;
    let mut keys = given.keys().collect::<Vec<_>>();
    keys.sort();
    let mut right = KEYS;
    right.sort_unstable();
    expect(keys == right, format!("answers under {right:?}"), told())?;
    for answer in given.values() {
        let is_bare = at(answer, "/action").is_string() && answer.get("method").is_none();
        expect(is_bare, "a bare answer, with its action", shown(answer))?;
    }
    for header in ["Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"] {
        let seen = format!("{:?}", retry.header(header));
        let expected = format!("{header} as with the first request");
        expect(first.header(header) == retry.header(header), expected, seen)?;
    }
    Ok(())
}

async fn state_only(cx: Cx) -> Verdict {
    let tried = try_calls(&cx, &["once", "for ever"], |seen| match seen.case() {
        "once" if !seen.is_retry() => requires(seen, json!({ "requestState": "only-1" })),
        "for ever" => requires(seen, json!({ "requestState": format!("only-{}", seen.turn) })),
        _ => good(seen),
    });
    let tried = tried.await?;
    let mut retries = tried.requests("once").skip(1);
    match retries.next() {
        // A client may leave it at that.
        None => drop(tried.told("once")?),
        Some(retry) => {
            let told = || shown(&retry.message);
            expect(retry.param("requestState") == "only-1", "the state that was given", told())?;
            let answered = retry.message.pointer("/params/inputResponses");
            let is_empty = answered.and_then(Value::as_object).is_none_or(|it| it.is_empty());
            expect(is_empty, "no answers where nothing was asked", told())?;
            cx.warnings.unless(answered.is_none(), "no inputResponses at all", told());
            tried.result("once")?;
        }
    }
    tried.told("for ever")?;
    let rounds = tried.requests("for ever").count();
    cx.warnings.unless(rounds <= 21, "an end after 20 rounds", format!("{rounds} rounds"));
    tried.goes_on()
}

/// States that nobody may touch.
fn states() -> Vec<String> {
    let plain = ["", "{\"a\": 1}", "YQ==", "%41", " spaces ", "\u{2603}\0\n\"\\/", "\u{65}\u{301}"];
    plain.iter().map(|state| (*state).to_owned()).chain(["x".repeat(1 << 16)]).collect()
}

async fn state_verbatim(cx: Cx) -> Verdict {
    let cases = (0..states().len()).map(|n| format!("state-{n}")).collect::<Vec<_>>();
    let cases = cases.iter().map(|case| &**case).collect::<Vec<_>>();
    let all = states();
    let part = move |seen: &Seen| {
        let number = seen.case().strip_prefix("state-").and_then(|it| it.parse::<usize>().ok());
        let Some(state) = number.and_then(|number| all.get(number)) else { return good(seen) };
        let second = format!("{state}2");
        match seen.message.pointer("/params/requestState").map(|given| *given == second) {
            None => asks_with(seen, state),
            Some(false) => asks_with(seen, &second),
            Some(true) => good(seen),
        }
    };
    let tried = try_calls(&cx, &cases, part).await?;
    tried.played.first("tools/call")?;
    answers_forms(&tried.played)?;
    for (case, state) in cases.iter().zip(states()) {
        let given = tried.requests(case).map(|seen| seen.message.pointer("/params/requestState"));
        let given = given.map(|state| state.cloned().unwrap_or_default()).collect::<Vec<_>>();
        let right = [Value::Null, state.clone().into(), format!("{state}2").into()];
        let expected = format!("no state, then {}, each as it was given", shown(&json!(right)));
        expect(given == right, expected, shown(&json!(given)))?;
        let ids = tried.requests(case).map(Seen::id).collect::<Vec<_>>();
        let is_new = |(index, id): (usize, &&Value)| !ids.iter().take(index).any(|it| it == id);
        expect(ids.iter().enumerate().all(is_new), "a new id each time", format!("{ids:?}"))?;
    }
    tried.all_give_results()
}

fn asks_with(seen: &Seen, state: &str) -> Answer {
    requires(seen, json!({ "inputRequests": { "confirm": tick() }, "requestState": state }))
}

async fn no_state(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "tools/call" if !seen.is_retry() => {
            requires(seen, json!({ "inputRequests": { "confirm": tick() } }))
        }
        _ => good(seen),
    };
    let played = cx.play(json!([call("ask")]), part).await?;
    played.first("tools/call")?;
    answers_forms(&played)?;
    let retry = played.of("tools/call").nth(1);
    let retry = retry.ok_or_else(|| Stop::fail("a retry with the answer", "none"))?;
    let state = retry.message.pointer("/params/requestState");
    expect(state.is_none(), "no requestState, not even null", shown(&retry.message))?;
    played.result(0).map(drop)
}

async fn unrelated_call(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "tools/call" if seen.name() == "ask" && !seen.is_retry() => {
            asks(seen, json!({ "confirm": tick() }))
        }
        _ => good(seen),
    };
    let mut ask = call("ask");
    ask["beside"] = true.into();
    let others = [
        call("other"),
        json!({ "do": "tools/list" }),
        json!({ "do": "server/discover" }),
        json!({ "do": "resources/read", "params": { "uri": "test://one" } }),
    ];
    let mut steps = vec![ask];
    steps.extend(others.clone());
    steps.push(json!({ "do": "wait" }));
    steps.extend(others);
    let played = cx.play(Value::Array(steps), part).await?;
    answers_forms(&played)?;
    if !played.requests.iter().any(Seen::is_retry) {
        return Err(Stop::fail("a retry with the answer", "none"));
    }
    for seen in played.requests.iter().filter(|seen| seen.name() != "ask") {
        let params = at(&seen.message, "/params");
        let stray = params.get("requestState").or_else(|| params.get("inputResponses"));
        expect(stray.is_none(), "state and answers in the retry alone", shown(&seen.message))?;
    }
    played.ended_well()
}

async fn unknown_kind(cx: Cx) -> Verdict {
    let cases = ["a method of its own", "params of no form", "params of no message"];
    let tried = try_calls(&cx, &cases, |seen| {
        let asked = match seen.case() {
            "a method of its own" => json!({ "method": "com.example/ask", "params": { "x": 1 } }),
            "params of no form" => {
                let params = json!({ "mode": "form", "message": 7, "requestedSchema": 5 });
                json!({ "method": "elicitation/create", "params": params })
            }
            "params of no message" => {
                json!({ "method": "sampling/createMessage", "params": { "messages": "x" } })
            }
            _ => return good(seen),
        };
        if seen.is_retry() { good(seen) } else { asks(seen, json!({ "it": asked })) }
    });
    let tried = tried.await?;
    made_up(&tried.played)?;
    tried.goes_on()?;
    // The same of what was never declared.
    let part = |seen: &Seen| match seen.name() {
        "ask" if !seen.is_retry() => {
            asks(seen, json!({ "it": form(json!({ "name": { "type": "string" } })) }))
        }
        _ => good(seen),
    };
    let context = json!({ "capabilities": {}, "steps": [call("ask"), call("fine")] });
    let played = cx.play_with(context, part).await?;
    made_up(&played).map_err(|stop| stop.of("a form that the client did not declare"))?;
    played.step(0)?;
    played.result(1).map(drop)
}

/// Nothing was answered but that nobody answers.
fn made_up(played: &Played) -> Verdict {
    let is_made_up = |answer: &&Value| {
        let action = at(answer, "/action");
        action != "decline" && action != "cancel"
    };
    let made_up = played.answers("it").find(is_made_up);
    let seen = made_up.map(shown).unwrap_or_default();
    expect(made_up.is_none(), "no answer that is made up", seen)
}

async fn unsupported_method(cx: Cx) -> Verdict {
    let methods = ["tools/list", "prompts/list", "resources/list", "completion/complete"];
    let part = move |seen: &Seen| {
        if methods.contains(&seen.method()) && !seen.is_retry() {
            return asks(seen, json!({ "confirm": tick() }));
        }
        good(seen)
    };
    let complete = json!({ "do": "completion/complete", "params": {
        "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "who", "value": "a" },
    } });
    // It rests on no list, as a call of a tool may.
    let fine = json!({ "do": "resources/read", "params": { "uri": "test://one" } });
    let [tools, prompts, resources, _] = methods.map(|method| json!({ "do": method }));
    let steps = json!([tools, prompts, resources, complete, fine]);
    let played = cx.play(steps, part).await?;
    for (step, method) in methods.into_iter().enumerate() {
        // That servers must not ask here binds them alone.
        let told = played.error(step).err();
        cx.warnings.unless(told.is_none(), format!("{method}: an error"), format!("{told:?}"));
    }
    let retry = played.requests.iter().find(|seen| seen.is_retry());
    let seen = retry.map(|seen| shown(&seen.message)).unwrap_or_default();
    cx.warnings.unless(retry.is_none(), "no retry of what cannot ask", seen);
    played.result(4).map(drop)
}
