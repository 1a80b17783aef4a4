//! What earlier revisions had, and this one has not.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::judge::{Of as _, served};
use super::{discover, each, modern_only};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Verdict, expect};
use crate::wire::http::Connection;
use crate::wire::sse::Events;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-session-ignored", Http, sessions).last(),
    server_check!("server-http-last-event-ignored", Http, last_event),
    server_check!("server-http-no-old-transport", Http, old_transport),
];

async fn sessions(cx: Cx) -> Verdict {
    modern_only(&cx)?;
    let (_, post) = discover(&cx)?;
    let name = "Mcp-Session-Id";
    let variants = [
        ("abc", post.clone().header(name, "abc")),
        ("twice", post.clone().header(name, "abc").header(name, "def")),
    ];
    each(&cx, variants, served).await?;
    let long = cx.send(&post.header(name, "x".repeat(8 * 1024))).await.of("8 KiB")?;
    if long.status() != Some(431) {
        served(&long).of("8 KiB")?;
    }
    let all = cx.record.all();
    let minted = all.iter().find_map(|noted| noted.head.as_ref()?.get(name));
    expect(minted.is_none(), "no Mcp-Session-Id in any answer", minted.unwrap_or_default())
}

async fn last_event(cx: Cx) -> Verdict {
    modern_only(&cx)?;
    let (_, post) = discover(&cx)?;
    each(&cx, [("a discover", post.clone().header("Last-Event-ID", "1"))], served).await?;
    if cx.tool("test_tool_with_progress").is_ok() {
        let message = cx.call("test_tool_with_progress", json!({})).meta("progressToken", "again");
        let post = cx.post(&message)?.header("Last-Event-ID", "1");
        let reply = cx.open_post(&post, message.id()).await?.finish().await.of("a call")?;
        served(&reply).of("a call")?;
    }
    let get = post.method("GET").body("").header("Last-Event-ID", "1");
    let head = cx.open_post(&get, &Value::Null).await?.head.unwrap_or_default();
    expect(head.status() == 405, "GET: status 405", head.line)
}

async fn old_transport(cx: Cx) -> Verdict {
    let path = &cx.endpoint()?.path;
    let beside = format!("{}/sse", path.rsplit_once('/').map_or("", |(folder, _)| folder));
    let (_, post) = discover(&cx)?;
    let get = post.method("GET").body("").set("Accept", "text/event-stream");
    for target in [path.clone(), beside] {
        let mut connection = cx.connect().await?;
        connection.send(&get.clone().target(&*target).encode()).await?;
        let first = timeout(Duration::from_secs(2), first_event(&mut connection)).await;
        let first = first.ok().flatten();
        let expected = format!("GET {target}: no event {:?}", "endpoint");
        expect(first.as_deref() != Some("endpoint"), expected, first.unwrap_or_default())?;
    }
    Ok(())
}

/// The name of the first event, if a stream comes that has one.
async fn first_event(connection: &mut Connection) -> Option<String> {
    let head = connection.final_head().await.ok()?;
    if head.media_type() != "text/event-stream" {
        return None;
    }
    let (mut framing, mut events) = (Connection::framing(&head), Events::default());
    while let Some(piece) = connection.piece(&mut framing).await.ok()? {
        if let Some(event) = events.push(&piece).into_iter().next() {
            return event.name;
        }
    }
    None
}
