//! A stream that its reader closes is a request cancelled.

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::alive;
use super::judge::served;
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::h2::{Frame, H2};
use crate::wire::http::Connection;
use crate::wire::json::at;
use crate::wire::{Message, Open, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-disconnect", Http, disconnects).alone(),
    server_check!("server-http-disconnect-stops", Http, stops),
    server_check!("server-http-h2-reset", Http, resets),
];

const TOOL: &str = "test_tool_with_progress";

/// A call that reports its progress.
fn reporting(cx: &Cx) -> Verdict<Message> {
    cx.tool(TOOL)?;
    Ok(cx.call(TOOL, json!({})).meta("progressToken", "left"))
}

async fn disconnects(cx: Cx) -> Verdict {
    let message = reporting(&cx)?;
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let (cx, message) = (cx.clone(), message.clone());
        tasks.spawn(async move { cx.open(&message).await?.next().await });
    }
    while let Some(left) = tasks.join_next().await {
        left.map_err(|error| Stop::lost(error.to_string()))??;
    }
    alive(&cx).await?;
    let post = cx.post(&message)?.encode();
    if !cx.is_http2() && cx.endpoint()?.scheme() == "http" {
        let stream = TcpStream::connect(&*cx.endpoint()?.address).await;
        let stream = stream.map_err(|error| Stop::lost(error.to_string()))?;
        stream.set_zero_linger().map_err(|error| Stop::lost(error.to_string()))?;
        let mut connection = Connection::over(Box::new(stream), &cx.log, cx.patience);
        connection.send(&post).await?;
        connection.final_head().await?;
        drop(connection);
        alive(&cx).await.of("a reset")?;
    }
    if !cx.is_http2() {
        let mut connection = cx.connect().await?;
        connection.send(&post).await?;
        connection.shutdown().await;
        // One that takes it for a disconnect has nothing to say any more.
        if let Ok(reply) = Reply::read(&mut connection).await {
            served(&reply).of("only the sending side is closed")?;
        }
        alive(&cx).await.of("a closed sending side")?;
    }
    served(&cx.ask(&message).await?).of("the same call once more")
}

/// What works on without anybody to read it can be counted.
async fn stops(cx: Cx) -> Verdict {
    for tool in ["test_slow", "test_slow_running"] {
        cx.tool(tool)?;
    }
    let call = cx.call("test_slow", json!({ "ms": 600_000 })).meta("progressToken", "slow");
    let post = cx.post(&call)?;
    let patience = cx.patience;
    // Its answer may begin at its end alone, so that whoever waits for the head would wait for all of it.
    let of_call = cx.clone();
    let task =
        tokio::spawn(async move { of_call.open_post(&post, &Value::Null).await?.finish().await });
    let waited = until(patience, || async { Ok(running(&cx).await? > 0) }).await?;
    expect(waited, "a call under way", "test_slow_running says that there is none")?;
    task.abort();
    let stopped = until(patience, || async { Ok(running(&cx).await? == 0) }).await?;
    expect(stopped, "an end of the work", format!("it is still under way after {patience:?}"))
}

async fn running(cx: &Cx) -> Verdict<u64> {
    let reply = cx.ask(&cx.call("test_slow_running", json!({}))).await?;
    let text = at(reply.result()?, "/content/0/text").as_str().and_then(|it| it.parse().ok());
    text.ok_or_else(|| Stop::fail("a number, as a text", reply.told()))
}

/// Asks again until it is so; whether that came within `time`.
async fn until<F: Future<Output = Verdict<bool>>>(
    time: std::time::Duration,
    mut ask: impl FnMut() -> F,
) -> Verdict<bool> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if ask().await? {
            return Ok(true);
        }
        sleep(std::time::Duration::from_millis(20)).await;
    }
    Ok(false)
}

async fn resets(cx: Cx) -> Verdict {
    let (left, kept) = (reporting(&cx)?, reporting(&cx)?);
    let scheme = cx.endpoint()?.scheme();
    let unspoken = "the server does not speak HTTP/2 unasked";
    let Ok(mut h2) = cx.connect_h2().await else { return Err(Stop::skip(unspoken)) };
    if ask(&cx, &h2, &cx.request("server/discover")).await.is_err() {
        return Err(Stop::skip(unspoken));
    }
    let mut stream = h2.send(&cx.post(&left)?, scheme).await?;
    let beside = h2.send(&cx.post(&kept)?, scheme).await?;
    let id = stream.id();
    stream.piece().await?;
    drop(stream);
    // The first may overtake the reset; the second cannot.
    h2.ping().await?;
    h2.ping().await?;
    let before = h2.frames().len();
    served(&ask(&cx, &h2, &cx.request("server/discover")).await?).of("a discover beside it")?;
    served(&Open::http2(beside, kept.id().clone()).finish().await?).of("another stream")?;
    let frames = h2.frames();
    let late = frames.iter().skip(before).find(|frame| frame.is_message() && frame.stream == id);
    let seen = late.map(Frame::to_string).unwrap_or_default();
    expect(late.is_none(), "nothing more on a stream that was reset", seen)
}

async fn ask(cx: &Cx, h2: &H2, message: &Message) -> Verdict<Reply> {
    let stream = h2.send(&cx.post(message)?, cx.endpoint()?.scheme()).await?;
    Open::http2(stream, message.id().clone()).finish().await
}
