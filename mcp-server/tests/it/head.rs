//! The head of a request: who is let in, in which form, and how long it may take to say so.

use std::time::Duration;

use mcp_server::Limits;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::{H2, Post, Running, builder, h2_request, limits, ok, within};

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

/// DNS rebinding: a page's own name in `Host` is refused on every route, before anything else.
#[tokio::test]
async fn only_names_of_the_server_are_answered_to() {
    let running = start().await;
    let own = running.addr.to_string();
    for host in [
        &own,
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "127.0.0.1",
        "127.9.9.9:80",
        "[::1]",
        "[::1]:8080",
    ] {
        assert_eq!(running.ask(&call().set("Host", host)).await.status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "user@localhost",
        "localhost:80:80",
        "localhost:",
        "localhost:http",
        "localhost/",
        "localhost, localhost",
        "0.0.0.0",
        "[::]",
        "::1",
        "10.0.0.1",
        "",
        "ünï.example",
    ] {
        let reply = running.ask(&call().set("Host", host)).await;
        // An empty port is no port to some.
        let passes = host == "localhost:" && reply.status == 200;
        assert!(reply.status == 403 || passes, "{host:?}: {}", reply.status);
    }
    let table = [
        call().line("GET / HTTP/1.1").set("Host", "evil.example"),
        call().line("POST http://localhost/mcp HTTP/1.1").set("Host", "evil.example"),
        call().line("POST http://evil.example/mcp HTTP/1.1").set("Host", "localhost"),
        call().line("POST http://evil.example/mcp HTTP/1.1").set("Host", "evil.example"),
        call().line("POST http://evil.example/mcp HTTP/1.1").remove("Host"),
        call().line("POST http://user@localhost/mcp HTTP/1.1"),
    ];
    for post in table {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (403, Some(-32600)), "{post:?}");
        assert_eq!(reply.message().get("id"), None);
    }
    for post in [
        call().line("POST http://localhost/mcp HTTP/1.1"),
        call().line("POST http://LOCALHOST/mcp HTTP/1.1"),
        call().line("POST http://localhost/mcp HTTP/1.1").remove("Host"),
    ] {
        assert_eq!(running.ask(&post).await.status, 200, "{post:?}");
    }
}

/// HTTP itself wants 400 where there is not one host.
#[tokio::test]
async fn a_request_has_one_host() {
    let running = start().await;
    for post in
        [call().remove("Host"), call().add("Host", "localhost"), call().add("Host", "evil.example")]
    {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{post:?}");
        assert_eq!(reply.message().get("id"), None);
    }
}

#[tokio::test]
async fn http2_names_its_host_in_the_target() {
    let running = start().await;
    let mut h2 = H2::open(running.addr).await;
    let evil = h2_request("localhost", &call().set("Host", "evil.example"));
    for (request, status) in [
        (h2_request("localhost", &call()), 200),
        (h2_request(&running.addr.to_string(), &call()), 200),
        (h2_request("evil.example", &call()), 403),
        (h2_request("localhost.evil.example", &call()), 403),
        (evil, 403),
        (h2_request("evil.example", &call().set("Host", "localhost:1")), 403),
        (h2_request("localhost", &call().add("Origin", "http://evil.example")), 403),
    ] {
        let shown = format!("{:?}", request.uri());
        assert_eq!(h2.send(request).await.unwrap().status(), status, "{shown}");
    }
}

