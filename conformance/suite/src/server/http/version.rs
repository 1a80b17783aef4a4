//! `MCP-Protocol-Version` and `Mcp-Method` against the body, and methods that nobody has.

use serde_json::Value;

use super::endpoint::usable_after;
use super::judge::{mismatch, refused_best, refused_by, served};
use super::{INVALID_PARAMS, UNKNOWN_METHOD, discover, each, serves_before};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::at;
use crate::wire::message::{META_VERSION, VERSION};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-method-unknown", Http, unknown_methods),
    server_check!("server-http-removed-methods", Http, removed_methods),
    server_check!("server-http-version-missing", Http, version_missing),
    server_check!("server-http-version-mismatch", Http, version_mismatch),
    server_check!("server-http-method-header-missing", Http, method_missing),
    server_check!("server-http-method-mismatch", Http, method_mismatch),
];

/// The code of what is no request.
const INVALID_REQUEST: i64 = -32600;

async fn unknown_methods(cx: Cx) -> Verdict {
    for method in ["unknown/method", "x", "tools/LIST"] {
        let message = cx.request(method);
        let reply = cx.ask(&message).await.of(method)?;
        refused_by(&reply, &message, 404, UNKNOWN_METHOD).of(method)?;
        expect(reply.messages.len() == 1, "one response", reply.told())?;
    }
    // It has an id, and so it may be read as a method that is unknown, or as no notification.
    let misnamed = cx.request("notifications/cancelled");
    let reply = cx.ask(&misnamed).await?;
    if reply.is_refused(400, INVALID_REQUEST).is_err() {
        refused_by(&reply, &misnamed, 404, UNKNOWN_METHOD).of("notifications/cancelled")?;
    }
    let long = cx.request(&"x".repeat(4096));
    let reply = cx.ask(&long).await.of("a method of 4 KiB")?;
    if !matches!(reply.status(), Some(400 | 413 | 431)) {
        refused_by(&reply, &long, 404, UNKNOWN_METHOD).of("a method of 4 KiB")?;
    }
    let post = cx.post(&cx.request("unknown/method"))?;
    if cx.is_http2() { Ok(()) } else { usable_after(&cx, &post).await }
}

async fn removed_methods(cx: Cx) -> Verdict {
    let gone: &[&str] = if serves_before(&cx, VERSION).await? {
        &["tasks/list", "tasks/result"]
    } else {
        &["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "initialize"]
    };
    let of_clients = ["roots/list", "sampling/createMessage", "elicitation/create"];
    for method in gone.iter().chain(&["tasks/list", "tasks/result"]).chain(&of_clients) {
        let message = cx.request(method).param("uri", "test://x").param("level", "info");
        let reply = cx.ask(&message).await.of(method)?;
        refused_by(&reply, &message, 404, UNKNOWN_METHOD).of(method)?;
    }
    undeclared_methods(&cx).await
}

/// Methods of a capability that the server does not declare are no methods of its.
async fn undeclared_methods(cx: &Cx) -> Verdict {
    let methods = [
        ("tools", "tools/list"),
        ("prompts", "prompts/list"),
        ("resources", "resources/list"),
        ("completions", "completion/complete"),
    ];
    for (capability, method) in methods {
        if !at(&cx.offer().discover, &format!("/capabilities/{capability}")).is_null() {
            continue;
        }
        let message = cx.request(method);
        let reply = cx.ask(&message).await.of(method)?;
        let expected = format!("{method}: 404 and -32601, as {capability} are not declared");
        let is_unknown = refused_by(&reply, &message, 404, UNKNOWN_METHOD).is_ok();
        cx.warnings.unless(is_unknown, expected, reply.told());
    }
    Ok(())
}

async fn version_missing(cx: Cx) -> Verdict {
    if serves_before(&cx, "2025-06-18").await? {
        return Err(Stop::skip("the server serves revisions that do not know the header"));
    }
    let (message, post) = discover(&cx)?;
    let variants = [
        ("no header", post.clone().without("MCP-Protocol-Version")),
        ("an empty one", post.clone().set("MCP-Protocol-Version", "")),
        ("white space", post.clone().set("MCP-Protocol-Version", " \t ")),
    ];
    each(&cx, variants, |reply| mismatch(reply, &message)).await?;
    let bare = message.clone().with("params", Value::Object(serde_json::Map::new()));
    let bare = post.without("MCP-Protocol-Version").body(bare.text());
    let codes = [super::MISMATCH, INVALID_PARAMS];
    each(&cx, [("neither header nor _meta", bare)], |reply| refused_best(&cx, reply, &codes)).await
}

async fn version_mismatch(cx: Cx) -> Verdict {
    let (message, post) = discover(&cx)?;
    let name = "MCP-Protocol-Version";
    let wrong = "1900-01-01";
    let old = post.clone().body(message.clone().meta(META_VERSION, wrong).text());
    let mut variants = vec![
        ("another version in _meta", old),
        ("another version in the header", post.clone().set(name, wrong)),
        ("two lines, the right one first", post.clone().header(name, wrong)),
        ("two lines, the right one last", post.clone().set(name, wrong).header(name, VERSION)),
        ("two in one line", post.clone().set(name, format!("{VERSION}, {VERSION}"))),
    ];
    // Who serves the revision before may go by its rules then.
    if !serves_before(&cx, VERSION).await? {
        variants.push(("the version before in the header", post.clone().set(name, "2025-11-25")));
    }
    each(&cx, variants, |reply| mismatch(reply, &message)).await?;
    let doubled = post.header(name, VERSION);
    each(&cx, [("two equal lines", doubled)], |reply| {
        served(reply).or_else(|_| mismatch(reply, &message))
    })
    .await
}

async fn method_missing(cx: Cx) -> Verdict {
    let mut methods = vec!["server/discover"];
    methods.extend(cx.needs("/tools").is_ok().then_some("tools/list"));
    for method in methods {
        let message = cx.request(method);
        let post = cx.post(&message)?;
        let variants = [
            (format!("{method} without the header"), post.clone().without("Mcp-Method")),
            (format!("{method} with an empty one"), post.set("Mcp-Method", "")),
        ];
        each(&cx, variants, |reply| mismatch(reply, &message)).await?;
    }
    Ok(())
}

async fn method_mismatch(cx: Cx) -> Verdict {
    let (message, post) = discover(&cx)?;
    let wrapped = format!("=?base64?{}?=", super::base64("server/discover"));
    let wrong = [
        "tools/list",
        "SERVER/DISCOVER",
        "server/discover2",
        "server",
        // Only names and parameters have this form.
        &wrapped,
    ];
    let variants = wrong.map(|method| (method, post.clone().set("Mcp-Method", method)));
    each(&cx, variants, |reply| mismatch(reply, &message)).await?;
    let unknown: Message = cx.request("unknown/method");
    let post = cx.post(&unknown)?.set("Mcp-Method", "server/discover");
    // Which of the two faults is told of is not fixed.
    each(&cx, [("an unknown method in the body", post)], |reply| {
        refused_by(reply, &unknown, 404, UNKNOWN_METHOD).or_else(|_| mismatch(reply, &unknown))
    })
    .await
}
