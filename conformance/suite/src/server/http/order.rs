//! Several faults at once: which of them is told of, where the specification fixes it.

use serde_json::json;

use super::judge::{mismatch, refused_by};
use super::{
    INVALID_PARAMS, INVALID_REQUEST, UNKNOWN_METHOD, UNSUPPORTED, discover, each, plain_call,
};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::shown;
use crate::wire::message::{META_CAPABILITIES, META_VERSION};
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-order-id-echo", Http, echoes),
    server_check!("server-http-order-mismatch-before-unsupported", Http, mismatch_first),
    server_check!("server-http-order-version-before-method", Http, version_first),
    server_check!("server-http-order-headers-before-params", Http, headers_first),
];

async fn echoes(cx: Cx) -> Verdict {
    let good = cx.request("server/discover").with("id", "an id of letters");
    let post = cx.post(&good)?;
    let other = |message: &Message| cx.post(message);
    let variants = [
        ("no _meta", post.clone().body(good.clone().with("params", json!({})).text())),
        ("an unknown version", other(&good.clone().meta(META_VERSION, "v999.0.0"))?),
        ("a method that differs", post.clone().set("Mcp-Method", "tools/list")),
        ("an unknown method", other(&good.clone().with("method", "unknown/method"))?),
        ("no method in the headers", post.clone().without("Mcp-Method")),
    ];
    let echoed = |reply: &Reply| {
        reply.error()?;
        let id = reply.response()?.get("id");
        expect(id == Some(good.id()), format!("the id {}", shown(good.id())), reply.told())
    };
    each(&cx, variants, echoed).await?;
    // It may be that what is no request has no id.
    let odd = post.body(good.clone().with("params", 5).text());
    each(&cx, [("params: 5", odd)], |reply| {
        reply.error()?;
        let id = reply.response()?.get("id").filter(|id| !id.is_null());
        cx.warnings.unless(id.is_some(), "the id of the request", reply.told());
        if id.is_some() { echoed(reply) } else { Ok(()) }
    })
    .await
}

async fn mismatch_first(cx: Cx) -> Verdict {
    let (message, post) = discover(&cx)?;
    let unknown = post.clone().body(message.clone().meta(META_VERSION, "v999.0.0").text());
    let variants = [
        ("an unknown version in _meta", unknown),
        ("an unknown version in the header", post.set("MCP-Protocol-Version", "v999.0.0")),
    ];
    each(&cx, variants, |reply| mismatch(reply, &message)).await
}

async fn version_first(cx: Cx) -> Verdict {
    for method in ["unknown/method", "initialize"] {
        let message = cx.request(method).meta(META_VERSION, "v999.0.0");
        let reply = cx.ask(&message).await.of(method)?;
        if refused_by(&reply, &message, 404, UNKNOWN_METHOD).is_ok() {
            cx.warnings.unless(false, "the versions that are supported", reply.told());
            continue;
        }
        refused_by(&reply, &message, 400, UNSUPPORTED).of(method)?;
    }
    let message = cx.request("server/discover").meta(META_VERSION, "v999.0.0");
    let message = message.without_meta(META_CAPABILITIES);
    let reply = cx.ask(&message).await?;
    either(&reply, &message, (400, UNSUPPORTED), (400, INVALID_PARAMS)).of("no capabilities")
}

async fn headers_first(cx: Cx) -> Verdict {
    let (plain, _) = plain_call(&cx)?;
    let calls = [
        ("an unknown tool", cx.call("no-such-tool", json!({}))),
        ("arguments: 5", plain.param("arguments", 5)),
    ];
    for (what, message) in calls {
        let reply = cx.send(&cx.post(&message)?.set("Mcp-Name", "other")).await.of(what)?;
        let is_mismatch = mismatch(&reply, &message);
        cx.warnings.unless(is_mismatch.is_ok(), format!("{what}: error -32020"), reply.told());
        let other = [INVALID_PARAMS, INVALID_REQUEST];
        if !other.iter().any(|code| refused_by(&reply, &message, 400, *code).is_ok()) {
            is_mismatch.of(what)?;
        }
    }
    let message = cx.request("unknown/method");
    let reply = cx.send(&cx.post(&message)?.without("Mcp-Method")).await?;
    let both = either(&reply, &message, (400, super::MISMATCH), (404, UNKNOWN_METHOD));
    both.of("an unknown method without Mcp-Method")
}

/// The request is refused in one of two ways.
fn either(reply: &Reply, message: &Message, one: (u16, i64), other: (u16, i64)) -> Verdict {
    let by_other = refused_by(reply, message, other.0, other.1);
    by_other.or_else(|_| refused_by(reply, message, one.0, one.1))
}
