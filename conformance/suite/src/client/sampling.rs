//! Messages of the client's model.

use serde_json::{Value, json};

use super::asking::{asker, asks, call, declared_everywhere, sample, weather};
use super::{Cx, Played, good};
use crate::check::{Check, client_check};
use crate::shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-sampling-declared", Both, declared),
    client_check!("client-sampling-tools-declared", Both, tools_declared),
    client_check!("client-sampling-result-shape", Both, result_shape),
    client_check!("client-sampling-tool-choice", Both, tool_choice),
    client_check!("client-sampling-max-tokens", Both, max_tokens),
    client_check!("client-sampling-validates", Both, validates),
    client_check!("client-sampling-loop-limit", Both, loop_limit),
];

async fn declared(cx: Cx) -> Verdict {
    declared_everywhere(&cx, "sampling", sample(json!({}))).await
}

async fn tools_declared(cx: Cx) -> Verdict {
    let questions = json!({
        "ask_tools": { "tools": sample(json!({ "tools": [weather()] })) },
        "ask_choice": { "choice": sample(json!({ "toolChoice": { "mode": "auto" } })) },
    });
    let steps = json!([call("ask_tools"), call("ask_choice")]);
    let told = [json!({}), json!({ "capabilities": { "sampling": {} } })];
    for mut context in told {
        context["steps"] = steps.clone();
        let played = cx.play_with(context, asker(questions.clone())).await?;
        played.needs("/sampling")?;
        if played.declares("/sampling/tools") {
            played.answered("tools")?;
            continue;
        }
        for (step, key) in ["tools", "choice"].into_iter().enumerate() {
            let seen = played.answer(key).map(shown).unwrap_or_default();
            let expected = format!("no message: sampling.tools is not declared, and {key} is used");
            expect(seen.is_empty(), expected, seen)?;
            played.error(step)?;
        }
    }
    Ok(())
}

async fn result_shape(cx: Cx) -> Verdict {
    let part = asker(json!({ "ask": { "message": sample(json!({})) } }));
    let played = cx.play(json!([call("ask")]), part).await?;
    played.needs("/sampling")?;
    let answer = played.answered("message")?;
    shape::input(answer, "sampling/createMessage")
        .map_err(|wrong| Stop::fail(format!("a sampled message: {wrong}"), shown(answer)))?;
    let is_model = at(answer, "/role") == "assistant";
    cx.warnings.unless(is_model, "a message of the assistant", shown(answer));
    Ok(())
}

async fn tool_choice(cx: Cx) -> Verdict {
    let choice =
        |mode: &str| sample(json!({ "tools": [weather()], "toolChoice": { "mode": mode } }));
    let questions = json!({
        "must": { "required": choice("required") }, "must_not": { "none": choice("none") },
    });
    let played = cx.play(json!([call("must"), call("must_not")]), asker(questions)).await?;
    played.needs("/sampling/tools")?;
    let answer = played.answer("required");
    let none = played.answer("none");
    if answer.is_none() && none.is_none() {
        return Err(Stop::skip("the client answers neither"));
    }
    if let Some(answer) = answer {
        let uses = uses(answer);
        let all_known = uses.iter().all(|tool| *tool == "get_weather");
        expect(!uses.is_empty() && all_known, "a use of get_weather", shown(answer))?;
    }
    let Some(answer) = none else { return Ok(()) };
    expect(uses(answer).is_empty(), "no use of a tool", shown(answer))
}

/// The tools that a message uses.
fn uses(answer: &Value) -> Vec<&str> {
    let blocks = blocks(answer).into_iter().filter(|block| at(block, "/type") == "tool_use");
    blocks.map(|block| at(block, "/name").as_str().unwrap_or_default()).collect()
}

fn blocks(answer: &Value) -> Vec<&Value> {
    match at(answer, "/content") {
        Value::Array(blocks) => blocks.iter().collect(),
        block => vec![block],
    }
}

