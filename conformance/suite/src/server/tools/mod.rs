//! Tools: the list, names, schemas, calls.

mod call;
mod headers;

use serde_json::json;

use super::lists::{self, TOOLS, declared, stable, undeclared, wrong};
use super::{Cx, listening};
use crate::check::{Check, server_check};
use crate::shape::is_schema;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-tools-declared", Both, is_declared),
    server_check!("server-tools-undeclared", Both, is_undeclared),
    server_check!("server-tools-list", Both, list),
    server_check!("server-tools-list-stable", Both, list_stable),
    server_check!("server-tools-order", Both, order),
    server_check!("server-tools-names", Both, names),
    server_check!("server-tools-name-case", Both, name_case),
    server_check!("server-tools-unknown", Both, unknown),
    server_check!("server-tools-input-schema", Both, schemas),
    server_check!("server-tools-header-annotations", Both, headers::annotations),
    server_check!("server-tools-header-no-secrets", Both, headers::no_secrets),
    server_check!("server-tools-invalid-arguments", Both, call::invalid_arguments),
    server_check!("server-tools-error-result", Both, call::error_result),
    server_check!("server-tools-structured-text", Both, call::structured_text),
    server_check!("server-tools-output-schema", Both, call::output_schema),
    server_check!("server-tools-embedded-resources", Both, call::embedded_resources),
    server_check!("server-tools-list-changed", Both, list_changed),
];

async fn is_declared(cx: Cx) -> Verdict {
    declared(&cx, TOOLS).await
}

async fn is_undeclared(cx: Cx) -> Verdict {
    let messages = [cx.request("tools/list"), cx.call("x", json!({}))];
    undeclared(&cx, "tools", &messages).await
}

async fn list(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    for tool in TOOLS.entries(&cx, &mut cx.session()).await? {
        expect(at(&tool, "/name").is_string(), "a name, a string", shown(&tool))?;
        expect(at(&tool, "/inputSchema").is_object(), "an inputSchema, an object", shown(&tool))?;
    }
    Ok(())
}

async fn list_stable(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    let mut between = vec![
        cx.call("no_such_tool_7f3a", json!({})),
        cx.request("resources/read").param("uri", "test://no-such-resource"),
    ];
    between.extend(cx.any_call());
    stable(&cx, TOOLS, &between).await
}

async fn order(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    let (mut one, mut other) = (cx.session(), cx.session());
    let first = TOOLS.keys(&cx, &mut one).await?;
    if first.len() < 2 {
        return Err(Stop::skip("there are fewer than two tools"));
    }
    for session in [&mut one, &mut other] {
        for _ in 0..2 {
            let next = TOOLS.keys(&cx, session).await?;
            let (mut before, mut after) = (first.clone(), next.clone());
            before.sort();
            after.sort();
            if before != after {
                return Err(Stop::skip("the list changed meanwhile"));
            }
            expect(next == first, format!("the order {first:?}"), format!("{next:?}"))?;
        }
    }
    Ok(())
}

async fn names(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    let names = TOOLS.keys(&cx, &mut cx.session()).await?;
    let mut seen = std::collections::HashSet::new();
    for name in &names {
        expect((1..=128).contains(&name.chars().count()), "1 to 128 characters", name)?;
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        expect(is_plain, "letters, digits, underscores, hyphens and dots alone", name)?;
        expect(seen.insert(name), "each name once", name)?;
    }
    Ok(())
}

async fn name_case(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    let call = cx.any_call()?;
    let name = call.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
    let swapped = name.chars().map(|c| match c.is_ascii_lowercase() {
        true => c.to_ascii_uppercase(),
        false => c.to_ascii_lowercase(),
    });
    let swapped = swapped.collect::<String>();
    if swapped == name || cx.tool(&swapped).is_ok() {
        return Err(Stop::skip("there is no tool whose name in another case is none"));
    }
    cx.ask(&call.param("name", swapped)).await?.has_code(lists::INVALID).map(drop)
}

async fn unknown(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    wrong(&mut cx.session(), &cx.call("no_such_tool_7f3a", json!({}))).await.map(drop)
}

async fn schemas(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    for tool in &cx.offer().tools {
        let name = shown(at(tool, "/name"));
        let input = at(tool, "/inputSchema");
        let is_object = *at(input, "/type") == "object";
        expect(is_object, format!("{name}: an inputSchema of the type object"), shown(input))?;
        for schema in [Some(input), tool.get("outputSchema")].into_iter().flatten() {
            is_schema(schema).map_err(|stop| stop.of(&name))?;
        }
    }
    Ok(())
}

async fn list_changed(cx: Cx) -> Verdict {
    cx.needs("/tools/listChanged")?;
    listening::list_changed(&cx, "toolsListChanged", "test_trigger_tool_change", "tools").await
}
