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
    let faults = shapes().get(name).map(|validator| faults(validator, value)).unwrap_or_default();
    expect(faults.is_empty(), format!("the shape of {name}"), faults)
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
            let path = name.replace('/', "~1");
            let schema = json!({ "$ref": format!("#/$defs/{path}"), "$defs": defs });
            Some((name.clone(), jsonschema::validator_for(&schema).ok()?))
        });
        compiled.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
