//! The endpoint: what a POST may look like.

use super::judge::{answered, refused, served};
use super::{discover, each};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::{Post, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-endpoint", Http, takes_posts),
    server_check!("server-http-content-type-forms", Http, content_types),
    server_check!("server-http-accept-forms", Http, accepts),
    server_check!("server-http-get-delete", Http, other_methods),
];

async fn takes_posts(cx: Cx) -> Verdict {
    let (_, post) = discover(&cx)?;
    let upper = cx.endpoint()?.authority.to_ascii_uppercase();
    let variants = [
        ("a POST", post.clone()),
        ("Connection: close", post.clone().header("Connection", "close")),
        ("the host in upper case", post.clone().set("Host", upper)),
    ];
    each(&cx, variants, served).await?;
    let path = &cx.endpoint()?.path;
    let queried = format!("{path}{}x=1", if path.contains('?') { '&' } else { '?' });
    each(&cx, [("a query", post.target(queried))], answered).await?;
    if cx.is_http2() { Ok(()) } else { usable_after(&cx, &discover(&cx)?.1).await }
}

/// A request on the same connection behind `first` gets its own answer. A server may close it, but need not hide that.
pub(super) async fn usable_after(cx: &Cx, first: &Post) -> Verdict {
    let mut connection = cx.connect().await?;
    connection.send(&first.encode()).await?;
    if Reply::read(&mut connection).await?.closes() {
        return Ok(());
    }
    let (message, post) = discover(cx)?;
    connection.send(&post.encode()).await?;
    let second = match Reply::read(&mut connection).await {
        Ok(second) => second,
        Err(Stop::Fail { seen, .. }) => {
            cx.warnings.unless(false, "a second answer, or Connection: close", seen);
            return Ok(());
        }
        Err(stop) => return Err(stop),
    };
    served(&second).of("a second request")?;
    let is_own = second.response()?.get("id") == Some(message.id());
    expect(is_own, "a second request: its own answer", second.told())
}

async fn content_types(cx: Cx) -> Verdict {
    let (_, post) = discover(&cx)?;
    let good = [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/json;charset=\"UTF-8\"",
        "application/json ;  charset=utf-8",
    ];
    each(&cx, good.map(|it| (it, post.clone().set("Content-Type", it))), served).await?;
    let bad = [
        ("no Content-Type", post.clone().without("Content-Type")),
        ("text/plain", post.clone().set("Content-Type", "text/plain")),
        ("a form", post.clone().set("Content-Type", "application/x-www-form-urlencoded")),
        ("two of them", post.header("Content-Type", "application/json")),
    ];
    each(&cx, bad, |reply| refused_or_warned(&cx, reply, "a refusal of what is no JSON")).await
}

/// It is refused, or served with a warning.
pub(super) fn refused_or_warned(cx: &Cx, reply: &Reply, expected: &str) -> Verdict {
    if served(reply).is_err() && matches!(reply.status(), Some(500..)) {
        cx.warnings.unless(false, "a status of 4xx", reply.told());
        return Ok(());
    }
    if served(reply).is_err() {
        return refused(reply);
    }
    cx.warnings.unless(false, expected, reply.told());
    Ok(())
}

async fn accepts(cx: Cx) -> Verdict {
    let (_, post) = discover(&cx)?;
    let both = [
        "text/event-stream, application/json",
        "APPLICATION/JSON, TEXT/EVENT-STREAM",
        "application/json,text/event-stream",
        "application/json;q=0.5, text/event-stream;q=0.9",
    ];
    each(&cx, both.map(|it| (it, post.clone().set("Accept", it))), served).await?;
    let split =
        post.clone().set("Accept", "application/json").header("Accept", "text/event-stream");
    each(&cx, [("two Accept lines", split)], served).await?;
    // Patterns do not list them, though they match.
    let patterns = ["application/*, text/*", "*/*"];
    each(&cx, patterns.map(|it| (it, post.clone().set("Accept", it))), |reply| {
        cx.warnings.unless(served(reply).is_ok(), "an answer to what accepts both", reply.told());
        answered(reply)
    })
    .await?;
    for listed in ["application/json", "text/event-stream", "text/html"] {
        each(&cx, [(listed, post.clone().set("Accept", listed))], |reply| {
            answered(reply)?;
            // HTTP lets a server pass over the header, but the sender may not be able to read what comes then.
            let fits = served(reply).is_err()
                || reply.head.as_ref().is_some_and(|head| head.media_type() == listed);
            cx.warnings.unless(fits, format!("{listed}, or 406"), reply.told());
            Ok(())
        })
        .await?;
    }
    each(&cx, [("no Accept", post.without("Accept"))], answered).await
}

async fn other_methods(cx: Cx) -> Verdict {
    super::modern_only(&cx).await?;
    let (_, post) = discover(&cx)?;
    let bare = post.clone().without("MCP-Protocol-Version").without("Mcp-Method").body("");
    let variants = [
        ("GET", bare.clone().set("Accept", "text/event-stream")),
        ("DELETE", bare.clone()),
        ("PUT", post.clone()),
        ("PATCH", post.clone()),
        ("HEAD", bare),
        ("GET", post.body("")),
    ];
    for (method, post) in variants {
        let open = cx.open_post(&post.method(method), &serde_json::Value::Null).await?;
        let head = open.head.unwrap_or_default();
        let seen = format!("{} {}", head.line, head.get("Allow").unwrap_or("without Allow"));
        let is_named = matches!(method, "GET" | "DELETE" | "HEAD");
        if is_named {
            expect(head.status() == 405, format!("{method}: status 405"), &*seen)?;
        }
        let is_refused = matches!(head.status(), 400..=499 | 501);
        expect(is_refused, format!("{method}: a refusal"), &*seen)?;
        let allows = head.status() == 405 && head.all("Allow").any(|it| it.contains("POST"));
        cx.warnings.unless(allows, format!("{method}: status 405, with Allow: POST"), seen);
    }
    Ok(())
}
