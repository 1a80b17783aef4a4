//! What outlives a check: subscriptions and calls under way. And where there are no headers: exchanges and byte
//! streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use mcp_server::auth::{Access, ResourceServer, StaticTokens};
use mcp_server::{
    Announces, Exchange, ExchangeOptions, Notify, RequestParts, ServerBuilder, Tool, scan,
};
use serde_json::{Value, json};

use super::{bearing, call, guarded, resource};
use crate::support::lines::error;
use crate::support::{Bell, Lines, Post, Running, builder, message, tool_text, within};

const START: SystemTime = SystemTime::UNIX_EPOCH;

/// A server in 1970, whose only token is good for an hour, and its clock in milliseconds.
fn expiring() -> (ServerBuilder, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(0));
    let now = Arc::clone(&clock);
    let auth = ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(StaticTokens::new().token("hour", hour()))
        .clock(move || START + Duration::from_millis(now.load(Ordering::Relaxed)));
    let changes = Tool::new("changes", async |notify: Notify| {
        notify.tools_changed();
        "changed"
    });
    (guarded(auth).tool(changes).announces(Announces::new().tools()), clock)
}

fn hour() -> Access {
    Access::new("i", "s").with_expiry(START + HOUR)
}

const HOUR: Duration = Duration::from_secs(3600);

/// A few milliseconds before the hour is over.
const LATE: u64 = 3_600_000 - 5;

fn listen() -> Value {
    json!({ "notifications": { "toolsListChanged": true } })
}

/// One ends in good order as its token does, another that was opened with as much left as an hour goes on.
#[tokio::test]
async fn a_subscription_lasts_as_long_as_its_token() {
    let (server, clock) = expiring();
    let running = Running::build(server).await;
    let post = bearing(Post::rpc("subscriptions/listen", listen()), "hour");
    let mut long = running.connect().await;
    long.send(&post.bytes()).await;
    long.stream().await;
    assert!(long.event().await.is_some());
    clock.store(LATE, Ordering::Relaxed);
    let mut short = running.connect().await;
    short.send(&post.bytes()).await;
    short.stream().await;
    let events = short.events().await;
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/subscriptions/acknowledged"), None]);
    assert_eq!((&events[1]["id"], events[1].get("error")), (&json!(1), None));
    // The connection is as good as before, and so is the other subscription.
    assert_eq!(short.ask(&bearing(call("changes"), "hour")).await.tool_text(), "changed");
    assert_eq!(long.event().await.unwrap()["method"], "notifications/tools/list_changed");
    clock.store(3_600_000, Ordering::Relaxed);
    assert_eq!(short.ask(&post).await.status, 401);
}

#[tokio::test]
async fn the_end_of_a_token_on_a_byte_stream() {
    let (server, clock) = expiring();
    let server = server.build().unwrap();
    clock.store(LATE, Ordering::Relaxed);
    let mut lines = Lines::serve_with(&server, 1 << 16, |serve| {
        serve.parts(RequestParts::default().with_access(hour()))
    });
    lines.send("1", "subscriptions/listen", listen()).await;
    assert_eq!(lines.message().await["method"], "notifications/subscriptions/acknowledged");
    let ended = lines.message().await;
    assert_eq!((&ended["id"], ended.get("error")), (&json!(1), None));
    assert!(ended.get("result").is_some(), "{ended}");
    let cancelled = lines.message().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(1))
    );
    // The stream goes on, and its client is nobody any more.
    clock.store(3_600_000, Ordering::Relaxed);
    lines.call("3", "ok", json!({})).await;
    let message = lines.message().await;
    assert_eq!(error(&message), (-32600, Some(&json!(3))));
    assert_eq!(message["error"]["message"], "The token has expired");
}

/// A call that was let in may end.
#[tokio::test]
async fn calls_under_way_are_not_cut_off() {
    let (server, clock) = expiring();
    let (begun, bell) = (Bell::new(), Bell::new());
    let wait = {
        let (begun, bell) = (begun.clone(), bell.clone());
        Tool::new("wait", move || {
            let (begun, bell) = (begun.clone(), bell.clone());
            async move {
                begun.ring();
                bell.wait().await;
                "done"
            }
        })
    };
    let running = Running::build(server.tool(wait)).await;
    let mut conn = running.connect().await;
    conn.send(&bearing(call("wait"), "hour").bytes()).await;
    begun.rung().await;
    clock.store(3_600_000, Ordering::Relaxed);
    assert_eq!(running.ask(&bearing(call("ok"), "hour")).await.status, 401);
    bell.ring();
    assert_eq!(conn.reply().await.tool_text(), "done");
}

