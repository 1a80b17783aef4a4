//! The body as far as bytes go: how many are taken, and for how long.

use std::time::Duration;

use mcp_server::{Args, Limits, Progress, Tool};
use serde_json::{Value, json};

use crate::support::{Conn, H2, Post, Running, builder, h2_request, limits, message, ok, within};

/// A call that succeeds.
fn call() -> Post {
    Post::call("ok", json!({}))
}

async fn start() -> Running {
    Running::build(builder().tool(ok())).await
}

async fn limited(change: impl FnOnce(&mut Limits)) -> Running {
    Running::build(builder().tool(ok()).limits(limits(change))).await
}

/// T12: exactly at the limit, one over, by its length and in chunks.
#[tokio::test]
async fn bodies_are_bounded() {
    let text = message("1", "tools/call", json!({ "name": "ok", "arguments": {} }));
    let limit = text.len() + 1000;
    let running = limited(|limits| limits.body = limit).await;
    let sized = |size: usize| call().body(text.clone() + &" ".repeat(size - text.len()));
    for (size, status) in [(limit, 200), (limit + 1, 413)] {
        for bytes in [
            sized(size).bytes(),
            sized(size).chunked(1),
            sized(size).chunked(600),
            sized(size).chunked(size),
        ] {
            let mut conn = running.connect().await;
            conn.send(&bytes).await;
            let reply = conn.reply().await;
            assert_eq!(reply.status, status);
            if status == 413 {
                assert_eq!((reply.code(), reply.message().get("id")), (Some(-32600), None));
            }
        }
    }
    // Nothing of a body that is too long is waited for, nor is there room made for it.
    for length in ["1000000", "18446744073709551613"] {
        let mut conn = running.connect().await;
        conn.send(&call().set("Content-Length", length).head()).await;
        let reply = conn.reply().await;
        assert_eq!(reply.status, 413, "{length}");
        assert_eq!(reply.field("connection"), Some("close"));
        conn.closed().await;
    }
    let mut h2 = H2::open(running.addr).await;
    for (size, status) in [(limit, 200), (limit + 1, 413)] {
        let response = h2.send(h2_request("localhost", &sized(size))).await.unwrap();
        assert_eq!(response.status(), status);
    }
    assert_eq!(
        h2.send(h2_request("localhost", &call())).await.unwrap().status(),
        200,
        "others live"
    );
}

/// T13: characters may be split between pieces of a body, wherever its bytes are.
#[tokio::test]
async fn a_body_may_be_split_within_a_character() {
    let echo = Tool::new("echo", async |Args(arguments): Args<Value>| arguments["a"].to_string());
    let running =
        Running::build(builder().tool(echo.input_schema(json!({ "type": "object" })))).await;
    let text = "ü☃𝄞é".repeat(20);
    let post = Post::call("echo", json!({ "a": text }));
    for size in 1..6 {
        let mut conn = running.connect().await;
        conn.send(&post.chunked(size)).await;
        assert_eq!(conn.reply().await.tool_text(), json!(text).to_string(), "{size}");
    }
    let bytes = post.bytes();
    let inside = bytes.len() - 21;
    assert!(!post.content().is_ascii());
    for at in inside - 4..inside + 4 {
        let mut conn = running.connect().await;
        conn.send(&bytes[..at]).await;
        // So that the server has read what is there before the rest comes.
        tokio::time::sleep(Duration::from_millis(5)).await;
        conn.send(&bytes[at..]).await;
        assert_eq!(conn.reply().await.tool_text(), json!(text).to_string(), "{at}");
    }
}

/// T12: an endless body is answered while it still comes.
#[tokio::test]
async fn an_endless_body_is_refused_as_it_comes() {
    let running = limited(|limits| limits.body = 100_000).await;
    let mut conn = running.connect().await;
    conn.send(&call().set("Transfer-Encoding", "chunked").head()).await;
    let chunk = [b"1000\r\n", &[b' '; 0x1000][..], b"\r\n"].concat();
    let (mut reading, mut writing) = conn.stream.split();
    let endless = async {
        use tokio::io::AsyncWriteExt;
        while writing.write_all(&chunk).await.is_ok() {}
        std::future::pending::<()>().await
    };
    let answered = async {
        use tokio::io::AsyncReadExt;
        let mut answer = [0; 12];
        reading.read_exact(&mut answer).await.unwrap();
        answer
    };
    let answer = within(async {
        tokio::select! {
            answer = answered => answer,
            () = endless => unreachable!(),
        }
    });
    assert_eq!(&answer.await, b"HTTP/1.1 413");
}

