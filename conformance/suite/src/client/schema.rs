//! What all messages of a client have in common.

use serde_json::{Value, json};

use super::asking::{asks, call, roots, sample, tick, visit};
use super::{Answer, Cx, Played, Seen, good};
use crate::check::{Check, client_check};
use crate::shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::{META_CAPABILITIES, META_VERSION, VERSION};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-features-request-meta", Both, request_meta),
    client_check!("client-schema-valid", Both, valid),
    client_check!("client-schema-input-responses", Both, input_responses),
];

/// Has the client do a bit of everything.
pub(super) async fn everything(cx: &Cx) -> Verdict<Played> {
    let name = json!({ "name": "item", "value": "a" });
    let steps = json!([
        { "do": "server/discover" },
        { "do": "tools/list" }, { "do": "prompts/list" }, { "do": "resources/list", "all": true },
        { "do": "resources/templates/list" },
        { "do": "tools/call", "params": { "name": "echo", "arguments": { "text": "hi" } }, "progress": true, "log": "info" },
        call("ask"),
        { "do": "prompts/get", "params": { "name": "greet", "arguments": { "who": "Ada" } } },
        { "do": "resources/read", "params": { "uri": "test://one" } },
        { "do": "completion/complete", "params": { "ref": { "type": "ref/prompt", "name": "greet" }, "argument": name } },
        { "do": "subscriptions/listen", "params": { "notifications": { "toolsListChanged": true } }, "ms": 50 },
        { "do": "tools/call", "params": { "name": "never" }, "cancel_ms": 50 },
    ]);
    let played = cx.play(steps, inquisitive).await?;
    played.ended_well()?;
    Ok(played)
}

/// A server that asks for everything that the client declares, and has a tool that never answers.
fn inquisitive(seen: &Seen) -> Answer {
    match (seen.method(), seen.name()) {
        ("tools/call", "ask") if !seen.is_retry() => asks(seen, questions(seen)),
        ("prompts/list", _) if seen.turn == 0 => unsupported(seen, &json!([VERSION])),
        ("tools/call", "never") => Answer::stream([super::answer::Part::Hold]),
        _ => good(seen),
    }
}

/// The version is refused; these are supported.
pub(super) fn unsupported(seen: &Seen, supported: &Value) -> Answer {
    let data = json!({ "supported": supported, "requested": seen.meta(META_VERSION) });
    Answer::error(seen, -32022, "Unsupported protocol version", data)
}

fn questions(seen: &Seen) -> Value {
    let elicitation = seen.capability("/elicitation");
    let has_forms = elicitation.is_object() && elicitation.get("url").is_none()
        || elicitation.get("form").is_some();
    let all = [
        ("form", has_forms, tick()),
        ("page", elicitation.get("url").is_some(), visit("http://127.0.0.1:9/visit")),
        ("message", seen.capability("/sampling").is_object(), sample(json!({}))),
        ("roots", seen.capability("/roots").is_object(), roots()),
    ];
    let able = all.into_iter().filter(|(_, is_able, _)| *is_able);
    able.map(|(key, _, question)| (key.to_owned(), question))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

async fn request_meta(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    played.first("tools/call")?;
    for seen in played.requests.iter().filter(|seen| !seen.id().is_null()) {
        let told = || shown(&seen.message);
        expect(seen.meta(META_VERSION).is_string(), format!("{META_VERSION} in _meta"), told())?;
        let declared = seen.meta(META_CAPABILITIES);
        expect(declared.is_object(), format!("{META_CAPABILITIES} in _meta"), told())?;
    }
    Ok(())
}

async fn valid(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    played.first("tools/call")?;
    for seen in &played.requests {
        shape::client_message(&seen.message).map_err(|wrong| {
            Stop::fail(format!("a message that fits the schema: {wrong}"), shown(&seen.message))
        })?;
    }
    Ok(())
}

async fn input_responses(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    let retry = played.requests.iter().find(|seen| seen.param("inputResponses").is_object());
    let retry = retry.ok_or_else(|| Stop::skip("the client answers nothing that it is asked"))?;
    let asked = questions(retry);
    for (key, answer) in retry.param("inputResponses").as_object().into_iter().flatten() {
        let question = asked.get(key).unwrap_or(&Value::Null);
        expect(question.is_object(), "answers to what was asked", format!("one to {key}"))?;
        let method = at(question, "/method").as_str().unwrap_or_default();
        shape::input(answer, method).map_err(|wrong| {
            Stop::fail(format!("a bare answer to {method}: {wrong}"), shown(answer))
        })?;
    }
    Ok(())
}
