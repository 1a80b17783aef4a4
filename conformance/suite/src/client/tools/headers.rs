//! Arguments that are mirrored into headers.

use serde_json::{Value, json};

use super::super::{Cx, Seen, good};
use super::{listed, lists};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::shown;

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-tools-header-rejected", Http, rejected),
    client_check!("client-tools-header-integer-range", Http, integer_range),
];

async fn rejected(cx: Cx) -> Verdict {
    let valid = ("valid", json!({ "properties": { "a": mirrored("string", "A") } }));
    let tools = wrong_schemas().into_iter().chain([valid]).map(|(name, mut schema)| {
        schema["type"] = "object".into();
        json!({ "name": name, "inputSchema": schema })
    });
    let tools = Value::Array(tools.collect());
    let part = move |seen: &Seen| match seen.method() {
        "tools/list" => lists(seen, tools.clone()),
        _ => good(seen),
    };
    let played = cx.play(json!([{ "do": "tools/list" }]), part).await?;
    let listed = listed(played.result(0)?);
    expect(listed == ["valid"], "of all tools only valid", listed.join(", "))
}

fn mirrored(kind: &str, header: &str) -> Value {
    json!({ "type": kind, "x-mcp-header": header })
}

/// Schemas that break a rule, by its name.
fn wrong_schemas() -> Vec<(&'static str, Value)> {
    let named = |header: &str| json!({ "properties": { "a": mirrored("string", header) } });
    let of_kind = |kind: &str| json!({ "properties": { "a": mirrored(kind, "A") } });
    let both = |a: &str, b: &str| json!({ "properties": { "a": mirrored("string", a), "b": mirrored("string", b) } });
    let hidden = of_kind("string");
    let no_text = json!({ "properties": { "a": { "type": "string", "x-mcp-header": 7 } } });
    let items = json!({ "type": "array", "items": mirrored("string", "A") });
    let listed = json!({ "type": "array", "prefixItems": [mirrored("string", "A")] });
    let referred = json!({ "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": mirrored("string", "A") } });
    vec![
        ("empty", named("")),
        ("space", named("A B")),
        ("colon", named("A:B")),
        ("not_ascii", named("\u{c4}")),
        ("line_end", named("A\r\nB")),
        ("no_text", no_text),
        ("twice", both("A", "A")),
        ("twice_by_case", both("Same", "sAME")),
        ("object", of_kind("object")),
        ("array", of_kind("array")),
        ("null", of_kind("null")),
        ("number", of_kind("number")),
        (
            "in_pattern_properties",
            json!({ "patternProperties": { "^a": mirrored("string", "A") } }),
        ),
        ("in_additional_properties", json!({ "additionalProperties": mirrored("string", "A") })),
        ("in_prefix_items", json!({ "properties": { "a": listed } })),
        ("in_items", json!({ "properties": { "a": items } })),
        ("in_one_of", json!({ "oneOf": [hidden] })),
        ("in_any_of", json!({ "anyOf": [hidden] })),
        ("in_all_of", json!({ "allOf": [hidden] })),
        ("in_not", json!({ "not": hidden })),
        ("in_then", json!({ "if": { "required": ["a"] }, "then": hidden })),
        ("in_else", json!({ "if": { "required": ["a"] }, "else": hidden })),
        ("in_if", json!({ "if": hidden, "then": { "required": ["a"] } })),
        ("by_reference", referred),
        ("in_definition", json!({ "$defs": { "a": mirrored("string", "A") } })),
    ]
}

async fn integer_range(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "tools/list" => {
            let schema =
                json!({ "type": "object", "properties": { "n": mirrored("integer", "N") } });
            lists(seen, json!([{ "name": "n", "inputSchema": schema }]))
        }
        _ => good(seen),
    };
    let call =
        |n: i64| json!({ "do": "tools/call", "params": { "name": "n", "arguments": { "n": n } } });
    let steps =
        json!([{ "do": "tools/list" }, call(LARGEST + 2), call(-LARGEST - 2), call(LARGEST)]);
    let played = cx.play(steps, part).await?;
    played.error(1)?;
    played.error(2)?;
    played.result(3)?;
    let mirrored = played.of("tools/call").map(|seen| seen.header("Mcp-Param-N"));
    let mirrored = mirrored.collect::<Vec<_>>();
    let right = LARGEST.to_string();
    let seen = format!(
        "{mirrored:?} in {}",
        played.requests.iter().map(|seen| shown(&seen.message)).collect::<String>()
    );
    expect(mirrored == [Some(&*right)], format!("one call, with Mcp-Param-N: {right}"), seen)
}

/// The largest integer that may be mirrored.
const LARGEST: i64 = (1 << 53) - 1;
