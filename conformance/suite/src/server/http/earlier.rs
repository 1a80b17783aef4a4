//! What earlier revisions had, and this one has not.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::judge::served;
use super::{discover, each, modern_only};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Verdict, expect};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-session-ignored", Http, sessions).last(),
    server_check!("server-http-last-event-ignored", Http, last_event),
    server_check!("server-http-no-old-transport", Http, old_transport),
];

async fn sessions(cx: Cx) -> Verdict {
    modern_only(&cx).await?;
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
    modern_only(&cx).await?;
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
        let mut open = cx.open_post(&get.clone().target(&*target), &Value::Null).await?;
        let first = timeout(Duration::from_secs(2), open.event()).await;
        let name = first.ok().and_then(Result::ok).flatten().and_then(|event| event.name);
        let expected = format!("GET {target}: no event {:?}", "endpoint");
        expect(name.as_deref() != Some("endpoint"), expected, name.unwrap_or_default())?;
    }
    Ok(())
}