/// T12, T13: lengths that lie, and clients that leave in the middle, harm nobody.
#[tokio::test]
async fn lengths_that_lie() {
    let running = start().await;
    let whole = call().bytes();
    let length = call().content().len();
    // Cut off at every place.
    for at in (0..whole.len()).step_by(7) {
        let mut conn = running.connect().await;
        conn.send(&whole[..at]).await;
        drop(conn);
    }
    // Less than announced, then the end of what the client sends.
    let mut conn = running.connect().await;
    conn.send(&call().set("Content-Length", &(length + 5).to_string()).bytes()).await;
    within(tokio::io::AsyncWriteExt::shutdown(&mut conn.stream)).await.unwrap();
    let rest = conn.closed().await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
    // More than announced: what is over is the next request, and none.
    let mut conn = running.connect().await;
    conn.send(&call().set("Content-Length", &(length - 1).to_string()).bytes()).await;
    let reply = conn.reply().await;
    assert_eq!((reply.status, reply.code()), (400, Some(-32700)));
    conn.closed().await;
    // Framing that two readers would read in two ways.
    for framing in [
        &[("Content-Length", "5"), ("Content-Length", "6")][..],
        &[("Content-Length", "-1")],
        &[("Content-Length", "+5")],
        &[("Content-Length", "0x5")],
        &[("Transfer-Encoding", "gzip")],
        &[("Transfer-Encoding", "chunked, identity")],
    ] {
        let post = framing.iter().fold(call(), |post, (name, value)| post.add(name, value));
        let mut conn = running.connect().await;
        conn.send(&post.bytes()).await;
        let answer = String::from_utf8_lossy(&conn.closed().await).into_owned();
        assert!(!answer.contains(" 200 "), "{framing:?}: {answer}");
    }
    assert_eq!(running.ask(&call()).await.status, 200, "others live");
}

#[tokio::test]
async fn a_slow_body_is_answered_with_408() {
    let running = limited(|limits| limits.body_time = Duration::from_millis(50)).await;
    for (bytes, half) in [(call().bytes(), 20), (call().chunked(10), 30)] {
        let mut conn = running.connect().await;
        conn.send(&bytes[..bytes.len() - half]).await;
        let reply = conn.reply().await;
        assert_eq!((reply.status, reply.code()), (408, Some(-32600)));
        assert_eq!(reply.field("connection"), Some("close"));
        conn.closed().await;
    }
}

/// A client that asks first is told to go on, or not.
#[tokio::test]
async fn who_asks_before_sending_is_answered() {
    let running = limited(|limits| limits.body = 1000).await;
    let mut conn = running.connect().await;
    let post = call().add("Expect", "100-continue");
    conn.send(&post.head()).await;
    let go_on = conn.interim().await;
    assert_eq!(go_on, "HTTP/1.1 100 Continue\r\n\r\n");
    conn.send(post.content()).await;
    assert_eq!(conn.reply().await.status, 200);
    for (refused, status) in [
        (post.clone().set("Content-Length", "1001"), 413),
        (post.clone().set("Host", "evil.example"), 403),
        (post.set("Content-Type", "text/plain"), 415),
    ] {
        let mut conn = running.connect().await;
        conn.send(&refused.head()).await;
        assert_eq!(conn.reply().await.status, status);
    }
}

/// A server with everything at its widest still serves.
#[tokio::test]
async fn limits_may_be_as_large_as_their_types() {
    let wide: fn(&mut Limits) = |limits| {
        limits.body = usize::MAX;
        limits.body_time = Duration::MAX;
        limits.header_time = Duration::MAX;
        limits.call_time = Duration::MAX;
        limits.write_stall = Duration::MAX;
        limits.queued_events = usize::MAX;
        limits.exchanges = usize::MAX;
        limits.exchanges_per_caller = usize::MAX;
        limits.connections = usize::MAX;
    };
    let slow = Tool::new("slow", async |progress: Progress| {
        tokio::task::yield_now().await;
        progress.report(1);
        tokio::task::yield_now().await;
        "ok"
    });
    let running =
        Running::build(builder().tool(slow).keep_alive(Duration::MAX).limits(limits(wide))).await;
    let mut conn = Conn::open(running.addr).await;
    for post in [Post::call("slow", json!({})), Post::listening("slow")] {
        assert_eq!(conn.ask(&post).await.tool_text(), "ok");
    }
}
