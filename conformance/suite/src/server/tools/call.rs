//! Calls of tools, and what comes of them.

use serde_json::{Value, json};

use crate::server::callable::name;
use crate::server::lists::INVALID;
use crate::server::rounds::is_success;
use crate::server::uri::Uri;
use crate::server::{Cx, content};
use crate::shape::conforms;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::at;
use crate::wire::{Message, Reply};

pub(super) async fn invalid_arguments(cx: Cx) -> Verdict {
    let mut session = cx.session();
    let callable = cx.callable();
    let typed = callable.iter().find_map(|(tool, arguments)| Some((tool, typed(tool, arguments)?)));
    for arguments in typed.iter().flat_map(|(_, wrong)| wrong) {
        let (tool, _) = typed.as_ref().ok_or_else(|| Stop::skip("no such tool"))?;
        let reply = session.orderly(&cx.call(name(tool), arguments.clone())).await?;
        let code = at(reply.response()?, "/error/code");
        let is_right = *code == INVALID || (code.is_null() && !is_success(&reply));
        let expected = format!("{}: isError or error -32602 for {arguments}", name(tool));
        expect(is_right, expected, reply.told())?;
    }
    let call = cx.any_call()?;
    for arguments in [json!([]), json!("x")] {
        let reply = session.orderly(&call_with(&cx, &call, arguments.clone())).await?;
        let expected = format!("error {INVALID} for arguments {arguments}");
        expect(!is_success(&reply), &*expected, reply.told())?;
        let code = at(reply.response()?, "/error/code");
        cx.warnings.unless(*code == INVALID, expected, reply.told());
    }
    if typed.is_none() {
        return Err(Stop::skip("no tool that may be called has a property with a type"));
    }
    Ok(())
}

fn call_with(cx: &Cx, call: &Message, arguments: Value) -> Message {
    cx.again(call).param("arguments", arguments)
}

/// Arguments that a tool must not take: without one that is required, and with one of another type.
fn typed(tool: &Value, arguments: &Value) -> Option<Vec<Value>> {
    let schema = at(tool, "/inputSchema");
    let mut wrong = Vec::new();
    let required = at(schema, "/required/0").as_str();
    if let Some(required) = required {
        let mut less = arguments.clone();
        less.as_object_mut()?.remove(required);
        wrong.push(less);
    }
    for (property, schema) in at(schema, "/properties").as_object()? {
        let other = match at(schema, "/type").as_str() {
            Some("string") => json!(5),
            Some("number" | "integer" | "boolean") => json!({ "not": "it" }),
            Some("object" | "array") => json!("text"),
            _ => continue,
        };
        let mut changed = arguments.clone();
        changed.as_object_mut()?.insert(property.clone(), other);
        wrong.push(changed);
    }
    (!wrong.is_empty()).then_some(wrong)
}

pub(super) async fn error_result(cx: Cx) -> Verdict {
    cx.tool("test_error_handling")?;
    let reply = cx.ask(&cx.call("test_error_handling", json!({}))).await?;
    let result = reply.result()?;
    expect(*at(result, "/isError") == true, "a result with isError", reply.told())?;
    let content = at(result, "/content").as_array();
    expect(content.is_some_and(|all| !all.is_empty()), "content that says why", reply.told())
}

pub(super) async fn structured_text(cx: Cx) -> Verdict {
    let (mut session, mut seen) = (cx.session(), false);
    for call in cx.calls() {
        let reply = session.ask(&call).await?;
        let result = reply.result().ok().filter(|_| is_success(&reply));
        let Some(value) = result.and_then(|it| it.get("structuredContent")) else { continue };
        seen = true;
        let blocks = at(reply.result()?, "/content").as_array().cloned().unwrap_or_default();
        let mut texts = blocks.iter().filter_map(|block| at(block, "/text").as_str());
        let is_there =
            texts.any(|text| serde_json::from_str::<Value>(text).is_ok_and(|it| same(&it, value)));
        expect(is_there, "a text block with structuredContent as JSON", reply.told())?;
    }
    if seen { Ok(()) } else { Err(Stop::skip("no tool gave structured content")) }
}

/// Whether two values are the same, whatever way their numbers are written.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(name, value)| other.get(name).is_some_and(|it| same(value, it));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

pub(super) async fn output_schema(cx: Cx) -> Verdict {
    for (tool, reply) in structured(&cx).await? {
        let value = reply.result()?.get("structuredContent");
        let value = value.ok_or_else(|| Stop::fail("structuredContent", reply.told()))?;
        conforms(value, at(tool, "/outputSchema")).map_err(|stop| stop.of(name(tool)))?;
    }
    Ok(())
}

/// The successful results of all tools that have an output schema and may be called.
async fn structured(cx: &Cx) -> Verdict<Vec<(&Value, Reply)>> {
    let (mut session, mut all) = (cx.session(), Vec::new());
    for (tool, arguments) in cx.callable() {
        if tool.get("outputSchema").is_none() {
            continue;
        }
        let reply = session.ask(&cx.call(name(tool), arguments)).await?;
        if is_success(&reply) {
            all.push((tool, reply));
        }
    }
    if all.is_empty() {
        return Err(Stop::skip("no tool with an outputSchema gave a result"));
    }
    Ok(all)
}

pub(super) async fn embedded_resources(cx: Cx) -> Verdict {
    let (mut session, mut seen) = (cx.session(), false);
    for call in cx.calls() {
        let reply = session.ask(&call).await?;
        let blocks = reply.result().map(|result| at(result, "/content").clone());
        for block in blocks.iter().filter_map(Value::as_array).flatten() {
            if at(block, "/type") != "resource" {
                continue;
            }
            seen = true;
            let resource = at(block, "/resource");
            let uri = at(resource, "/uri").as_str().and_then(Uri::parse);
            expect(uri.is_some(), "a resource with an absolute URI", reply.told())?;
            content::has_one_form(resource)?;
        }
    }
    if !seen {
        return Err(Stop::skip("no tool returned a resource"));
    }
    let capabilities = at(&cx.offer().discover, "/capabilities");
    expect(
        at(capabilities, "/resources").is_object(),
        "the capability resources, since tools embed some",
        capabilities.to_string(),
    )
}
