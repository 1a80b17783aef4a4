//! Schemas of tools: whether they are schemas, and whether they are kept.

use serde_json::{Value, json};

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::refused;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-schemas-well-formed", Both, well_formed),
    server_check!("server-schema-dialect", Both, dialect),
    server_check!("server-schema-2020-12-enforced", Both, enforced),
];

/// The dialect that counts where none is named.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Every schema of the tools, with the name of the tool.
fn schemas(cx: &Cx) -> Verdict<Vec<(String, &Value)>> {
    let mut all = Vec::new();
    for tool in &cx.offer().tools {
        for member in ["inputSchema", "outputSchema"] {
            if let Some(schema) = tool.get(member) {
                all.push((format!("{member} of {}", at(tool, "/name")), schema));
            }
        }
    }
    if all.is_empty() {
        return Err(Stop::skip("the server has no tools"));
    }
    Ok(all)
}

fn is_known_dialect(schema: &Value) -> bool {
    let named = schema.get("$schema").and_then(Value::as_str);
    named.is_none_or(|named| named.trim_end_matches('#') == DIALECT)
}

async fn dialect(cx: Cx) -> Verdict {
    for (what, schema) in schemas(&cx)? {
        let expected = format!("{what}: the dialect 2020-12");
        cx.warnings.unless(is_known_dialect(schema), expected, shown(at(schema, "/$schema")));
    }
    Ok(())
}

async fn well_formed(cx: Cx) -> Verdict {
    for (what, schema) in schemas(&cx)? {
        if is_known_dialect(schema) {
            is_schema(schema, schema).of(what)?;
        }
    }
    let asked = cx.record.all().into_iter().filter_map(|noted| {
        let requests = at(&noted.message, "/result/inputRequests").as_object()?;
        Some(
            requests
                .values()
                .filter_map(|it| it.pointer("/params/requestedSchema").cloned())
                .collect::<Vec<_>>(),
        )
    });
    for schema in asked.flatten() {
        is_schema(&schema, &schema).of("requestedSchema")?;
    }
    Ok(())
}

/// What the meta-schema of 2020-12 asks for, keyword by keyword.
fn is_schema(schema: &Value, root: &Value) -> Verdict {
    let Some(members) = schema.as_object() else {
        return expect(schema.is_boolean(), "a schema", shown(schema));
    };
    for (keyword, value) in members {
        let is_right = match &**keyword {
            "type" => is_type(value),
            "enum" | "examples" => value.is_array(),
            "required" => is_list_of_texts(value),
            "dependentRequired" => {
                value.as_object().is_some_and(|it| it.values().all(is_list_of_texts))
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => {
                value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
            }
            "multipleOf" => value.as_f64().is_some_and(|it| it > 0.0),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "title" | "description" | "pattern" | "format" | "$schema" | "$id" | "$anchor"
            | "$dynamicRef" | "$dynamicAnchor" | "$comment" | "contentEncoding"
            | "contentMediaType" => value.is_string(),
            "$ref" => value.as_str().is_some_and(|to| resolves(to, root)),
            _ => true,
        };
        let seen = format!("{keyword}: {}", shown(value));
        expect(is_right, "keywords as 2020-12 has them", seen)?;
        for inner in schemas_below(keyword, value)? {
            is_schema(inner, root)?;
        }
    }
    Ok(())
}

fn schemas_below<'v>(keyword: &str, value: &'v Value) -> Verdict<Vec<&'v Value>> {
    let bad = || Stop::fail("keywords as 2020-12 has them", format!("{keyword}: {}", shown(value)));
    match keyword {
        "properties" | "patternProperties" | "$defs" | "dependentSchemas" => {
            Ok(value.as_object().ok_or_else(bad)?.values().collect())
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            let list = value.as_array().filter(|list| !list.is_empty());
            Ok(list.ok_or_else(bad)?.iter().collect())
        }
        "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Ok(vec![value]),
        _ => Ok(Vec::new()),
    }
}

fn is_type(value: &Value) -> bool {
    let is_one = |it: &Value| {
        let all = ["null", "boolean", "object", "array", "number", "string", "integer"];
        it.as_str().is_some_and(|it| all.contains(&it))
    };
    is_one(value) || value.as_array().is_some_and(|it| !it.is_empty() && it.iter().all(is_one))
}

fn is_list_of_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| {
        let is_new = |(at, it): (usize, &Value)| {
            it.is_string() && !list.iter().take(at).any(|other| other == it)
        };
        list.iter().enumerate().all(is_new)
    })
}

/// A reference within the document leads somewhere. One to an anchor or to another document is left alone.
fn resolves(to: &str, root: &Value) -> bool {
    let Some(pointer) = to.strip_prefix('#') else { return true };
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return true;
    }
    let decoded = pointer.replace("%24", "$").replace("%25", "%");
    root.pointer(&decoded).is_some()
}

/// The fixture demands a phone number where the contact is by phone, and allows nothing else.
async fn enforced(cx: Cx) -> Verdict {
    let name = "json_schema_2020_12_tool";
    cx.tool(name)?;
    let wrong = [
        ("then", json!({ "contactMethod": "phone", "email": "a@b.c" })),
        ("additionalProperties", json!({ "phone": "1", "email": "a@b.c", "unknown": 1 })),
        ("anyOf", json!({ "name": "Ada" })),
        ("$ref", json!({ "phone": "1", "email": "a@b.c", "address": 5 })),
    ];
    for (what, arguments) in wrong {
        let reply = cx.ask(&cx.call(name, arguments)).await.of(what)?;
        if reply.result().is_ok_and(|result| *at(result, "/isError") == true) {
            continue;
        }
        refused(&cx, &reply, &[-32602]).of(what)?;
    }
    let right = json!({ "contactMethod": "phone", "phone": "1" });
    let reply = cx.ask(&cx.call(name, right)).await?;
    let is_blamed = reply.error().is_ok_and(|error| at(error, "/code") == -32602);
    expect(!is_blamed, "arguments that fit are taken", reply.told())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_that_are_none() {
        let right = [
            json!({ "type": ["string", "null"], "properties": {} }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": true } }),
            json!({ "$ref": "#anchor", "x-own": { "type": 5 }, "default": { "type": 5 } }),
        ];
        for schema in right {
            assert_eq!(is_schema(&schema, &schema), Ok(()), "{schema}");
        }
        let wrong = [
            json!(5),
            json!({ "type": "text" }),
            json!({ "type": [] }),
            json!({ "properties": [] }),
            json!({ "properties": { "a": { "required": true } } }),
            json!({ "required": ["a", "a"] }),
            json!({ "$ref": "#/$defs/a" }),
            json!({ "allOf": [] }),
            json!({ "items": [{}] }),
            json!({ "minLength": -1 }),
        ];
        for schema in wrong {
            assert!(is_schema(&schema, &schema).is_err(), "{schema}");
        }
    }
}
