//! Rate limits: who is counted with whom, and what the others are told.

use std::net::SocketAddr;
use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt;
use mcp_server::layer::RateLimit;
use mcp_server::{
    Caller, Exchange, ExchangeOptions, Prompt, RequestParts, ResourceTemplate, Server, Tool, scan,
};
use serde_json::{Value, json};

use crate::support::{H2, Lines, Post, Running, builder, h2_request, message, ok};

/// So long that none of it passes while a test runs; how buckets fill up is tested beside them.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Who makes a request.
#[derive(Clone, Copy)]
enum From<'a> {
    Caller(&'a str),
    Address(&'a str),
    Nobody,
}

/// The status of one call, and its `Retry-After`.
async fn ask(
    server: &Server,
    from: From<'_>,
    method: &str,
    params: Value,
) -> (u16, Option<String>) {
    let mut parts = RequestParts::default();
    match from {
        From::Caller(name) => parts.caller = Some(Caller::new(name)),
        From::Address(ip) => parts.peer_addr = Some(SocketAddr::new(ip.parse().unwrap(), 1234)),
        From::Nobody => {}
    }
    let mut options = ExchangeOptions::default();
    options.http = false;
    let exchange = Exchange::new(options);
    exchange.connect(server).unwrap();
    let text = message("1", method, params);
    let response = exchange.handle(scan(text.as_bytes()).unwrap(), parts).await.unwrap();
    let status = response.status();
    let after = response.headers().get("retry-after");
    let after = after.map(|value| value.to_str().unwrap().to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let busy = status == StatusCode::TOO_MANY_REQUESTS;
    assert_eq!(body["error"]["code"] == -32603, busy, "{body}");
    (status.as_u16(), after)
}

async fn call(server: &Server, from: From<'_>, tool: &str) -> u16 {
    ask(server, from, "tools/call", json!({ "name": tool })).await.0
}

fn two_tools(limit: RateLimit) -> Server {
    let other = Tool::new("other", async || "other");
    builder().tool(ok()).tool(other).layer(limit).build().unwrap()
}

#[tokio::test]
async fn a_burst_passes_and_what_comes_after_is_told_when() {
    let server = two_tools(RateLimit::new(6, DAY).burst(2));
    let ask = || ask(&server, From::Caller("a"), "tools/call", json!({ "name": "ok" }));
    assert_eq!(ask().await, (200, None));
    assert_eq!(ask().await, (200, None));
    for _ in 0..2 {
        let (status, after) = ask().await;
        let seconds: u64 = after.unwrap().parse().unwrap();
        assert!(
            status == 429 && (14_000..=14_400).contains(&seconds),
            "{seconds} s are no four hours"
        );
    }
}

#[tokio::test]
async fn each_caller_is_counted_alone() {
    let server = two_tools(RateLimit::new(1, DAY));
    for from in [
        From::Caller("a"),
        From::Caller("b"),
        From::Address("192.0.2.1"),
        From::Address("192.0.2.2"),
        From::Address("2001:db8:0:1::1"),
        From::Address("2001:db8:0:2::1"),
        From::Nobody,
    ] {
        assert_eq!(call(&server, from, "ok").await, 200);
        assert_eq!(call(&server, from, "other").await, 429, "all tools count together");
    }
    // One host has all addresses of its network.
    assert_eq!(call(&server, From::Address("2001:db8:0:1:ffff::9"), "ok").await, 429);
    assert_eq!(call(&server, From::Address("::ffff:192.0.2.1"), "ok").await, 429);
}

#[tokio::test]
async fn targets_may_be_counted_alone_and_uris_never() {
    let a = From::Caller("a");
    let server = builder()
        .tool(ok())
        .tool(Tool::new("other", async || "other"))
        .prompt(Prompt::new("ok", async || "ok"))
        .resource_template(ResourceTemplate::new("note:{n}", "notes", async || "note"))
        .layer(RateLimit::new(1, DAY).by_target())
        .build()
        .unwrap();
    for tool in ["ok", "other"] {
        assert_eq!(call(&server, a, tool).await, 200);
        assert_eq!(call(&server, a, tool).await, 429);
    }
    assert_eq!(ask(&server, a, "prompts/get", json!({ "name": "ok" })).await.0, 200);
    assert_eq!(ask(&server, a, "resources/read", json!({ "uri": "note:1" })).await.0, 200);
    assert_eq!(ask(&server, a, "resources/read", json!({ "uri": "note:2" })).await.0, 429);
}

#[tokio::test]
async fn tools_have_limits_of_their_own() {
    let limit = RateLimit::new(1, DAY);
    let other = Tool::new("other", async || "other").layer(limit);
    let free = Tool::new("free", async || "free");
    let server = builder().tools([ok().layer(limit), other, free]).build().unwrap();
    for (tool, status) in [("ok", 200), ("ok", 429), ("other", 200), ("other", 429), ("free", 200)]
    {
        assert_eq!(call(&server, From::Nobody, tool).await, status, "{tool}");
    }
}

/// The longest period there is means never again, not as often as one likes; nothing overflows on the way.
#[tokio::test]
async fn a_limit_for_ever_is_one() {
    for limit in [
        RateLimit::new(2, Duration::MAX),
        RateLimit::new(1, Duration::MAX).burst(2),
        RateLimit::new(1, Duration::from_secs(u64::MAX / 2)).burst(2),
        RateLimit::new(0, Duration::MAX).burst(2).by_target(),
    ] {
        let server = two_tools(limit);
        for status in [200, 200, 429, 429] {
            assert_eq!(call(&server, From::Nobody, "ok").await, status, "{limit:?}");
        }
        let (_, after) = ask(&server, From::Nobody, "tools/call", json!({ "name": "ok" })).await;
        assert!(after.unwrap().parse::<u64>().unwrap() > 1_000_000_000, "{limit:?}");
    }
}

/// However many there are, nobody is locked out; who comes again soon is still known.
#[tokio::test]
async fn a_flood_of_callers_is_bounded() {
    let server = two_tools(RateLimit::new(1, DAY).keys(8));
    assert_eq!(call(&server, From::Caller("a"), "ok").await, 200);
    for n in 0..100 {
        assert_eq!(call(&server, From::Caller(&n.to_string()), "ok").await, 200);
        assert_eq!(call(&server, From::Caller("a"), "ok").await, 429);
    }
}

#[tokio::test]
async fn over_http_it_is_429_with_the_id() {
    let limit = RateLimit::new(1, Duration::from_secs(3600));
    let running = Running::build(builder().tool(ok()).layer(limit)).await;
    let post = Post::call("ok", json!({}));
    assert_eq!(running.ask(&post).await.status, 200);
    let reply = running.ask(&post).await;
    assert_eq!((reply.status, reply.code()), (429, Some(-32603)));
    assert!(reply.is_json() && reply.message()["id"] == 1);
    let seconds: u64 = reply.field("retry-after").unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&seconds), "{seconds}");
    // What has no handler has no limit.
    assert_eq!(running.ask(&Post::rpc("tools/list", json!({}))).await.status, 200);
}

