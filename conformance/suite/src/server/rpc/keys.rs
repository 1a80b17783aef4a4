//! Keys that stand twice, in another case, or with escapes.

use serde_json::{Value, json};

use super::discover;
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::{raw, refused};
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::at;
use crate::wire::message::{META_VERSION, VERSION};
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-jsonrpc-duplicate-keys", Both, duplicate),
    server_check!("server-jsonrpc-case-variant-keys", Both, case_variant),
    server_check!("server-jsonrpc-escaped-keys", Both, escaped),
];

const UNSUPPORTED: &str = "1900-01-01";

/// A body in which every part may stand twice.
fn body(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{id},{method},{params}}}"#)
}

/// What a right body has for each part.
fn parts(cx: &Cx) -> (Message, [String; 3], Value) {
    let (request, params) = discover(cx);
    let parts = [
        format!(r#""id":{}"#, request.id()),
        r#""method":"server/discover""#.to_owned(),
        format!(r#""params":{params}"#),
    ];
    (request, parts, params)
}

async fn duplicate(cx: Cx) -> Verdict {
    methods_twice(&cx, "method").await?;
    let (request, [id, method, params], value) = parts(&cx);
    let served = |reply: &Reply| reply.result().is_ok();
    let mut orders = 0;
    for (first, last) in [(VERSION, UNSUPPORTED), (UNSUPPORTED, VERSION)] {
        let once = format!("\"{META_VERSION}\":\"{VERSION}\"");
        let twice = format!("\"{META_VERSION}\":\"{first}\",\"{META_VERSION}\":\"{last}\"");
        let reply = raw(&cx, &request, body(&id, &method, &params.replace(&once, &twice))).await;
        orders += usize::from(served(&reply.of("two versions")?));
    }
    expect(orders < 2, "a message with two versions is refused", "it is served, either way round")?;
    cx.warnings.unless(orders == 0, "a message with two versions is refused", "it is served");
    let more = value.to_string().replacen('{', r#"{"com.example":1,"#, 1);
    let meta = at(&value, "/_meta").to_string();
    let other_meta = meta.replacen('{', r#"{"com.example/a":1,"#, 1);
    let others = [
        ("two ids", body(&format!(r#"{id},"id":"other""#), &method, &params)),
        ("two params", body(&id, &method, &format!(r#"{params},"params":{more}"#))),
        (
            "two _meta",
            body(&id, &method, &format!(r#""params":{{"_meta":{meta},"_meta":{other_meta}}}"#)),
        ),
    ];
    for (what, text) in others {
        let reply = raw(&cx, &request, text).await.of(what)?;
        if served(&reply) {
            cx.warnings.unless(false, format!("{what}: a refusal"), reply.told());
            let found = at(reply.response()?, "/id");
            let is_either = found == request.id() || found == "other";
            expect(is_either, format!("{what}: one of the ids"), reply.told())?;
        }
    }
    Ok(())
}

/// A method twice, the second time under a key that may be written in another way. What is served must not depend on
/// which of them somebody on the way has read: the header can agree with one only.
async fn methods_twice(cx: &Cx, key: &str) -> Verdict {
    let (request, [id, _, params], _) = parts(cx);
    let mut orders = 0;
    for (first, last) in [("server/discover", "tools/list"), ("tools/list", "server/discover")] {
        let methods = format!(r#""method":"{first}","{key}":"{last}""#);
        let reply = raw(cx, &request, body(&id, &methods, &params)).await.of("two methods")?;
        orders += usize::from(reply.result().is_ok());
    }
    let seen = "it is served, either way round";
    expect(orders < 2 || !cx.is_http(), "a message with two methods is refused", seen)?;
    cx.warnings.unless(orders == 0, "a message with two methods is refused", "it is served");
    Ok(())
}

async fn case_variant(cx: Cx) -> Verdict {
    let (request, [id, method, params], _) = parts(&cx);
    let text = body(&id, &method, &params);
    let wrong = [
        ("\"method\"", "\"Method\""),
        ("\"method\"", "\"METHOD\""),
        ("\"jsonrpc\"", "\"Jsonrpc\""),
        ("\"params\"", "\"Params\""),
        ("\"_meta\"", "\"_Meta\""),
        (META_VERSION, "IO.modelcontextprotocol/protocolVersion"),
    ];
    for (key, variant) in wrong {
        let reply = raw(&cx, &request, text.replacen(key, variant, 1)).await.of(variant)?;
        refused(&cx, &reply, &[-32600, -32602, -32020]).of(variant)?;
    }
    for both in [
        r#""method":"server/discover","Method":"unknown/x""#,
        r#""Method":"unknown/x","method":"server/discover""#,
    ] {
        let reply = raw(&cx, &request, body(&id, both, &params)).await.of(both)?;
        let is_other = reply.error().is_ok_and(|error| at(error, "/code") == -32601);
        expect(!is_other, format!("{both}: the exact spelling counts"), reply.told())?;
        cx.warnings.unless(reply.result().is_ok(), "a member besides is ignored", reply.told());
    }
    Ok(())
}

async fn escaped(cx: Cx) -> Verdict {
    let (request, [id, method, params], _) = parts(&cx);
    let text = body(&id, &method, &params);
    let same = [
        (r#""method":"#, r#""m\u0065thod":"#),
        (r#""server/discover""#, r#""server\/discover""#),
        (META_VERSION, r"io\u002emodelcontextprotocol\/protocolVersion"),
    ];
    for (plain, written) in same {
        let reply = raw(&cx, &request, text.replacen(plain, written, 1)).await.of(written)?;
        let result = reply.result().of(written)?;
        let expected = format!("{written}: the same as {plain}");
        expect(*at(result, "/supportedVersions") != json!(null), expected, reply.told())?;
    }
    methods_twice(&cx, r"m\u0065thod").await
}
