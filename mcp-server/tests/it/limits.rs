//! How much may be under way at once, and that what is over is given back.

use std::net::IpAddr;

use mcp_server::{Caller, Limits, Progress, ServerBuilder, Tool};
use serde_json::json;

use crate::support::{
    Bell, Conn, Flag, H2, Post, Reply, Running, builder, h2_request, limits, meta, ok, watched,
    within,
};

/// A tool that rings when it begins and then waits for ever, streaming if it is asked to.
fn hangs(begun: &Bell, flag: impl Fn() -> Flag + Send + Sync + 'static) -> Tool {
    let begun = begun.clone();
    Tool::new("hangs", move |progress: Progress| {
        let (begun, flag) = (begun.clone(), flag());
        async move {
            let _flag = flag;
            progress.report(1);
            begun.ring();
            std::future::pending::<String>().await
        }
    })
}

fn call(streams: bool) -> Post {
    let mut meta = meta();
    if streams {
        meta["progressToken"] = json!(1);
    }
    Post::rpc("tools/call", json!({ "name": "hangs", "_meta": meta }))
}

fn limited(
    begun: &Bell,
    flag: impl Fn() -> Flag + Send + Sync + 'static,
    change: impl FnOnce(&mut Limits),
) -> ServerBuilder {
    builder().tool(hangs(begun, flag)).tool(ok()).limits(limits(change))
}

/// `count` calls that hang.
async fn hang(running: &Running, begun: &Bell, streams: bool, count: usize) -> Vec<Conn> {
    let mut conns = Vec::new();
    for _ in 0..count {
        let mut conn = running.connect().await;
        conn.send(&call(streams).bytes()).await;
        begun.rung().await;
        conns.push(conn);
    }
    conns
}

fn is_refused(reply: &Reply, status: u16) {
    assert_eq!((reply.status, reply.code()), (status, Some(-32600)));
    assert_eq!(reply.field("retry-after"), Some("1"));
    assert_eq!(reply.message().get("id"), None);
}

