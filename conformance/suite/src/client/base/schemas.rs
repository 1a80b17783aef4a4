//! JSON Schema as tools bring it.

use serde_json::{Value, json};

use super::super::asking::{call, tool, with};
use super::super::script::{right, try_steps};
use super::super::trap::Trap;
use super::super::{Answer, Cx, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-schema-unknown-dialect", Both, unknown_dialect),
    client_check!("client-schema-unresolved-ref", Both, unresolved_ref),
    client_check!("client-schema-preserved", Both, preserved),
    client_check!("client-schema-hostile", Both, hostile).alone(),
];

async fn unknown_dialect(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    let mut odd = tool("odd", json!({ "a": { "type": "string" } }));
    odd["inputSchema"]["$schema"] = trap.url("/dialect").into();
    odd["outputSchema"] = odd["inputSchema"].clone();
    let output = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    let wrong = with(Some(tool("wrong", json!({}))), json!({ "outputSchema": output }));
    let tools = json!([tool("echo", json!({})), odd, wrong]);
    let part = move |seen: &Seen| match seen.method() {
        "tools/list" => Answer::result(seen, with(result_of(seen), json!({ "tools": tools }))),
        "tools/call" => {
            let members = json!({ "structuredContent": { "a": "x" } });
            Answer::result(seen, with(result_of(seen), members))
        }
        _ => good(seen),
    };
    let steps = json!([{ "do": "tools/list" }, call("echo"), call("odd"), call("wrong")]);
    let played = cx.play(steps, part).await?;
    played.result(0)?;
    played.result(1)?;
    // Who holds results against their schemas cannot say whether that of the odd tool is right.
    if played.result(3).is_err() {
        played.error(2)?;
    }
    played.ended_well()?;
    trap.is_untouched("the unknown dialect").await
}

/// Where nobody fetches what a `$ref` names, nobody knows what it asks for.
async fn unresolved_ref(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    let promising = |name: &str, of: Value| {
        let output = json!({ "type": "object", "properties": { "a": of }, "required": ["a"] });
        with(Some(tool(name, json!({}))), json!({ "outputSchema": output }))
    };
    let tools = json!([
        promising("wrong", json!({ "type": "integer" })),
        promising("unresolved", json!({ "$ref": trap.url("/a.json") })),
    ]);
    let part = move |seen: &Seen| match seen.method() {
        "tools/list" => Answer::result(seen, with(result_of(seen), json!({ "tools": tools }))),
        "tools/call" => {
            let members = json!({ "structuredContent": { "a": "x" } });
            Answer::result(seen, with(result_of(seen), members))
        }
        _ => good(seen),
    };
    let steps = json!([{ "do": "tools/list" }, call("wrong"), call("unresolved")]);
    let played = cx.play(steps, part).await?;
    if played.result(1).is_ok() {
        return Err(Stop::skip("the client does not hold results against their schemas"));
    }
    played.error(2).map(drop)
}

