//! What messages look like by their schema, as far as kinds and required members go.
//!
//! A shape is JSON itself: a text names kinds (`string|integer`) or texts (`=a|b`), an array has the shape of its entries,
//! and an object those of its members, `?` after the name of one that may be absent. Under `*` stands the shape of all
//! others; without it they may be anything.

use serde_json::{Value, json};

use super::json::{at, shown};
use super::message::{META_CAPABILITIES, META_INFO, META_LOG_LEVEL, META_VERSION};

/// Why a value has not the shape, if so.
pub(crate) fn fits(value: &Value, shape: &Value) -> Result<(), String> {
    match shape {
        Value::String(kinds) => match kinds.strip_prefix('=') {
            Some(texts) => told(texts.split('|').any(|text| value == text), texts, value),
            None => told(kinds.split('|').any(|kind| is_a(value, kind)), kinds, value),
        },
        Value::Array(entries) => {
            let all = value.as_array().ok_or_else(|| format!("no array: {}", shown(value)))?;
            let shape = entries.first().unwrap_or(&Value::Null);
            all.iter().try_for_each(|entry| fits(entry, shape))
        }
        Value::Object(members) => {
            let all = value.as_object().ok_or_else(|| format!("no object: {}", shown(value)))?;
            for (name, shape) in members.iter().filter(|(name, _)| *name != "*") {
                let bare = name.strip_suffix('?');
                match all.get(bare.unwrap_or(name)) {
                    Some(member) => fits(member, shape).map_err(|why| format!("{name}: {why}"))?,
                    None if bare.is_some() => {}
                    None => return Err(format!("{name} is missing")),
                }
            }
            let others = members.get("*").into_iter().flat_map(|shape| {
                let is_named =
                    |name: &str| members.keys().any(|it| it.trim_end_matches('?') == name);
                all.iter().filter(move |(name, _)| !is_named(name)).map(move |it| (it, shape))
            });
            for ((name, member), shape) in others {
                fits(member, shape).map_err(|why| format!("{name}: {why}"))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn told(holds: bool, kinds: &str, value: &Value) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not {kinds}: {}", shown(value))) }
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "strings" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        _ => false,
    }
}

/// A request or notification of a client. Custom methods have only what every message has.
pub(crate) fn client_message(message: &Value) -> Result<(), String> {
    let method = at(message, "/method").as_str().unwrap_or_default();
    let is_request = message.get("id").is_some();
    let mut shape = json!({ "jsonrpc": "=2.0", "method": "string", "params?": {} });
    if is_request {
        shape["id"] = json!("string|integer");
    }
    let Some(mut params) = params_of(method) else { return fits(message, &shape) };
    if is_request {
        params["_meta"] = meta();
        shape["params"] = params;
    } else {
        params["_meta?"] = json!("object");
        shape["params?"] = params;
    }
    fits(message, &shape)
}

fn meta() -> Value {
    let modes = json!({ "form?": "object", "url?": "object" });
    let icon = json!({
        "src": "string", "mimeType?": "string", "sizes?": ["string"], "theme?": "=light|dark",
    });
    json!({
        META_VERSION: "string",
        META_CAPABILITIES: {
            "experimental?": { "*": "object" }, "extensions?": { "*": "object" },
            "roots?": "object", "elicitation?": modes,
            "sampling?": { "tools?": "object", "context?": "object" },
        },
        format!("{META_INFO}?"): {
            "name": "string", "version": "string", "title?": "string", "description?": "string",
            "websiteUrl?": "string", "icons?": [icon],
        },
        format!("{META_LOG_LEVEL}?"):
            "=debug|info|notice|warning|error|critical|alert|emergency",
        "progressToken?": "string|integer",
    })
}

fn params_of(method: &str) -> Option<Value> {
    let mut params = match method {
        "server/discover" => json!({}),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            json!({ "cursor?": "string" })
        }
        "tools/call" => json!({ "name": "string", "arguments?": "object" }),
        "prompts/get" => json!({ "name": "string", "arguments?": { "*": "string" } }),
        "resources/read" => json!({ "uri": "string" }),
        "completion/complete" => json!({
            "ref": { "type": "=ref/prompt|ref/resource", "name?": "string", "uri?": "string" },
            "argument": { "name": "string", "value": "string" },
            "context?": { "arguments?": { "*": "string" } },
        }),
        "subscriptions/listen" => json!({ "notifications": {
            "toolsListChanged?": "boolean", "promptsListChanged?": "boolean",
            "resourcesListChanged?": "boolean", "resourceSubscriptions?": ["string"],
            "taskIds?": ["string"],
        } }),
        "notifications/cancelled" => {
            json!({ "requestId": "string|integer", "reason?": "string" })
        }
        "tasks/get" | "tasks/cancel" => json!({ "taskId": "string" }),
        "tasks/update" => json!({ "taskId": "string", "inputResponses": { "*": "object" } }),
        _ => return None,
    };
    if matches!(method, "tools/call" | "prompts/get" | "resources/read") {
        params["inputResponses?"] = json!({ "*": "object" });
        params["requestState?"] = json!("string");
    }
    Some(params)
}

/// The answer to a request that a server asked of the client, by the method of that.
pub(crate) fn input(answer: &Value, method: &str) -> Result<(), String> {
    match method {
        "sampling/createMessage" => message(answer),
        "roots/list" => fits(answer, &json!({ "roots": [{ "uri": "string", "name?": "string" }] })),
        _ => {
            let plain = json!({ "*": "string|number|boolean|strings" });
            fits(answer, &json!({ "action": "=accept|decline|cancel", "content?": plain }))
        }
    }
}

/// A message that was sampled.
pub(crate) fn message(answer: &Value) -> Result<(), String> {
    let shape = json!({ "role": "=user|assistant", "model": "string", "stopReason?": "string" });
    fits(answer, &shape)?;
    match at(answer, "/content") {
        Value::Array(blocks) => blocks.iter().try_for_each(block),
        one => block(one),
    }
}

fn block(block: &Value) -> Result<(), String> {
    let members = match at(block, "/type").as_str() {
        Some("text") => json!({ "text": "string" }),
        Some("image" | "audio") => json!({ "data": "string", "mimeType": "string" }),
        Some("tool_use") => json!({ "id": "string", "name": "string", "input": "object" }),
        Some("tool_result") => json!({ "toolUseId": "string", "content": "array" }),
        _ => return Err(format!("no block of a known type: {}", shown(block))),
    };
    fits(block, &members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let shape = json!({ "a": "string|integer", "b?": ["=x|y"], "c?": { "*": "boolean" } });
        let right = [
            json!({ "a": "t" }),
            json!({ "a": 1.0, "b": ["x", "y"], "c": { "d": true }, "more": null }),
        ];
        for value in right {
            assert_eq!(fits(&value, &shape), Ok(()), "{value}");
        }
        let wrong = [
            json!([]),
            json!({}),
            json!({ "a": 1.5 }),
            json!({ "a": null }),
            json!({ "a": 1, "b": "x" }),
            json!({ "a": 1, "b": ["z"] }),
            json!({ "a": 1, "c": { "d": 0 } }),
        ];
        for value in wrong {
            assert!(fits(&value, &shape).is_err(), "{value}");
        }
    }

    #[test]
    fn wrapped_answers_have_no_shape() {
        let bare = json!({ "action": "decline" });
        assert_eq!(input(&bare, "elicitation/create"), Ok(()));
        let wrapped = json!({ "method": "elicitation/create", "result": bare });
        assert!(input(&wrapped, "elicitation/create").is_err());
    }
}