/// Neither another version of HTTP nor another transport makes anybody somebody else.
#[tokio::test]
async fn a_caller_is_the_same_over_every_transport() {
    let server = two_tools(RateLimit::new(2, DAY));
    let running = Running::start(server.clone()).await;
    let post = Post::call("ok", json!({}));
    assert_eq!(running.ask(&post).await.status, 200);
    let mut h2 = H2::open(running.addr).await;
    assert_eq!(h2.send(h2_request("localhost", &post)).await.unwrap().status(), 200);
    assert_eq!(running.ask(&post).await.status, 429);
    assert_eq!(h2.send(h2_request("localhost", &post)).await.unwrap().status(), 429);

    let parts = RequestParts { caller: Some(Caller::new("a")), ..RequestParts::default() };
    let mut first = Lines::serve_with(&server, 1 << 16, |serve| serve.parts(parts.clone()));
    let mut second = Lines::serve_with(&server, 1 << 16, |serve| serve.parts(parts));
    for lines in [&mut first, &mut second] {
        lines.call("1", "ok", json!({})).await;
        assert!(lines.message().await.get("result").is_some());
    }
    first.call("2", "ok", json!({})).await;
    let refused = first.message().await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(call(&server, From::Caller("a"), "ok").await, 429);
    // What is none, or is refused before, has no bucket and costs nothing.
    let server = two_tools(RateLimit::new(1, DAY).by_target());
    for n in 0..10 {
        assert_ne!(call(&server, From::Nobody, &format!("invented {n}")).await, 429);
        assert_ne!(call(&server, From::Nobody, "invented").await, 429);
    }
    assert_eq!(call(&server, From::Nobody, "ok").await, 200);
}
