//! Input rounds: what the server asks for, what it takes, and the state that it hands out.

use serde_json::{Map, Value, json};

use super::Cx;
use super::target::made;
use crate::verdict::{Verdict, expect};
use crate::wire::json::at;
use crate::wire::{Message, Reply};

pub(super) mod asks;
pub(super) mod responses;
pub(super) mod state;

/// What every fixture tool's name begins with.
const PREFIX: &str = "test_input_required_result_";

/// The first round of a fixture tool.
fn first(cx: &Cx, name: &str) -> Verdict<Message> {
    let name = format!("{PREFIX}{name}");
    cx.tool(&name)?;
    Ok(cx.call(&name, json!({})).capabilities(able()))
}

/// Everything that can be asked for by a form, a model or a list of roots.
fn able() -> Value {
    json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} })
}

/// A good answer to each request of an input-required result.
pub(super) fn answers(result: &Value) -> Value {
    let none = Map::new();
    let asked = at(result, "/inputRequests").as_object().unwrap_or(&none);
    asked.iter().map(|(key, request)| (key.clone(), answer(request))).collect()
}

fn answer(request: &Value) -> Value {
    match at(request, "/method").as_str() {
        Some("elicitation/create") => {
            json!({ "action": "accept", "content": made(at(request, "/params/requestedSchema")) })
        }
        Some("sampling/createMessage") => json!({
            "role": "assistant",
            "content": { "type": "text", "text": "Paris" },
            "model": "mcp-conformance",
            "stopReason": "endTurn",
        }),
        _ => json!({ "roots": [{ "uri": "file:///root", "name": "root" }] }),
    }
}

/// The same request under an id of its own, with answers and what state there is.
pub(super) fn retry(cx: &Cx, call: &Message, result: &Value, answers: Value) -> Message {
    let id = cx.request("").id().clone();
    let again = call.clone().with("id", id).param("inputResponses", answers);
    match result.get("requestState") {
        Some(state) => again.param("requestState", state.clone()),
        None => again,
    }
}

/// The result is the last of its rounds.
pub(super) fn is_complete(reply: &Reply) -> Verdict {
    let kind = at(reply.result()?, "/resultType");
    expect(*kind == "complete", "a complete result", reply.told())
}

/// The result asks for something.
fn asks(reply: &Reply) -> Verdict<&Value> {
    let result = reply.result()?;
    let kind = at(result, "/resultType");
    expect(*kind == "input_required", "an input-required result", reply.told())?;
    Ok(result)
}

/// The retry was refused as the params are: by -32602, and never by a result of any kind.
fn is_refused(cx: &Cx, reply: &Reply) -> Verdict {
    super::raw::refused(cx, reply, &[-32602])
}