/// T7: an origin is absent, allowed, or refused.
#[tokio::test]
async fn only_pages_that_are_allowed_are_answered() {
    let running = start().await;
    for origin in [
        "http://localhost",
        "http://localhost:3000",
        "https://LOCALHOST",
        "HTTP://127.0.0.1:1",
        "http://[::1]:9",
    ] {
        assert_eq!(running.ask(&call().add("Origin", origin)).await.status, 200, "{origin}");
    }
    for origin in [
        "null",
        "",
        "*",
        "localhost",
        "http://evil.example",
        "http://localhost:3000.evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost/",
        "http://localhost/mcp",
        "http://localhost:99999",
        "http://localhost http://localhost",
        "http://localhost, http://localhost",
        "file://localhost",
        "http:localhost",
        "http://ünï.example",
    ] {
        let reply = running.ask(&call().add("Origin", origin)).await;
        assert_eq!((reply.status, reply.code()), (403, Some(-32600)), "{origin:?}");
    }
    let twice = call().add("Origin", "http://localhost").add("Origin", "http://localhost");
    assert_eq!(running.ask(&twice).await.status, 403);
    // Behind a proxy that was named, the names of the loopback interface mean nothing.
    let listed = builder().tool(ok()).hosts(["mcp.example:8443"]).origins(["https://app.example"]);
    let listed = Running::start(listed.build().unwrap()).await;
    for (host, origin, status) in [
        ("mcp.example:8443", Some("https://app.example"), 200),
        ("MCP.example:8443", Some("https://APP.example:443"), 200),
        ("mcp.example:8443", None, 200),
        ("mcp.example", None, 403),
        ("localhost", None, 403),
        ("mcp.example:8443", Some("http://app.example"), 403),
        ("mcp.example:8443", Some("https://app.example:8443"), 403),
        ("mcp.example:8443", Some("http://localhost"), 403),
        ("mcp.example:8443", Some("null"), 403),
    ] {
        let post = call().set("Host", host);
        let post = origin.iter().fold(post, |post, origin| post.add("Origin", origin));
        assert_eq!(listed.ask(&post).await.status, status, "{host} {origin:?}");
    }
}

#[tokio::test]
async fn danger_is_what_it_says() {
    let server =
        builder().tool(ok()).danger_allow_any_host().danger_allow_any_origin().build().unwrap();
    let running = Running::start(server).await;
    let post = call().set("Host", "evil.example").add("Origin", "http://evil.example");
    assert_eq!(running.ask(&post).await.status, 200);
    assert_eq!(running.ask(&call().add("Origin", "null")).await.status, 200);
}

/// T1, and the cross-site simple POST.
#[tokio::test]
async fn bodies_are_declared_as_json() {
    let running = start().await;
    for media in [
        "application/json",
        "application/json; charset=utf-8",
        r#"Application/JSON;charset="UTF-8""#,
        "application/json;",
        "APPLICATION/JSON ; a=b",
    ] {
        assert_eq!(running.ask(&call().set("Content-Type", media)).await.status, 200, "{media}");
    }
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain; application/json",
        "application/jsonx",
        "application/json, text/plain",
        "application/problem+json",
        "application/*",
        "json",
        "",
    ] {
        let reply = running.ask(&call().set("Content-Type", media)).await;
        assert_eq!((reply.status, reply.code()), (415, Some(-32600)), "{media:?}");
    }
    assert_eq!(running.ask(&call().remove("Content-Type")).await.status, 415);
    assert_eq!(running.ask(&call().add("Content-Type", "application/json")).await.status, 415);
}

/// T3, T4: what the client takes decides the form, and 406 is for what takes neither.
#[tokio::test]
async fn accept_is_negotiated() {
    let running = start().await;
    for (accept, form) in [
        ("application/json, text/event-stream", "json"),
        ("*/*", "json"),
        ("application/*", "json"),
        ("application/json", "json"),
        ("application/json;q=0.9, text/*;q=0.1", "json"),
        ("text/event-stream", "stream"),
        ("text/*", "stream"),
        ("application/json;q=0, */*", "stream"),
        ("", "json"),
        ("text/html", "none"),
        ("application/json;q=0", "none"),
        ("*/*;q=0", "none"),
        ("application/xml, image/*", "none"),
    ] {
        let reply = running.ask(&call().set("Accept", accept)).await;
        match form {
            "json" => assert!(reply.status == 200 && reply.is_json(), "{accept}: {reply:?}"),
            "stream" => assert!(reply.status == 200 && reply.is_stream(), "{accept}: {reply:?}"),
            _ => {
                assert_eq!((reply.status, reply.code()), (406, Some(-32600)), "{accept}");
                let text = reply.message()["error"]["message"].to_string();
                assert!(
                    text.contains("application/json") && text.contains("text/event-stream"),
                    "{text}"
                );
            }
        }
    }
    assert!(running.ask(&call().remove("Accept")).await.is_json());
    let lines = call().set("Accept", "text/html").add("Accept", "text/event-stream");
    assert!(running.ask(&lines).await.is_stream());
}

