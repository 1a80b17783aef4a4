//! Serving: both versions of HTTP, many clients at once, and an end in good order.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::BodyExt;
use mcp_server::{Progress, ServeError, Tool};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{
    Bell, Flag, H2, Post, Running, builder, h2_request, meta, ok, server, tool_text, watched,
    within,
};

/// A tool that rings when it begins and answers when it may, streaming if it is asked to.
fn waits(begun: &Bell, go: &Bell, flag: impl Fn() -> Flag + Send + Sync + 'static) -> Tool {
    let (begun, go) = (begun.clone(), go.clone());
    Tool::new("waits", move |progress: Progress| {
        let (begun, go, flag) = (begun.clone(), go.clone(), flag());
        async move {
            let _flag = flag;
            progress.report(1);
            begun.ring();
            go.wait().await;
            progress.report(2);
            "done"
        }
    })
}

fn call(streams: bool) -> Post {
    let mut meta = meta();
    if streams {
        meta["progressToken"] = json!(1);
    }
    Post::rpc("tools/call", json!({ "name": "waits", "_meta": meta }))
}

/// However long it takes: no test waits for the end of it.
async fn start_patient(tools: impl IntoIterator<Item = Tool>) -> Running {
    Running::start_with(server(tools), |serve| serve.drain_time(Duration::MAX)).await
}

/// What is under way at the signal ends in its own time; what is idle, or has never spoken, is closed at once.
#[tokio::test]
async fn shutting_down_drains_what_is_under_way() {
    for streams in [false, true] {
        let (begun, go) = (Bell::new(), Bell::new());
        let (flag, mut dropped) = watched();
        let mut running = start_patient([waits(&begun, &go, flag), ok()]).await;
        let mut idle = running.connect().await;
        assert_eq!(idle.ask(&Post::call("ok", json!({}))).await.status, 200);
        let mut silent = running.connect().await;
        let mut busy = running.connect().await;
        busy.send(&call(streams).bytes()).await;
        begun.rung().await;
        running.shut_down();
        assert_eq!(idle.closed().await, b"");
        assert_eq!(silent.closed().await, b"");
        let refused = within(TcpStream::connect(running.addr)).await;
        assert!(refused.is_err(), "the listener is closed");
        // Long enough for a server that does not wait to have gone.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(dropped.none_dropped());
        go.ring();
        let reply = busy.reply().await;
        assert_eq!(reply.is_stream(), streams);
        assert_eq!(reply.tool_text(), "done");
        if streams {
            assert_eq!(reply.events().len(), 3);
        }
        busy.closed().await;
        running.ended().await.unwrap();
        dropped.dropped().await;
    }
}

#[tokio::test]
async fn shutting_down_drains_http2() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let mut running = start_patient([waits(&begun, &go, flag)]).await;
    let _idle = H2::open(running.addr).await;
    let mut h2 = H2::open(running.addr).await;
    let busy = tokio::spawn(h2.begin(h2_request("localhost", &call(false))));
    begun.rung().await;
    running.shut_down();
    tokio::time::sleep(Duration::from_millis(50)).await;
    go.ring();
    let response = within(busy).await.unwrap().unwrap();
    let body = within(response.into_body().collect()).await.unwrap().to_bytes();
    assert_eq!(tool_text(&serde_json::from_slice(&body).unwrap()), "done");
    running.ended().await.unwrap();
}

/// Draining is bounded: what is not done by then is cut off, its handler dropped.
#[tokio::test]
async fn draining_takes_no_longer_than_it_may() {
    for limit in [Duration::ZERO, Duration::from_millis(50)] {
        for streams in [false, true] {
            let (begun, go) = (Bell::new(), Bell::new());
            let (flag, mut dropped) = watched();
            let server = server([waits(&begun, &go, flag)]);
            let mut running = Running::start_with(server, |serve| serve.drain_time(limit)).await;
            let mut conn = running.connect().await;
            conn.send(&call(streams).bytes()).await;
            begun.rung().await;
            running.shut_down();
            running.ended().await.unwrap();
            dropped.dropped().await;
            let rest = conn.closed().await;
            assert!(!rest.ends_with(b"0\r\n\r\n"), "a stream that is cut off has no end");
        }
    }
}

