//! Much at once, much in one, and little at a time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::judge::served;
use super::{SETTLE, alive, discover, memory};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::http::Connection;
use crate::wire::{Open, Post, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-parallel", Http, parallel).alone(),
    server_check!("server-http-slow-peer", Http, slow).alone(),
    server_check!("server-http-large-body", Http, large).alone(),
];

const MIB: usize = 1024 * 1024;

async fn parallel(cx: Cx) -> Verdict {
    let mut lanes = JoinSet::new();
    for _ in 0..32 {
        lanes.spawn(lane(cx.clone()));
    }
    all(lanes).await
}

/// Waits for all of them, and tells of the first that failed.
async fn all(mut tasks: JoinSet<Verdict>) -> Verdict {
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Stop::lost(error.to_string()))??;
    }
    Ok(())
}

/// Eight discovers on one connection, one after the other or, over HTTP/2, all at once.
async fn lane(cx: Cx) -> Verdict {
    if cx.is_http2() {
        let (h2, scheme) = (Arc::new(cx.connect_h2().await?), cx.endpoint()?.scheme());
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let (h2, (message, post)) = (Arc::clone(&h2), discover(&cx)?);
            tasks.spawn(async move {
                let open = Open::http2(h2.send(&post, scheme).await?, message.id().clone());
                is_its_own(&open.finish().await?, message.id())
            });
        }
        return all(tasks).await;
    }
    let mut connection = cx.connect().await?;
    for _ in 0..8 {
        let (message, post) = discover(&cx)?;
        connection.send(&post.encode()).await?;
        let reply = Reply::read(&mut connection).await?;
        is_its_own(&reply, message.id())?;
        if reply.closes() {
            connection = cx.connect().await?;
        }
    }
    Ok(())
}

fn is_its_own(reply: &Reply, id: &serde_json::Value) -> Verdict {
    served(reply)?;
    let is_own = reply.response()?.get("id") == Some(id) && reply.messages.len() == 1;
    expect(is_own, format!("the answer with the id {id}, and nothing else"), reply.told())
}

async fn slow(cx: Cx) -> Verdict {
    let (hurry, hurried) = watch::channel(());
    let mut slow = JoinSet::new();
    let mut held = Vec::new();
    for _ in 0..10 {
        slow.spawn(trickled(cx.clone(), hurried.clone()));
        let bytes = discover(&cx)?.1.encode();
        for kept in [b"}}}".len() + 20, 100] {
            let (begin, _) = bytes.split_at(bytes.len() - kept);
            held.push(cx.connect().await?);
            if let Some(connection) = held.last_mut() {
                connection.send(begin).await?;
            }
        }
        let body_less = head_of(&discover(&cx)?.1);
        held.push(cx.connect().await?);
        if let Some(connection) = held.last_mut() {
            connection.send(&body_less).await?;
        }
    }
    let wanted = json!({ "toolsListChanged": true });
    let listen = cx.request("subscriptions/listen").param("notifications", wanted);
    let mut unread = cx.connect().await?;
    unread.send(&cx.post(&listen)?.encode()).await?;
    for _ in 0..50 {
        let reply = cx.ask(&cx.request("server/discover")).await;
        reply.and_then(|reply| served(&reply)).of("a discover beside slow ones")?;
    }
    drop((held, unread, hurry));
    all(slow).await.of("a slow discover")
}

/// A request without its body, which it announces.
fn head_of(post: &Post) -> Vec<u8> {
    let (bytes, body) = (post.encode(), post.parts().3.len());
    bytes.split_at(bytes.len() - body).0.to_vec()
}

/// A discover, a byte at a time until there is a hurry. Who waits no longer says so, or closes.
async fn trickled(cx: Cx, mut hurried: watch::Receiver<()>) -> Verdict {
    let bytes = discover(&cx)?.1.encode();
    let mut connection = cx.connect().await?;
    let mut rest = bytes.chunks(1);
    while timeout(Duration::from_millis(200), hurried.changed()).await.is_err() {
        let Some(byte) = rest.next() else { break };
        connection.send(byte).await?;
    }
    connection.send(&rest.flatten().copied().collect::<Vec<_>>()).await?;
    match Reply::read(&mut connection).await {
        Ok(reply) if reply.status() != Some(408) => served(&reply),
        _ => Ok(()),
    }
}

async fn large(cx: Cx) -> Verdict {
    let before = memory::peak(cx.endpoint()?);
    let (_, post) = discover(&cx)?;
    let bare = post.clone().without_length();
    let vast = bare.clone().header("Content-Length", (10 * 1024 * MIB).to_string());
    announced(&cx, &vast.clone().body(""), 0).await.of("10 GiB announced")?;
    announced(&cx, &vast.body(""), 1).await.of("10 GiB announced, and 1 MiB sent")?;
    let chunks = bare.header("Transfer-Encoding", "chunked").body("");
    endless(&cx, &chunks).await.of("chunks without end")?;
    let long = post.clone().header("X-Long", vec![b'x'; MIB]);
    let many = (0..10_000).fold(post, |post, at| post.header(&format!("X-Many-{at}"), "x"));
    for (name, post) in [("a header of 1 MiB", long), ("10000 headers", many)] {
        let mut connection = cx.connect().await?;
        connection.send(&post.encode()).await?;
        if let Some(reply) = said(&mut connection, cx.patience).await {
            cx.warnings.unless(!is_served(&reply), format!("{name}: a refusal"), reply.told());
            expect(
                is_served(&reply) || is_refusal(&reply),
                format!("{name}: a refusal"),
                reply.told(),
            )?;
        }
        alive(&cx).await.of(name)?;
    }
    let after = memory::peak(cx.endpoint()?);
    if let (Some(before), Some(after)) = (before, after) {
        let grown = after.saturating_sub(before) / MIB;
        cx.warnings.unless(grown < 512, "less than 512 MiB of memory more", format!("{grown} MiB"));
    }
    Ok(())
}

/// A body that is announced and does not come, but for `sent` MiB: it may be waited for.
async fn announced(cx: &Cx, post: &Post, sent: usize) -> Verdict {
    let mut connection = cx.connect().await?;
    connection.send(&post.encode()).await?;
    connection.pour(&vec![b' '; MIB], sent).await;
    if let Some(reply) = said(&mut connection, SETTLE).await {
        expect(is_refusal(&reply), "a refusal", reply.told())?;
    }
    alive(cx).await
}

async fn endless(cx: &Cx, post: &Post) -> Verdict {
    let mut connection = cx.connect().await?;
    connection.send(&post.encode()).await?;
    let chunk = [format!("{MIB:x}\r\n").as_bytes(), &vec![b' '; MIB], b"\r\n"].concat();
    // One that reads slowly is not waited for.
    let _ = timeout(cx.patience, connection.pour(&chunk, 512)).await;
    if let Some(reply) = said(&mut connection, cx.patience).await {
        expect(is_refusal(&reply), "a refusal", reply.told())?;
    } else {
        let is_closed = connection.is_closed().await;
        cx.warnings.unless(is_closed, "a refusal, or a closed connection", "it reads on");
    }
    alive(cx).await
}

/// What the peer says within that time. Nothing, too, if it has closed the connection.
async fn said(connection: &mut Connection, within: Duration) -> Option<Reply> {
    timeout(within, Reply::read(connection)).await.ok()?.ok()
}

fn is_served(reply: &Reply) -> bool {
    served(reply).is_ok()
}

fn is_refusal(reply: &Reply) -> bool {
    reply.status().is_some_and(|status| matches!(status, 400..=499 | 501 | 503))
}
