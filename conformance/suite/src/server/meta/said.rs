//! What the server writes into `_meta`, and what it makes of the client's name.

use serde_json::{Value, json};

use super::key::is_key;
use super::required::without_meta;
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::rpc::code::plain_requests;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_INFO;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-meta-key-names", Both, key_names).last(),
    server_check!("server-meta-server-info", Both, server_info).last(),
    server_check!("server-meta-trace-format", Both, trace_format).last(),
    server_check!("server-meta-client-info-ignored", Both, client_info_ignored),
];

/// All members of every `_meta` that the server has written.
fn metas(cx: &Cx) -> Verdict<Vec<(String, Value)>> {
    let mut all = Vec::new();
    for noted in cx.record.all() {
        gather(&noted.message, false, &mut all);
    }
    if all.is_empty() { Err(Stop::skip("no _meta was seen")) } else { Ok(all) }
}

/// What stands in `_meta` is data of somebody, and so is what a tool returns or a schema says.
fn gather(value: &Value, is_meta: bool, all: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if is_meta => {
            all.extend(members.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Value::Object(members) => {
            for (key, value) in members {
                let is_foreign = key.ends_with("Schema") || key == "structuredContent";
                if !is_foreign {
                    gather(value, key == "_meta", all);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, false, all)),
        _ => {}
    }
}

async fn key_names(cx: Cx) -> Verdict {
    for (key, _) in metas(&cx)? {
        expect(is_key(&key), "keys of _meta as the specification has them", format!("{key:?}"))?;
    }
    Ok(())
}

async fn server_info(cx: Cx) -> Verdict {
    for request in plain_requests(&cx) {
        cx.ask(&request).await.of(request.method())?;
    }
    for noted in cx.record.all() {
        let Some(result) = noted.message.get("result") else { continue };
        let info = at(result, "/_meta/io.modelcontextprotocol~1serverInfo");
        let is_right = at(info, "/name").is_string() && at(info, "/version").is_string();
        cx.warnings.unless(is_right, "serverInfo in the _meta of results", shown(&noted.message));
    }
    Ok(())
}

async fn trace_format(cx: Cx) -> Verdict {
    if let Ok(tool) = cx.simple_tool() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        cx.ask(&cx.call(&tool, json!({})).meta("traceparent", trace)).await?;
    }
    let mut seen = false;
    for (key, value) in metas(&cx)? {
        let text = value.as_str().unwrap_or_default();
        let is_right = match &*key {
            "traceparent" => is_trace_parent(text),
            "tracestate" => {
                text.split(',').count() <= 32 && text.split(',').all(|it| it.contains('='))
            }
            "baggage" => text.split(',').all(|it| it.contains('=')),
            _ => continue,
        };
        seen = true;
        expect(is_right, "trace context in its own format", format!("{key}: {value}"))?;
    }
    if seen { Ok(()) } else { Err(Stop::skip("no trace context was seen")) }
}

fn is_trace_parent(text: &str) -> bool {
    let parts = text.split('-').collect::<Vec<_>>();
    let [version, trace, span, flags] = *parts else { return false };
    let is_hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |part: &str| part.bytes().any(|it| it != b'0');
    version == "00"
        && is_hex(trace, 32)
        && is_hex(span, 16)
        && is_hex(flags, 2)
        && is_set(trace)
        && is_set(span)
}

async fn client_info_ignored(cx: Cx) -> Verdict {
    let long = "n".repeat(10_000);
    let infos = [
        json!({ "name": "claude-ai", "version": "1" }),
        json!({ "name": "Inspector", "version": "0.0.1" }),
        json!({ "name": long, "version": "1" }),
    ];
    let mut methods = vec!["server/discover"];
    methods.extend(cx.needs("/tools").is_ok().then_some("tools/list"));
    for method in methods {
        let bare = cx.ask(&cx.request(method).without_meta(META_INFO)).await?;
        let bare = without_meta(bare.result()?);
        for info in &infos {
            let reply = cx.ask(&cx.request(method).meta(META_INFO, info.clone())).await?;
            let same = reply.result().is_ok_and(|result| without_meta(result) == bare);
            let expected = format!("the same result of {method} for {}", shown(info));
            cx.warnings.unless(same, expected, reply.told());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_parents() {
        assert!(is_trace_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        for wrong in [
            "",
            "junk",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        ] {
            assert!(!is_trace_parent(wrong), "{wrong}");
        }
    }
}
