//! Event streams, and what else answers a request.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::SETTLE;
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_LOG_LEVEL;
use crate::wire::{Head, Message, Noted, Open};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-response-type", Http, types).last(),
    server_check!("server-http-stream-related", Http, related),
    server_check!("server-http-stream-ends", Http, ends),
    server_check!("server-http-stream-headers", Http, headers).alone(),
];

/// Whether a stream follows.
fn is_stream(head: &Head) -> bool {
    head.media_type() == "text/event-stream"
}

async fn types(cx: Cx) -> Verdict {
    cx.ask(&cx.request("server/discover")).await?;
    cx.ask(&cx.request("unknown/method")).await?;
    for Noted { head, message, method } in cx.record.all() {
        let Some(head) = head else { continue };
        let is_result = message.get("result").is_some();
        if !is_result && message.get("error").is_none() {
            continue;
        }
        let media_type = head.media_type();
        let seen = format!("{}, {media_type:?} for {method} {}", head.line, shown(&message));
        let is_json = media_type == "application/json";
        expect(head.all("Content-Type").count() == 1, "one Content-Type", &*seen)?;
        if is_result {
            expect(head.status() == 200, "status 200 for a result", &*seen)?;
        }
        let is_right = is_json || is_stream(&head) && head.status() == 200;
        expect(is_right, "application/json, or with 200 text/event-stream", seen)?;
    }
    Ok(())
}

/// A call that reports its progress under this token.
fn reporting(cx: &Cx, token: &str) -> Verdict<Message> {
    cx.tool("test_tool_with_progress")?;
    Ok(cx.call("test_tool_with_progress", json!({})).meta("progressToken", token))
}

/// The same, being answered by a stream.
async fn opened(cx: &Cx, token: &str) -> Verdict<Open> {
    let open = cx.open(&reporting(cx, token)?).await?;
    if !open.head.as_ref().is_some_and(is_stream) {
        return Err(Stop::skip("the server does not answer test_tool_with_progress by a stream"));
    }
    Ok(open)
}

/// Opens a subscription to changes of the tools, and reads its acknowledgement.
async fn listening(cx: &Cx) -> Verdict<Open> {
    cx.needs("/tools/listChanged")?;
    let wanted = json!({ "toolsListChanged": true });
    let mut open =
        cx.open(&cx.request("subscriptions/listen").param("notifications", wanted)).await?;
    open.expect_next("an acknowledgement").await?;
    Ok(open)
}

async fn related(cx: Cx) -> Verdict {
    for tool in ["test_logging_tool", "test_trigger_tool_change"] {
        cx.tool(tool)?;
    }
    let logging = cx.call("test_logging_tool", json!({})).meta(META_LOG_LEVEL, "debug");
    let mut listen = listening(&cx).await?;
    let (one, other) = (opened(&cx, "one").await?, opened(&cx, "other").await?);
    let logged = cx.open(&logging).await?;
    cx.ask(&cx.call("test_trigger_tool_change", json!({}))).await?.result()?;
    for (open, token) in [(one, "one"), (other, "other"), (logged, "")] {
        for message in open.finish().await?.notifications() {
            let is_own = match at(message, "/method").as_str() {
                Some("notifications/progress") => at(message, "/params/progressToken") == token,
                Some("notifications/message") => true,
                _ => false,
            };
            let expected = format!("only what belongs to the request with the token {token:?}");
            expect(is_own, expected, shown(message))?;
        }
    }
    for message in listen.within(SETTLE).await? {
        let is_change = at(&message, "/method") == "notifications/tools/list_changed";
        expect(is_change, "only changes of the tools on the subscription", shown(&message))?;
    }
    Ok(())
}

async fn ends(cx: Cx) -> Verdict {
    let mut open = opened(&cx, "ends").await?;
    loop {
        let message = open.expect_next("a response").await?;
        if message.get("id") == Some(&open.id) && message.get("method").is_none() {
            break;
        }
    }
    match timeout(cx.patience, open.next()).await {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(more))) => {
            let is_response = more.get("method").is_none();
            let expected = "the end of the stream behind the response";
            cx.warnings.unless(is_response, expected, shown(&more));
            expect(!is_response, expected, shown(&more))
        }
        Ok(Err(stop)) => Err(stop).of("a proper end of the stream"),
        Err(_) => Err(Stop::fail("the end of the stream behind the response", "nothing")),
    }
}

async fn headers(cx: Cx) -> Verdict {
    let mut times = Vec::new();
    // A head may be held up until the work is done, but not every time.
    let is_early = loop {
        let begun = Instant::now();
        let open = opened(&cx, "headers").await?;
        let head = open.head.clone().unwrap_or_default();
        let waited = begun.elapsed();
        are_right(&cx, &head).of("a call")?;
        open.finish().await?;
        // The work takes some 100 ms: who hears of it only at its end has been kept waiting.
        let (whole, least) = (begun.elapsed(), Duration::from_millis(100));
        times.push(format!("{waited:?} of {whole:?}"));
        let is_early = whole < least || whole - waited > least / 10;
        if is_early || times.len() == 5 {
            break is_early;
        }
    };
    cx.warnings.unless(is_early, "a head before the work is done", times.join(", "));
    match listening(&cx).await {
        Ok(listen) => are_right(&cx, &listen.head.unwrap_or_default()).of("a subscription"),
        Err(Stop::Skip(_)) => Ok(()),
        Err(stop) => Err(stop),
    }
}

fn are_right(cx: &Cx, head: &Head) -> Verdict {
    let cache = head.get("Cache-Control").unwrap_or_default();
    cx.warnings.unless(!cache.contains("public"), "no public Cache-Control of a stream", cache);
    let buffering = head.get("X-Accel-Buffering");
    let seen = buffering.map_or_else(|| Value::Null.to_string(), str::to_owned);
    expect(buffering == Some("no"), "X-Accel-Buffering: no", seen)
}