#[tokio::test]
async fn a_signal_may_come_at_any_time() {
    let server = server([ok()]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    within(server.clone().serve_with(listener).shutdown_on(std::future::ready(())).into_future())
        .await
        .unwrap();
    // And while the server has no room for a connection.
    let full = builder()
        .tool(ok())
        .limits(crate::support::limits(|limits| limits.connections = 1))
        .build()
        .unwrap();
    let mut running = Running::start(full).await;
    let mut conn = running.connect().await;
    assert_eq!(conn.ask(&Post::call("ok", json!({}))).await.status, 200);
    running.shut_down();
    running.ended().await.unwrap();
}

/// On an address that others can reach, somebody has to say under which names.
#[tokio::test]
async fn a_public_address_needs_hosts() {
    for addr in ["0.0.0.0:0", "[::]:0"] {
        match within(server([ok()]).serve(addr).into_future()).await.unwrap_err() {
            ServeError::PublicWithoutHosts(found) => assert!(found.ip().is_unspecified()),
            // There may be no IPv6 here.
            ServeError::Bind { .. } if addr.starts_with('[') => {}
            error => panic!("{error}"),
        }
    }
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = within(server([ok()]).serve_with(listener).into_future()).await.unwrap_err();
    assert!(
        matches!(error, ServeError::PublicWithoutHosts(_)) && error.to_string().contains(".hosts(")
    );
    for named in [builder().hosts(["mcp.example"]), builder().danger_allow_any_host()] {
        let serve = named.build().unwrap().serve("0.0.0.0:0").shutdown_on(std::future::ready(()));
        within(serve.into_future()).await.unwrap();
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_had_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr: SocketAddr = taken.local_addr().unwrap();
    for error in [
        within(server([ok()]).serve(addr).into_future()).await.unwrap_err(),
        within(server([ok()]).serve("nowhere").into_future()).await.unwrap_err(),
        within(server([ok()]).serve(&[][..] as &[SocketAddr]).into_future()).await.unwrap_err(),
    ] {
        assert!(matches!(error, ServeError::Bind { .. }), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

/// Everything works over HTTP/2 as well.
#[tokio::test]
async fn http2_without_tls() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let running = Running::start(server([waits(&begun, &go, flag), ok()])).await;
    let mut h2 = H2::open(running.addr).await;
    for (post, status) in [
        (Post::call("ok", json!({})), 200),
        (Post::rpc("tools/list", json!({})), 200),
        (Post::rpc("no/such", json!({})), 404),
        (Post::call("ok", json!({})).remove("Mcp-Name"), 400),
        (Post::call("ok", json!({})).set("Content-Type", "text/plain"), 415),
        (Post::bare(r#"{"jsonrpc":"2.0","method":"a"}"#), 202),
    ] {
        assert_eq!(h2.send(h2_request("localhost", &post)).await.unwrap().status(), status);
    }
    // A stream, its first event there before its last is made (T11).
    let mut response = h2.send(h2_request("localhost", &call(true))).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let first = within(response.body_mut().frame()).await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"data: {") && first.ends_with(b"\n\n"), "{first:?}");
    go.ring();
    let rest = within(response.into_body().collect()).await.unwrap().to_bytes();
    assert!(rest.windows(4).any(|found| found == b"done"), "{rest:?}");
}

/// A payment under way is waited for even when nobody else waits for it.
#[tokio::test]
async fn shutting_down_waits_for_what_runs_to_completion() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let pays = waits(&begun, &go, flag).run_to_completion();
    let mut running = start_patient([pays]).await;
    let mut conn = running.connect().await;
    conn.send(&call(false).bytes()).await;
    begun.rung().await;
    drop(conn);
    running.shut_down();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(dropped.none_dropped(), "it is still at work");
    go.ring();
    running.ended().await.unwrap();
    assert!(!dropped.none_dropped(), "it came to its end before the server did");
}

/// A peer that only answers pings does not hold its connection for ever; one with a call under way does.
#[tokio::test]
async fn idle_http2_connections_are_closed() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let limits = crate::support::limits(|limits| {
        limits.header_time = Duration::from_millis(300);
        limits.connections = 2;
    });
    let running =
        Running::build(builder().tool(waits(&begun, &go, flag)).tool(ok()).limits(limits)).await;
    let mut busy = H2::open(running.addr).await;
    let under_way = tokio::spawn(busy.begin(h2_request("localhost", &call(false))));
    begun.rung().await;
    let _idle = H2::open(running.addr).await;
    let ok = Post::call("ok", json!({}));
    // There is no third place until the idle one is gone.
    assert_eq!(running.ask(&ok).await.status, 200);
    go.ring();
    assert_eq!(under_way.await.unwrap().unwrap().status(), 200);
}