async fn preserved(cx: Cx) -> Verdict {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/t",
        "$comment": "all of it", "$anchor": "top", "$vocabulary": { "https://example.com/v": true },
        "$dynamicAnchor": "node", "type": "object", "title": "T", "description": "D",
        "$defs": { "address": { "$anchor": "addr", "type": "object", "properties": { "zip": { "type": "string", "pattern": "^[0-9]{5}$" } } } },
        "properties": {
            "address": { "$ref": "#/$defs/address" },
            "n": { "type": ["integer", "null"], "exclusiveMinimum": 0, "multipleOf": 5, "default": 10 },
            "list": { "type": "array", "prefixItems": [{ "const": "x" }, true], "items": false, "contains": { "type": "string" }, "minContains": 1, "maxContains": 2, "uniqueItems": true },
            "text": { "type": "string", "format": "date", "minLength": 1, "contentEncoding": "base64", "contentMediaType": "text/plain", "examples": ["a"], "deprecated": true, "readOnly": true, "writeOnly": false },
        },
        "patternProperties": { "^x-": { "$dynamicRef": "#node" } },
        "propertyNames": { "maxLength": 20 }, "minProperties": 1, "maxProperties": 9,
        "dependentRequired": { "n": ["text"] }, "dependentSchemas": { "text": { "required": ["n"] } },
        "if": { "required": ["n"] }, "then": { "required": ["text"] }, "else": { "not": { "required": ["list"] } },
        "allOf": [true], "anyOf": [{}, { "minProperties": 2 }], "oneOf": [{ "enum": [1, "a", null] }],
        "additionalProperties": false, "unevaluatedProperties": false, "unevaluatedItems": false,
        "required": ["n"], "x-unknown": { "kept": [1.5, 9007199254740991_i64, "\u{2603}"] },
    });
    let mut listed = tool("all", json!({}));
    listed["inputSchema"] = schema.clone();
    listed["outputSchema"] = schema.clone();
    let part = move |seen: &Seen| match seen.method() {
        "tools/list" => Answer::result(seen, with(result_of(seen), json!({ "tools": [listed] }))),
        _ => good(seen),
    };
    let played = cx.play(json!([{ "do": "tools/list" }]), part).await?;
    let result = played.result(0)?;
    for name in ["inputSchema", "outputSchema"] {
        let given = at(result, "/tools/0").get(name).unwrap_or(&Value::Null);
        let lost = schema.as_object().into_iter().flatten();
        let lost = lost.filter(|(key, value)| given.get(key) != Some(value)).map(|(key, _)| &**key);
        let lost = lost.collect::<Vec<_>>().join(", ");
        expect(lost.is_empty(), format!("every keyword of the {name}"), format!("not {lost}"))?;
        expect(*given == schema, format!("the {name} as it was"), shown(given))?;
    }
    Ok(())
}

/// Schemas that cost those dearly who follow them to the end.
const HOSTILE: [&str; 5] = ["deep", "expansion", "recursive", "pattern", "wide"];

async fn hostile(cx: Cx) -> Verdict {
    let cases = HOSTILE.map(|case| [format!("list {case}"), case.to_owned()]).concat();
    let cases = cases.iter().map(|case| &**case).collect::<Vec<_>>();
    let step = |case: &str| {
        if case.starts_with("list ") {
            // In lines nobody can tell what belongs to a message that is not taken.
            return json!({ "do": "tools/list", "params": { "cursor": case }, "timeout_ms": 2_000 });
        }
        json!({ "do": "tools/call", "params": { "name": case, "arguments": { "a": AS } } })
    };
    let part = |seen: &Seen| match (seen.method(), seen.case().strip_prefix("list ")) {
        ("tools/list", Some(case)) => {
            let schema = schema(case);
            let listed =
                format!(r#"{{"name":"{case}","inputSchema":{schema},"outputSchema":{schema}}}"#);
            let mut message = right(seen);
            message["result"]["tools"] = json!(["@", tool("fine", json!({}))]);
            let text = message.to_string().replacen("\"@\"", &listed, 1);
            Answer::bytes("application/json", format!("{text}\n"))
        }
        ("tools/call", _) if seen.case() != "fine" => {
            let members = json!({ "structuredContent": { "a": AS } });
            Answer::result(seen, with(result_of(seen), members))
        }
        _ => good(seen),
    };
    // The list, or the tool alone, may be refused.
    try_steps(&cx, &cases, step, part).await?.goes_on()
}

/// What is nearly matched by the pattern.
const AS: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";

fn schema(case: &str) -> String {
    let inner = match case {
        "deep" => format!("{}true{}", r#"{"allOf":["#.repeat(10_000), "]}".repeat(10_000)),
        "expansion" => r##"{"$ref":"#/$defs/d0"}"##.to_owned(),
        "recursive" => r##"{"$ref":"#/properties/a"}"##.to_owned(),
        "pattern" => format!(r#"{{"type":"string","pattern":"^(a+)+$","default":"{AS}"}}"#),
        _ => {
            let all = (0..50_000).map(|n| format!(r#"{{"minLength":{n}}}"#)).collect::<Vec<_>>();
            format!(r#"{{"anyOf":[{}]}}"#, all.join(","))
        }
    };
    let twice = |n: usize| {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n + 1);
        format!(r#""d{n}":{{"allOf":[{next},{next}]}},"#)
    };
    let definitions = (0..20).map(twice).collect::<String>();
    format!(
        r#"{{"type":"object","properties":{{"a":{inner}}},"$defs":{{{definitions}"d20":true}}}}"#
    )
}
