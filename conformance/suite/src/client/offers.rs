//! Prompts, resources, completions and log messages.

use serde_json::{Value, json};

use super::answer::{Part, response};
use super::asking::{call, with};
use super::pagination::{entries, names, paged};
use super::{Answer, Cx, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-prompts-pagination", Both, prompts_pagination),
    client_check!("client-prompts-capability", Both, prompts_capability),
    client_check!("client-resources-legacy-not-found", Both, legacy_not_found),
    client_check!("client-completion-partial", Both, completion_partial),
    client_check!("client-logging-malformed", Both, logging_malformed),
];

async fn prompts_pagination(cx: Cx) -> Verdict {
    let pages = (0..3).map(|page| entries("prompts/list", page * 100, 100)).collect::<Vec<_>>();
    let cursors = ["second", "third"].map(str::to_owned).to_vec();
    let steps = json!([{ "do": "prompts/list", "all": true }]);
    let part = paged("prompts/list", pages, cursors);
    let played = cx.play(steps, part).await?;
    let listed = names(played.result(0)?, "prompts");
    let sent = played.of("prompts/list").map(|seen| seen.param("cursor").clone());
    let sent = sent.collect::<Vec<_>>();
    let expected = [Value::Null, "second".into(), "third".into()];
    expect(sent == expected, "three requests, with the cursors given", format!("{sent:?}"))?;
    let last = listed.last().cloned().unwrap_or_default();
    expect(listed.len() == 300, "300 prompts", format!("{}, the last {last}", listed.len()))
}

async fn prompts_capability(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "server/discover" => {
            let members = json!({ "capabilities": { "tools": {} }, "ttlMs": 60_000 });
            Answer::result(seen, with(result_of(seen), members))
        }
        "prompts/list" => Answer::error(seen, -32601, "Method not found", Value::Null),
        _ => good(seen),
    };
    let steps = json!([{ "do": "server/discover" }, { "do": "prompts/list" }, call("echo")]);
    let played = cx.play(steps, part).await?;
    played.first("server/discover")?;
    played.result(2)?;
    if played.of("prompts/list").next().is_some() {
        // Its user has told it to ask, whatever it knows.
        played.error(1)?;
    } else {
        // Nothing to list is as good an answer as an error.
        let listed = played.step(1)?;
        let is_empty = at(listed, "/result/prompts").as_array().is_none_or(Vec::is_empty);
        expect(is_empty, "no prompts", shown(listed))?;
    }
    Ok(())
}

async fn legacy_not_found(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.param("uri").as_str() {
        Some(uri @ "test://gone") => {
            Answer::error(seen, -32002, "Resource not found", json!({ "uri": uri }))
        }
        Some(uri @ "test://gone-too") => {
            Answer::error(seen, -32602, "Resource not found", json!({ "uri": uri }))
        }
        _ => good(seen),
    };
    let read = |uri: &str| json!({ "do": "resources/read", "params": { "uri": uri } });
    let steps = json!([read("test://gone"), read("test://gone-too"), read("test://here")]);
    let played = cx.play(steps, part).await?;
    let (old, new) = (played.error(0)?, played.error(1)?);
    played.result(2)?;
    let kinds = [at(old, "/kind"), at(new, "/kind")];
    // A client that tells kinds of errors apart tells both the same.
    expect(kinds[0] == kinds[1], "errors of the same kind", format!("{old} and {new}"))
}

async fn completion_partial(cx: Cx) -> Verdict {
    let some = [
        json!({ "values": [] }),
        json!({ "values": ["a"] }),
        json!({ "values": ["a"], "hasMore": true, "total": 500 }),
    ];
    let completions = some.clone();
    let part = move |seen: &Seen| match (seen.method(), completions.get(seen.turn)) {
        ("completion/complete", Some(completion)) => {
            Answer::result(seen, with(None, json!({ "completion": completion })))
        }
        _ => good(seen),
    };
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "who", "value": "a" },
    });
    let step = json!({ "do": "completion/complete", "params": params });
    let played = cx.play(json!([step, step, step]), part).await?;
    for (step, completion) in some.iter().enumerate() {
        let result = played.result(step)?;
        let values = at(result, "/completion/values");
        expect(values == at(completion, "/values"), completion.to_string(), shown(result))?;
    }
    Ok(())
}

async fn logging_malformed(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match (seen.method(), seen.name()) {
        ("tools/call", "logs") => {
            let result = response(seen, result_of(seen).unwrap_or_default());
            let messages = malformed().into_iter().chain([result]);
            Answer::stream(messages.map(Part::Message))
        }
        _ => good(seen),
    };
    let logs = json!({ "do": "tools/call", "params": { "name": "logs" }, "log": "debug" });
    let played = cx.play(json!([logs, call("fine")]), part).await?;
    if played.of("tools/call").next().is_none() {
        return Err(Stop::fail("a call", "none"));
    }
    played.result(0)?;
    played.result(1)?;
    Ok(())
}

/// Log messages that break a rule, and one that is long.
fn malformed() -> Vec<Value> {
    let message = |params: Value| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
    vec![
        message(json!({ "level": "loud", "data": "x" })),
        message(json!({ "data": "x" })),
        message(json!({ "level": 7, "data": "x" })),
        message(json!({ "level": "info" })),
        message(json!({ "level": "info", "data": null })),
        message(json!({ "level": "info", "logger": 7, "data": "x" })),
        json!({ "jsonrpc": "2.0", "method": "notifications/message" }),
        message(json!({ "level": "info", "data": "x".repeat(1 << 20) })),
    ]
}