/// A caller's share first, then everybody's; both for calls that wait and for streams that are open.
#[tokio::test]
async fn what_is_over_the_limit_is_refused() {
    let begun = Bell::new();
    for streams in [false, true] {
        for (status, change) in [
            (429, (|limits: &mut Limits| limits.exchanges_per_caller = 3) as fn(&mut Limits)),
            (503, |limits| limits.exchanges = 3),
        ] {
            let (flag, mut dropped) = watched();
            let running = Running::start(limited(&begun, flag, change).build().unwrap()).await;
            let mut conns = hang(&running, &begun, streams, 3).await;
            let mut conn = running.connect().await;
            is_refused(&conn.ask(&Post::call("ok", json!({}))).await, status);
            // What is no request counts as well, and what is refused for another reason says so.
            is_refused(&conn.ask(&Post::bare(r#"{"jsonrpc":"2.0","method":"a"}"#)).await, status);
            assert_eq!(conn.ask(&call(false).set("Host", "evil.example")).await.status, 403);
            // One leaves, one may come.
            conns.pop();
            dropped.dropped().await;
            assert_eq!(conn.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
            let more = hang(&running, &begun, streams, 1).await;
            is_refused(&conn.ask(&Post::call("ok", json!({}))).await, status);
            drop((conns, more));
            for _ in 0..3 {
                dropped.dropped().await;
            }
            assert_eq!(hang(&running, &begun, streams, 3).await.len(), 3);
        }
    }
}

/// Exchanges that end give their place back, however they end; T13: a client that leaves while it sends included.
#[tokio::test]
async fn every_end_gives_its_place_back() {
    let begun = Bell::new();
    let panics = Tool::new("panics", async || panic!("boom") as String);
    let streams = Tool::new("streams", async |progress: Progress| {
        for n in 0..3 {
            progress.report(n);
            tokio::task::yield_now().await;
        }
        "ok"
    });
    let (flag, _dropped) = watched();
    let server = limited(&begun, flag, |limits| limits.exchanges = 1)
        .tool(panics)
        .tool(streams)
        .build()
        .unwrap();
    let running = Running::start(server).await;
    let mut conn = running.connect().await;
    let named = |name: &str| {
        let mut meta = meta();
        meta["progressToken"] = json!(1);
        Post::rpc("tools/call", json!({ "name": name, "_meta": meta }))
    };
    let table = [
        (named("ok"), 200),
        (named("panics"), 200),
        (named("streams"), 200),
        (named("none"), 400),
        (named("ok").body("{"), 400),
        (Post::bare(r#"{"jsonrpc":"2.0","method":"a"}"#), 202),
        (Post::rpc("server/discover", json!({})), 200),
        (Post::rpc("no/such", json!({})), 404),
        (named("ok").set("Content-Type", "text/plain"), 415),
    ];
    for _ in 0..3 {
        for (post, status) in &table {
            assert_eq!(conn.ask(post).await.status, *status);
        }
    }
    // A client that leaves in the middle of its body.
    let mut leaves = running.connect().await;
    leaves.send(&named("ok").bytes()[..200]).await;
    drop(leaves);
    // It is given back when the server has noticed; there is no other sign of it.
    within(async {
        while conn.ask(&named("ok")).await.status == 503 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Callers are told apart by who they are, else by where they are; over HTTP/2 as well.
#[tokio::test]
async fn callers_have_shares_of_their_own() {
    use http_body_util::Full;
    use tower_service::Service;

    let begun = Bell::new();
    let (flag, _dropped) = watched();
    let server = limited(&begun, flag, |limits| limits.exchanges_per_caller = 1).build().unwrap();
    let mut service = server.service();
    let mut ask = |caller: Option<&str>, post: &Post| {
        let mut request = h2_request("localhost", post);
        if let Some(caller) = caller {
            request.extensions_mut().insert(Caller::new(caller));
        }
        service.call(request.map(Full::from))
    };
    let alice = tokio::spawn(ask(Some("alice"), &call(false)));
    begun.rung().await;
    let ok = Post::call("ok", json!({}));
    for (caller, status) in
        [(Some("alice"), 429), (Some("bob"), 200), (Some("Alice"), 200), (None, 200)]
    {
        assert_eq!(within(ask(caller, &ok)).await.unwrap().status(), status, "{caller:?}");
    }
    alice.abort();
    let _ = alice.await;
    assert_eq!(within(ask(Some("alice"), &ok)).await.unwrap().status(), 200);

    let running = Running::start(server).await;
    let mut h2 = H2::open(running.addr).await;
    let hanging = tokio::spawn(h2.begin(h2_request("localhost", &call(false))));
    begun.rung().await;
    assert_eq!(h2.send(h2_request("localhost", &ok)).await.unwrap().status(), 429);
    assert_eq!(running.ask(&ok).await.status, 429, "the same address on another connection");
    hanging.abort();
}

/// More connections than are let in wait, and are served when there is room.
#[tokio::test]
async fn connections_over_the_limit_wait() {
    let server =
        builder().tool(ok()).limits(limits(|limits| limits.connections = 1)).build().unwrap();
    let running = Running::start(server).await;
    let mut first = running.connect().await;
    assert_eq!(first.ask(&Post::call("ok", json!({}))).await.status, 200);
    let mut second = running.connect().await;
    second.send(&Post::call("ok", json!({})).bytes()).await;
    assert_eq!(first.ask(&Post::call("ok", json!({}))).await.status, 200, "the first goes on");
    drop(first);
    assert_eq!(second.reply().await.status, 200);
}

/// One host has every address of its network, and the same one in the form that a dual-stack socket tells.
#[tokio::test]
async fn a_host_has_one_share_under_all_its_addresses() {
    use http_body_util::Full;
    use mcp_server::PeerAddr;
    use tower_service::Service;

    let begun = Bell::new();
    let (flag, _dropped) = watched();
    let server = limited(&begun, flag, |limits| limits.exchanges_per_caller = 1).build().unwrap();
    let mut service = server.service();
    let mut ask = |from: &str, post: &Post| {
        let mut request = h2_request("localhost", post);
        request.extensions_mut().insert(PeerAddr((from.parse::<IpAddr>().unwrap(), 1234).into()));
        service.call(request.map(Full::from))
    };
    for (host, others, strangers) in [
        (
            "2001:db8:0:1::1",
            ["2001:db8:0:1::1", "2001:db8:0:1:ffff::9"],
            ["2001:db8:0:2::1", "192.0.2.1"],
        ),
        ("192.0.2.1", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.2.2", "::ffff:192.0.2.2"]),
    ] {
        let hanging = tokio::spawn(ask(host, &call(false)));
        begun.rung().await;
        for from in others {
            let refused = ask(from, &Post::call("ok", json!({}))).await.unwrap();
            assert_eq!(refused.status(), 429, "{host} {from}");
        }
        for from in strangers {
            let served = ask(from, &Post::call("ok", json!({}))).await.unwrap();
            assert_eq!(served.status(), 200, "{host} {from}");
        }
        hanging.abort();
        let _ = hanging.await;
        let served = ask(host, &Post::call("ok", json!({}))).await.unwrap();
        assert_eq!(served.status(), 200, "its place was given back");
    }
}

/// A reply that nobody reads is under way, though its handler, which nothing would have stopped, has ended.
#[tokio::test]
async fn a_reply_of_what_runs_to_completion_keeps_its_place_until_it_is_read() {
    use http_body_util::{BodyExt, Full};
    use tower_service::Service;

    let ended = Bell::new();
    let ring = ended.clone();
    let pays = Tool::new("pays", move |progress: Progress| {
        let ring = ring.clone();
        async move {
            progress.report(1);
            ring.ring();
            "paid"
        }
    });
    let limited = builder().limits(limits(|limits| limits.exchanges = 1));
    let server = limited.tool(pays.run_to_completion()).tool(ok()).build().unwrap();
    let mut service = server.service();
    let mut ask = |post: &Post| service.call(h2_request("localhost", post).map(Full::from));
    let unread = ask(&Post::listening("pays")).await.unwrap();
    assert_eq!(unread.status(), 200);
    ended.rung().await;
    for _ in 0..100 {
        // Time for the task of the handler to end.
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&Post::call("ok", json!({}))).await.unwrap().status(), 503);
    let read = unread.into_body().collect().await.unwrap().to_bytes();
    assert!(str::from_utf8(&read).unwrap().contains("paid"));
    assert_eq!(ask(&Post::call("ok", json!({}))).await.unwrap().status(), 200);
}
