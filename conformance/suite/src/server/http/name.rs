//! `Mcp-Name` against the body.

use super::judge::{answered, mismatch, refused_by, served};
use super::{INVALID_PARAMS, base64, discover, each, known_call, plain_call};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::Verdict;
use crate::wire::json::at;
use crate::wire::{Message, Post, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-name-header-missing", Http, missing),
    server_check!("server-http-name-mismatch", Http, differs),
    server_check!("server-http-name-decoded", Http, decoded),
    server_check!("server-http-sentinel-literal", Http, literal),
];

/// Requests with a name, for what the server has, and whether it has it.
fn named(cx: &Cx) -> Verdict<Vec<(Message, bool)>> {
    let mut all = vec![plain_call(cx)?];
    let first = |list: &[serde_json::Value], member: &str| {
        list.first().and_then(|it| at(it, member).as_str().map(str::to_owned))
    };
    if let Some(name) = first(&cx.offer().prompts, "/name") {
        all.push((cx.request("prompts/get").param("name", name), true));
    }
    if let Some(uri) = first(&cx.offer().resources, "/uri") {
        all.push((cx.request("resources/read").param("uri", uri), true));
    }
    Ok(all)
}

/// The headers are refused. What the server does not have may be found missing first, with a warning.
fn judged(cx: &Cx, reply: &Reply, message: &Message, is_known: bool) -> Verdict {
    if is_known || refused_by(reply, message, 400, INVALID_PARAMS).is_err() {
        return mismatch(reply, message);
    }
    cx.warnings.unless(false, "error -32020", reply.told());
    Ok(())
}

async fn missing(cx: Cx) -> Verdict {
    for (message, is_known) in named(&cx)? {
        let post = cx.post(&message)?;
        let variants = [
            (format!("{} without the header", message.method()), post.clone().without("Mcp-Name")),
            (format!("{} with an empty one", message.method()), post.set("Mcp-Name", "")),
        ];
        each(&cx, variants, |reply| judged(&cx, reply, &message, is_known)).await?;
    }
    let (_, post) = discover(&cx)?;
    each(&cx, [("a stray Mcp-Name", post.header("Mcp-Name", "x"))], |reply| {
        cx.warnings.unless(served(reply).is_ok(), "a result", reply.told());
        answered(reply)
    })
    .await
}

async fn differs(cx: Cx) -> Verdict {
    for (message, is_known) in named(&cx)? {
        let (post, right) = (cx.post(&message)?, message.name().unwrap_or_default());
        let escaped = right.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let wrong = [
            format!("x-{right}"),
            format!("{right}2"),
            format!("{right}/"),
            right.to_ascii_uppercase(),
            right.trim_end_matches('/').rsplit_once('/').map_or("other", |it| it.0).to_owned(),
            escaped,
        ];
        let wrong = wrong.into_iter().filter(|name| name != right);
        let variants = wrong.map(|name| {
            let what = format!("{right} in the body, {name} in the header");
            (what, post.clone().set("Mcp-Name", name))
        });
        each(&cx, variants, |reply| judged(&cx, reply, &message, is_known)).await?;
    }
    Ok(())
}

/// The request with this as its `Mcp-Name`.
fn with(post: &Post, name: impl Into<String>) -> (String, Post) {
    let name = name.into();
    (name.clone(), post.clone().set("Mcp-Name", name))
}

async fn decoded(cx: Cx) -> Verdict {
    let (message, tool) = known_call(&cx)?;
    let post = cx.post(&message)?;
    each(&cx, [with(&post, format!("=?base64?{}?=", base64(&tool)))], served).await?;
    let whole = base64(&tool);
    let bare = whole.trim_end_matches('=');
    // Its padding is part of the form, whether or not this name has any.
    let unpadded = if bare == whole { base64(format!("{tool}x")) } else { whole.clone() };
    let wrong = [
        format!("=?base64?{}?=", base64(format!("{tool}2"))),
        format!("=?base64?{}?=", unpadded.trim_end_matches('=')),
        format!("=?base64?{whole}!?="),
        "=?base64?_-_-?=".to_owned(),
        "=?base64?/w==?=".to_owned(),
        "=?base64??=".to_owned(),
    ];
    each(&cx, wrong.map(|name| with(&post, name)), |reply| mismatch(reply, &message)).await
}

async fn literal(cx: Cx) -> Verdict {
    let (message, tool) = known_call(&cx)?;
    let (post, whole) = (cx.post(&message)?, base64(&tool));
    let wrong = [
        format!("=?BASE64?{whole}?="),
        format!("=?Base64?{whole}?="),
        format!("=?base64?{whole}"),
        format!("{whole}?="),
        format!("=?utf-8?b?{whole}?="),
    ];
    each(&cx, wrong.map(|name| with(&post, name)), |reply| mismatch(reply, &message)).await
}
