//! Clients that do not read what they asked for.

use std::time::Duration;

use http_body_util::BodyExt;
use mcp_server::types::LoggingLevel;
use mcp_server::{Log, Tool};
use serde_json::json;

use crate::support::{
    Bell, H2, Post, Running, builder, h2_request, limits, ok, tool_text, watched,
};

/// A reader that reads nothing costs a bounded queue: the newest of what was said waits, the rest is gone, and the
/// handler is never held up.
#[tokio::test]
async fn an_unread_stream_is_bounded() {
    const LOGS: usize = 20_000;
    let finished = Bell::new();
    let ring = finished.clone();
    let tool = Tool::new("floods", move |log: Log| {
        let finished = ring.clone();
        async move {
            let text = "x".repeat(1024);
            for n in 0..LOGS {
                assert!(log.send(LoggingLevel::Info, &json!({ "n": n, "text": text })));
                tokio::task::yield_now().await;
            }
            finished.ring();
            "ok"
        }
    });
    let running = Running::build(builder().tool(tool).tool(ok())).await;
    let mut conn = running.connect().await;
    conn.send(&Post::listening("floods").bytes()).await;
    // It ends without its reader.
    finished.rung().await;
    assert_eq!(running.ask(&Post::listening("ok")).await.tool_text(), "ok", "others are served");
    conn.stream().await;
    let events = conn.events().await;
    // 20 MB were said. What sockets hold is some MB, what the server holds is 64 events.
    assert!(events.len() < LOGS, "everything was kept: {}", events.len());
    let n: Vec<_> =
        events.iter().filter_map(|event| event["params"]["data"]["n"].as_u64()).collect();
    assert!(n.is_sorted() && n.last() == Some(&(LOGS as u64 - 1)), "the newest are kept");
    assert_eq!(tool_text(events.last().unwrap()), "ok");
}

/// A reader that stalls loses the stream, and its handler is dropped, whether it talks on or not.
#[tokio::test]
async fn a_stalled_reader_loses_the_stream() {
    let (flag, mut dropped) = watched();
    let floods = flag.clone();
    let floods = Tool::new("floods", move |log: Log| {
        let flag = floods();
        async move {
            let _flag = flag;
            let text = "x".repeat(64 * 1024);
            loop {
                log.send(LoggingLevel::Info, &text);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            #[expect(unreachable_code, reason = "says what it would return")]
            "never"
        }
    });
    let stops = Tool::new("stops", move |log: Log| {
        let flag = flag();
        async move {
            let _flag = flag;
            let text = "x".repeat(64 * 1024);
            for _ in 0..1000 {
                log.send(LoggingLevel::Info, &text);
                tokio::task::yield_now().await;
            }
            std::future::pending::<String>().await
        }
    });
    let stall = limits(|limits| limits.write_stall = Duration::from_millis(100));
    let running = Running::build(builder().tools([floods, stops, ok()]).limits(stall)).await;
    for tool in ["floods", "stops"] {
        let mut conn = running.connect().await;
        conn.send(&Post::listening(tool).bytes()).await;
        dropped.dropped().await;
        assert_eq!(
            running.ask(&Post::listening("ok")).await.tool_text(),
            "ok",
            "others are served"
        );
        // What was written before can still be read; then it is over, without an end.
        let rest = conn.closed().await;
        assert!(!rest.ends_with(b"0\r\n\r\n"));
    }
}

/// A large answer that nobody reads does not keep its connection for ever.
#[tokio::test]
async fn a_stalled_reader_of_json_loses_the_connection() {
    let large = Tool::new("large", async || "x".repeat(32 << 20));
    let stall = limits(|limits| limits.write_stall = Duration::from_millis(100));
    let server = builder().tool(large).limits(stall).build().unwrap();
    let mut running = Running::start_with(server, |serve| serve.drain_time(Duration::MAX)).await;
    let mut conn = running.connect().await;
    conn.send(&Post::listening("large").bytes()).await;
    conn.head().await;
    // The server cannot end before the connection does.
    running.shut_down();
    running.ended().await.unwrap();
    assert!(conn.closed().await.len() < 32 << 20);
}

/// A peer that reads other streams of its connection and not this one: what it does not take is given up, with
/// all that it holds, however the answer travels.
#[tokio::test]
async fn a_stalled_http2_stream_is_given_up() {
    let large = Tool::new("large", async || "x".repeat(16 << 20));
    let stall = limits(|limits| limits.write_stall = Duration::from_millis(100));
    let server = builder().tool(large).limits(stall).build().unwrap();
    for accept in ["application/json", "text/event-stream"] {
        let patient = |serve: mcp_server::Serve| serve.drain_time(Duration::MAX);
        let mut running = Running::start_with(server.clone(), patient).await;
        let mut h2 = H2::open(running.addr).await;
        let post = Post::call("large", json!({})).set("Accept", accept);
        let unread = h2.send(h2_request("localhost", &post)).await.unwrap();
        // The server cannot end before the stream does.
        running.shut_down();
        running.ended().await.unwrap();
        drop(unread);
    }
}

/// A large answer arrives whole where somebody reads it, in whatever pieces it was handed out.
#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let large = Tool::new("large", async || "x".repeat(1 << 20));
    let running = Running::build(builder().tool(large)).await;
    for accept in ["application/json", "text/event-stream"] {
        let post = Post::call("large", json!({})).set("Accept", accept);
        assert_eq!(running.ask(&post).await.tool_text().len(), 1 << 20);
        let mut h2 = H2::open(running.addr).await;
        let response = h2.send(h2_request("localhost", &post)).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.len() > 1 << 20, "{}", body.len());
    }
}

/// A small answer that is not taken, and a stream that was only opened, are given up like large ones, and others
/// find a place.
#[tokio::test]
async fn a_closed_window_holds_no_places() {
    let small = Tool::new("small", async || "x".repeat(50_000));
    let limits = limits(|limits| {
        limits.write_stall = Duration::from_millis(100);
        limits.exchanges = 2;
    });
    let running = Running::build(builder().tool(small).tool(ok()).limits(limits)).await;
    let mut h2 = H2::open_with_window(running.addr, 0).await;
    let call = h2_request("localhost", &Post::call("small", json!({})));
    let first = h2.send(call.clone()).await.unwrap();
    let second = h2.send(call).await.unwrap();
    let ok = Post::call("ok", json!({}));
    // Bounded by the test runner alone: sooner or later both places are free again.
    while running.ask(&ok).await.status == 503 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop((first, second));
}

/// A handler that computes for longer than a reader may stall is no stalled reader.
#[tokio::test]
async fn a_handler_that_computes_is_no_stalled_reader() {
    let tool = Tool::new("computes", async |log: Log| {
        log.send(LoggingLevel::Info, "before");
        std::thread::sleep(Duration::from_millis(150));
        log.send(LoggingLevel::Info, "after");
        "done"
    });
    let limits = limits(|limits| limits.write_stall = Duration::from_millis(20));
    let running = Running::build(builder().tool(tool).limits(limits)).await;
    let events = running.ask(&Post::listening("computes")).await.events();
    assert_eq!(events.len(), 3);
    assert_eq!(tool_text(&events[2]), "done");
}