/// T15.
#[tokio::test]
async fn only_post_is_served_and_sessions_are_not() {
    let running = start().await;
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW", "post"] {
        let reply = running.ask(&call().line(&format!("{method} /mcp HTTP/1.1"))).await;
        assert_eq!((reply.status, reply.field("allow")), (405, Some("POST")), "{method}");
    }
    let mut conn = running.connect().await;
    conn.send(&call().body([]).line("HEAD /mcp HTTP/1.1").bytes()).await;
    assert_eq!(conn.head().await.status, 405);
    let session = call().add("Mcp-Session-Id", "s").add("Last-Event-ID", "7");
    for post in [session.clone(), session.line("GET /mcp HTTP/1.1")] {
        let reply = running.ask(&post).await;
        assert!(matches!(reply.status, 200 | 405));
        let echoed = reply
            .fields
            .iter()
            .find(|(name, _)| name.contains("session") || name.contains("event-id"));
        assert_eq!(echoed, None);
    }
    for (target, status) in
        [("/mcp?a=b", 200), ("/mcp/", 404), ("/MCP", 404), ("/", 404), ("/mcp%2f", 404), ("*", 404)]
    {
        let reply = running.ask(&call().line(&format!("POST {target} HTTP/1.1"))).await;
        assert_eq!(reply.status, status, "{target}");
    }
    let moved = builder().tool(ok()).path("/a/b").build().unwrap();
    let moved = Running::start(moved).await;
    assert_eq!(moved.ask(&call()).await.status, 404);
    assert_eq!(moved.ask(&call().line("POST /a/b HTTP/1.1")).await.status, 200);
}

#[tokio::test]
async fn connections_that_do_not_speak_are_closed() {
    let running = limited(|limits| limits.header_time = Duration::from_millis(500)).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let head = call().head();
    let starts: &[&[u8]] = &[
        b"",
        b"P",
        b"POST /mcp HTTP/1.1\r\n",
        &head[..head.len() - 2],
        &preface[..5],
        &preface[..23],
    ];
    let mut conns = Vec::new();
    for start in starts {
        let mut conn = running.connect().await;
        conn.send(start).await;
        conns.push(conn);
    }
    // One byte at a time is no better than none.
    let mut slow = running.connect().await;
    within(async {
        for byte in head.iter().cycle() {
            if slow.stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    for (mut conn, start) in conns.into_iter().zip(starts) {
        let answer = conn.closed().await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{start:?}");
    }
    assert_eq!(running.ask(&call()).await.status, 200, "others live");
}

#[tokio::test]
async fn an_endless_header_is_refused() {
    let running = start().await;
    for piece in ["x", "x: y\r\n"] {
        let mut conn = running.connect().await;
        conn.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n").await;
        let flood = piece.repeat(64 * 1024 / piece.len());
        within(async { while conn.stream.write_all(flood.as_bytes()).await.is_ok() {} }).await;
    }
    for count in [1000, 101] {
        let post = (0..count).fold(call(), |post, n| post.add(&format!("x-{n}"), "y"));
        let mut conn = running.connect().await;
        conn.send(&post.bytes()).await;
        let answer = String::from_utf8_lossy(&conn.closed().await).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    let many = (0..90).fold(call(), |post, n| post.add(&format!("x-{n}"), "y"));
    assert_eq!(running.ask(&many).await.status, 200);
    assert_eq!(running.ask(&call()).await.status, 200, "others live");
}

/// One connection for many requests, well or badly answered.
#[tokio::test]
async fn a_connection_outlives_its_refusals() {
    let running = start().await;
    let mut conn = running.connect().await;
    for _ in 0..3 {
        let table = [
            (call(), 200),
            (call().set("Host", "evil.example"), 403),
            (call().line("POST / HTTP/1.1"), 404),
            (call().line("GET /mcp HTTP/1.1"), 405),
            (call().set("Content-Type", "text/plain"), 415),
            (call().set("Accept", "text/html"), 406),
            (call().body("{"), 400),
            (Post::bare(r#"{"jsonrpc":"2.0","method":"a"}"#), 202),
        ];
        for (post, status) in table {
            assert_eq!(conn.ask(&post).await.status, status);
        }
    }
    // And pipelined, in order.
    let ids =
        ["1", "2", "3"].map(|id| Post::with_id(id, "tools/call", json!({ "name": "ok" })).bytes());
    conn.send(&ids.concat()).await;
    for id in 1..=3 {
        assert_eq!(conn.reply().await.message()["id"], id);
    }
}