/// A stream has no tokens: who is at its other end is said by whoever serves it, and without a word nobody is.
/// Specification: Authorization, Protocol Requirements.
#[tokio::test]
async fn on_a_byte_stream_somebody_has_to_vouch() {
    let admin =
        || Tool::new("admin", async |access: Access| access.subject().to_owned()).scopes(["a"]);
    let strict = guarded(resource()).tool(admin()).build().unwrap();
    let lax = guarded(resource().optional()).tool(admin()).build().unwrap();
    let with = |scopes: &[&str]| {
        Some(RequestParts::default().with_access(Access::new("env", "me").with_scopes(scopes)))
    };
    for (server, parts, ok, admin) in [
        (&strict, None, false, false),
        (&strict, with(&[]), true, false),
        (&strict, with(&["a"]), true, true),
        (&lax, None, true, false),
        (&lax, with(&["a"]), true, true),
    ] {
        let mut lines =
            Lines::serve_with(server, 1 << 16, |serve| serve.parts(parts.unwrap_or_default()));
        for (tool, may) in [("ok", ok), ("admin", admin)] {
            lines.call("1", tool, json!({})).await;
            let message = lines.message().await;
            if may {
                assert_eq!(tool_text(&message), if tool == "ok" { "ok" } else { "me" });
            } else {
                assert_eq!(error(&message), (-32600, Some(&json!(1))));
            }
        }
    }
}

/// Whoever drives an exchange has authenticated its caller, or nobody has.
#[tokio::test]
async fn exchanges_by_hand() {
    let server =
        guarded(resource()).tool(Tool::new("admin", async || "").scopes(["a"])).build().unwrap();
    let access = |scopes: &[&str]| Access::new("i", "s").with_scopes(scopes);
    for (parts, tool, status) in [
        (RequestParts::default(), "ok", 401),
        (RequestParts::default().with_access(access(&[])), "ok", 200),
        (RequestParts::default().with_access(access(&[])), "admin", 403),
        (RequestParts::default().with_access(access(&["a"])), "admin", 200),
    ] {
        let mut options = ExchangeOptions::default();
        options.http = false;
        let exchange = Exchange::new(options);
        exchange.connect(&server).unwrap();
        let text = message("1", "tools/call", json!({ "name": tool }));
        let handled = exchange.handle(scan(text.as_bytes()).unwrap(), parts);
        let response = within(handled).await.unwrap();
        assert_eq!(response.status(), status, "{tool}");
        assert_eq!(response.headers().contains_key("www-authenticate"), status != 200);
    }
    // With its token verified in the same way as everywhere.
    for (token, tool, status) in [
        (None, "ok", 401),
        (Some("Bearer unknown"), "ok", 401),
        (Some("Bearer"), "ok", 400),
        (Some("Bearer plain"), "ok", 200),
        (Some("Bearer plain"), "admin", 403),
    ] {
        let post = call(tool);
        let mut request = http::Request::post("/mcp");
        let fields = post.fields().chain(token.map(|token| ("Authorization", token)));
        for (name, value) in fields {
            request = request.header(name, value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let response = match within(server.authenticate(head)).await {
            Err(response) => response,
            Ok(parts) => {
                assert!(!parts.headers.contains_key("authorization"));
                let exchange = Exchange::new(ExchangeOptions::default());
                exchange.connect(&server).unwrap();
                within(exchange.handle(scan(post.content()).unwrap(), parts)).await.unwrap()
            }
        };
        assert_eq!(response.status(), status, "{token:?} {tool}");
        assert_eq!(response.headers().contains_key("www-authenticate"), status != 200);
    }
    // A server that asks nobody for a token passes on what it is given.
    let who = Tool::new("who", async |access: Access| access.subject().to_owned());
    let open = builder().tool(who).build().unwrap();
    let parts = RequestParts::default().with_access(Access::new("i", "me"));
    let mut lines = Lines::serve_with(&open, 1 << 16, |serve| serve.parts(parts));
    lines.call("1", "who", json!({})).await;
    assert_eq!(tool_text(&lines.message().await), "me");
}