async fn max_tokens(cx: Cx) -> Verdict {
    let text = "Count from one to fifty in words.";
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
    let question = sample(json!({ "messages": messages, "maxTokens": 1 }));
    let played = cx.play(json!([call("ask")]), asker(json!({ "ask": { "it": question } }))).await?;
    let Some(answer) = played.answer("it") else {
        return Err(Stop::skip("the client does not answer"));
    };
    let texts = blocks(answer).into_iter().filter_map(|block| at(block, "/text").as_str());
    let words = texts.flat_map(str::split_whitespace).count();
    // How many tokens a word has differs from model to model.
    cx.warnings.unless(words <= 8, "a text as short as one token", shown(answer));
    Ok(())
}

async fn validates(cx: Cx) -> Verdict {
    let wrong = wrong_requests();
    let mut questions = json!({ "right": { "right": sample(json!({})) } });
    for (name, _, params) in &wrong {
        questions[name] = json!({ *name: sample(params.clone()) });
        if *name == "no_limit" {
            let question = questions.pointer_mut("/no_limit/no_limit/params");
            question.and_then(Value::as_object_mut).map(|params| params.remove("maxTokens"));
        }
    }
    let names = wrong.iter().map(|(name, ..)| *name).chain(["right"]);
    let steps = names.map(call).collect::<Vec<_>>();
    let played = cx.play(Value::Array(steps), asker(questions)).await?;
    played.needs("/sampling")?;
    let has_tools = played.declares("/sampling/tools");
    for (step, (name, needs_tools, _)) in wrong.iter().enumerate() {
        if *needs_tools && !has_tools {
            continue;
        }
        let seen = played.answer(name).map(shown).unwrap_or_default();
        expect(seen.is_empty(), format!("no message after a request that is wrong: {name}"), seen)?;
        played.error(step)?;
    }
    played.answered("right")?;
    Ok(())
}

/// Requests that break a rule: a name for it, whether it is one of tools, and the params.
fn wrong_requests() -> Vec<(&'static str, bool, Value)> {
    let text = json!({ "type": "text", "text": "Hello" });
    let user = |content: Value| json!({ "role": "user", "content": content });
    let used = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "use-1", "name": "get_weather", "input": {} },
    ] });
    let returned = json!({ "type": "tool_result", "toolUseId": "use-1", "content": [text] });
    let tools = |messages: Value| json!({ "messages": messages, "tools": [weather()] });
    let messages = |messages: Value| json!({ "messages": messages });
    vec![
        (
            "mixed_results",
            true,
            tools(json!([user(text.clone()), used, user(json!([text, returned]))])),
        ),
        ("use_without_result", true, tools(json!([user(text.clone()), used, user(text.clone())]))),
        ("result_without_use", true, tools(json!([user(text.clone()), user(json!([returned]))]))),
        ("role_system", false, messages(json!([{ "role": "system", "content": text }]))),
        ("unknown_block", false, messages(json!([user(json!({ "type": "scent", "data": "x" }))]))),
        ("no_limit", false, messages(json!([user(text)]))),
    ]
}

async fn loop_limit(cx: Cx) -> Verdict {
    let part = |seen: &super::Seen| {
        if seen.method() != "tools/call" {
            return good(seen);
        }
        let mut messages = vec![json!({
            "role": "user", "content": { "type": "text", "text": "How is the weather?" },
        })];
        let last = seen.param("inputResponses").as_object().and_then(|all| all.values().next());
        if let Some(last) = last {
            let results = blocks(last).into_iter().map(|block| {
                let text = json!([{ "type": "text", "text": "Rain" }]);
                json!({ "type": "tool_result", "toolUseId": at(block, "/id"), "content": text })
            });
            let results = results.collect::<Vec<_>>();
            messages.push(json!({ "role": "assistant", "content": at(last, "/content") }));
            messages.push(json!({ "role": "user", "content": results }));
        }
        let mode = json!({ "mode": "required" });
        let more = json!({ "messages": messages, "tools": [weather()], "toolChoice": mode });
        asks(seen, json!({ format!("round-{}", seen.turn): sample(more) }))
    };
    let played: Played = cx.play(json!([call("ask")]), part).await?;
    played.needs("/sampling/tools")?;
    let rounds = played.of("tools/call").count();
    let expected = format!("an end within {ROUNDS} rounds");
    expect(played.exit.is_some() && rounds <= ROUNDS, expected, format!("{rounds} rounds"))?;
    played.error(0)?;
    Ok(())
}

/// Rounds that a client goes through at most, whatever it has them limited to.
const ROUNDS: usize = 200;
