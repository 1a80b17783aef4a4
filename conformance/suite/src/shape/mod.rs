//! The shapes of messages, written down from the specification's types in words of JSON Schema.

use std::collections::HashMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, cut};

/// Whether a value has the shape of that name: a method for what answers it and for the params of a notification, or
/// one of the parts in `shapes.json`.
pub(crate) fn has_shape(value: &Value, name: &str) -> Verdict {
    fits(value, name).or_else(|why| expect(false, format!("the shape of {name}"), why))
}

fn fits(value: &Value, name: &str) -> Result<(), String> {
    let faults = shapes().get(name).map(|validator| faults(validator, value)).unwrap_or_default();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Why a message of a client has not the shape of its method, if so. Of custom methods nothing is known.
pub(crate) fn client_message(message: &Value) -> Result<(), String> {
    fits(message, "client-message")?;
    let method = at(message, "/method").as_str().unwrap_or_default();
    let is_request = message.get("id").is_some();
    let name = format!("params of {method}");
    if !is_known(&name) {
        return Ok(());
    }
    match message.get("params") {
        None if !is_request => Ok(()),
        params => {
            let params = params.unwrap_or(&Value::Null);
            fits(params, &name)?;
            if is_request { fits(at(params, "/_meta"), "client-meta") } else { Ok(()) }
        }
    }
}

/// Why the answer to a request that a server asked of the client has not its shape, if so; by the method of that.
pub(crate) fn input(answer: &Value, method: &str) -> Result<(), String> {
    fits(answer, &format!("answer to {method}"))
}

/// Whether there is a shape of that name.
pub(crate) fn is_known(name: &str) -> bool {
    shapes().contains_key(name)
}

/// Whether a value is what a peer's schema describes. A schema that cannot be used is the fault of a check about that.
pub(crate) fn conforms(value: &Value, schema: &Value) -> Verdict {
    let faults = match jsonschema::validator_for(schema) {
        Ok(validator) => faults(&validator, value),
        Err(_) => String::new(),
    };
    expect(faults.is_empty(), "what the schema describes", faults)
}

/// Whether a schema is one, by the rules of its dialect, if that is a known one.
pub(crate) fn is_schema(schema: &Value) -> Verdict {
    let dialect = at(schema, "/$schema").as_str().unwrap_or("2020-12");
    if !DIALECTS.iter().any(|known| dialect.contains(known)) {
        return Ok(());
    }
    let fault = jsonschema::meta::validate(schema).err().map(|error| cut(&error.to_string()));
    expect(fault.is_none(), "a schema by the rules of its dialect", fault.unwrap_or_default())
}

fn faults(validator: &Validator, value: &Value) -> String {
    let faults = validator.iter_errors(value).take(3);
    let faults = faults.map(|error| format!("{}: {error}", error.instance_path()));
    cut(&faults.collect::<Vec<_>>().join("; "))
}

/// By what they have in the URIs that name them.
const DIALECTS: &[&str] = &["2020-12", "2019-09", "draft-07", "draft-06", "draft-04"];

fn shapes() -> &'static HashMap<String, Validator> {
    static SHAPES: OnceLock<HashMap<String, Validator>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let all: Value = serde_json::from_str(include_str!("shapes.json")).unwrap_or_default();
        let defs = at(&all, "/$defs");
        let names = defs.as_object().into_iter().flatten().map(|(name, _)| name);
        let compiled = names.filter_map(|name| {
            let path = name.replace('/', "~1").replace(' ', "%20");
            let schema = json!({ "$ref": format!("#/$defs/{path}"), "$defs": defs });
            Some((name.clone(), jsonschema::validator_for(&schema).ok()?))
        });
        compiled.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::{META_CAPABILITIES, META_VERSION};

    /// A shape that does not compile would fit everything.
    #[test]
    fn every_shape_compiles() {
        let all: Value = serde_json::from_str(include_str!("shapes.json")).unwrap();
        assert!(is_schema(&all).is_ok());
        for name in at(&all, "/$defs").as_object().unwrap().keys() {
            assert!(is_known(name), "{name}");
        }
    }

    #[test]
    fn what_clients_send() {
        let meta = json!({ META_VERSION: "2026-07-28", META_CAPABILITIES: {} });
        let request = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let right = [
            request("tools/call", json!({ "name": "t", "_meta": meta })),
            request("custom/method", json!(5)),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        ];
        for message in right {
            assert_eq!(client_message(&message), Ok(()), "{message}");
        }
        let wrong = [
            request("tools/call", json!({ "name": "t" })),
            request("tools/call", json!({ "_meta": meta })),
            request("prompts/get", json!({ "name": "p", "arguments": { "a": 1 }, "_meta": meta })),
            request("tools/list", Value::Null),
            json!({ "jsonrpc": "2.0", "id": null, "method": "tools/list" }),
            json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        ];
        for message in wrong {
            assert!(client_message(&message).is_err(), "{message}");
        }
    }

    #[test]
    fn wrapped_answers_have_no_shape() {
        let bare = json!({ "action": "decline" });
        assert_eq!(input(&bare, "elicitation/create"), Ok(()));
        let wrapped = json!({ "method": "elicitation/create", "result": bare });
        assert!(input(&wrapped, "elicitation/create").is_err());
    }

    #[test]
    fn shapes_tell_right_from_wrong() {
        let right = [
            ("error", json!({ "code": -32602, "message": "no" })),
            ("block", json!({ "type": "text", "text": "t" })),
            ("sampled", json!({ "role": "user", "content": [{ "type": "text", "text": "t" }] })),
            ("field", json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } })),
            ("input_required", json!({ "resultType": "input_required", "requestState": "s" })),
        ];
        for (name, value) in right {
            assert_eq!(has_shape(&value, name), Ok(()), "{value}");
        }
        let wrong = [
            ("error", json!({ "code": "-32602", "message": "no" })),
            ("error", json!({ "code": -32021, "message": "no" })),
            (
                "error",
                json!({ "code": -32021, "message": "no", "data": { "requiredCapabilities": [] } }),
            ),
            ("block", json!({ "type": "text" })),
            ("block", json!({ "type": "image", "data": "" })),
            ("block", json!({ "type": "resource", "resource": { "uri": "a:b" } })),
            ("block", json!({ "type": "resource_link", "uri": "a:b" })),
            ("sampled", json!({ "role": "user", "content": [{ "type": "resource" }] })),
            ("field", json!({ "type": "object" })),
            ("field", json!({ "type": "array", "items": { "type": "string" } })),
            ("input_required", json!({ "resultType": "input_required" })),
            (
                "server/discover",
                json!({ "resultType": "complete", "supportedVersions": [], "capabilities": {} }),
            ),
            ("notifications/message", json!({ "level": "verbose", "data": 1 })),
        ];
        for (name, value) in wrong {
            assert!(has_shape(&value, name).is_err(), "{name}: {value}");
        }
    }
}
