//! Web pages: preflights, and what every response tells a browser. (peers, "CORS preset"; T7.)

use std::time::Duration;

use axum::Router;
use mcp_server::types::LoggingLevel;
use mcp_server::{BuildError, Cors, Log, ResponseMode, ServerBuilder, Tool};
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::{Bell, Conn, H2, Post, Reply, Running, builder, h2_request, limits, ok};

const APP: &str = "https://app.example";

fn listed() -> ServerBuilder {
    builder().tool(ok()).origins([APP]).cors(Cors::new())
}

fn call() -> Post {
    Post::call("ok", json!({})).add("Origin", APP)
}

/// What a browser asks before a page at `origin` may call.
fn preflight(origin: &str, headers: &str) -> Post {
    Post::bare("")
        .line("OPTIONS /mcp HTTP/1.1")
        .remove("Content-Type")
        .set("Accept", "*/*")
        .add("Origin", origin)
        .add("Access-Control-Request-Method", "POST")
        .add("Access-Control-Request-Headers", headers)
}

/// The fields of a response that are about CORS, `Vary` aside.
fn cors_fields(reply: &Reply) -> Vec<&str> {
    let names = reply.fields.iter().map(|(name, _)| name.as_str());
    names.filter(|name| name.starts_with("access-control-")).collect()
}

/// Whether a page at `origin` may read the response.
fn readable(reply: &Reply, origin: &str) -> bool {
    assert_eq!(reply.field("access-control-allow-credentials"), None);
    let allowed = reply.field("access-control-allow-origin") == Some(origin);
    if allowed {
        assert_eq!(
            reply.field("access-control-expose-headers"),
            Some("www-authenticate, retry-after")
        );
    } else {
        assert!(cors_fields(reply).is_empty(), "{reply:?}");
    }
    allowed
}

#[tokio::test]
async fn a_preflight_is_answered() {
    let running = Running::build(listed()).await;
    let asked = "content-type,mcp-method,mcp-name,mcp-param-region,mcp-protocol-version,x-other";
    let mut conn = running.connect().await;
    let reply = conn.ask(&preflight(APP, asked)).await;
    assert_eq!((reply.status, reply.text()), (204, ""));
    assert_eq!(reply.field("access-control-allow-origin"), Some(APP));
    assert_eq!(reply.field("access-control-allow-methods"), Some("POST"));
    assert_eq!(reply.field("access-control-max-age"), Some("7200"));
    assert_eq!(
        reply.field("access-control-allow-headers"),
        Some(
            "mcp-param-region, content-type, accept, authorization, mcp-protocol-version, \
             mcp-method, mcp-name, traceparent, tracestate, baggage"
        )
    );
    let vary = reply.field("vary").unwrap().to_ascii_lowercase();
    for name in ["origin", "access-control-request-method", "access-control-request-headers"] {
        assert!(vary.split(", ").any(|found| found == name), "{vary}");
    }
    assert_eq!(reply.field("access-control-allow-credentials"), None);
    // The page's request follows on the same connection.
    let reply = conn.ask(&call()).await;
    assert!(readable(&reply, APP));
    assert_eq!((reply.field("vary"), reply.tool_text().as_str()), (Some("Origin"), "ok"));
    let mut h2 = H2::open(running.addr).await;
    let mut request = h2_request("localhost", &preflight(APP, "mcp-method"));
    *request.method_mut() = http::Method::OPTIONS;
    let response = h2.send(request).await.unwrap();
    assert_eq!(response.status(), 204);
    assert_eq!(response.headers()["access-control-allow-origin"], APP);
}

/// Only headers of parameters come back, and only as many and as long as tools could have.
#[tokio::test]
async fn mirrored_parameters_may_be_sent() {
    let running = Running::build(listed()).await;
    let echoed = async |headers: &str| {
        let reply = running.ask(&preflight(APP, headers)).await;
        let allowed = reply.field("access-control-allow-headers").unwrap().to_owned();
        let params = allowed.split(", ").filter(|name| name.starts_with("mcp-param"));
        params.map(str::to_owned).collect::<Vec<_>>()
    };
    let longest = format!("mcp-param-{}", "x".repeat(255));
    for (headers, expected) in [
        ("Mcp-Param-A , mcp-param-b", vec!["mcp-param-a", "mcp-param-b"]),
        ("mcp-param-", vec![]),
        ("mcp-param-a b, mcp-param-ü, mcp-param-c:d, mcp-param-\"e\"", vec![]),
        ("xmcp-param-a, x-mcp-param-a, , *", vec![]),
        (&longest, vec![&*longest]),
        (&format!("{longest}x"), vec![]),
    ] {
        assert_eq!(echoed(headers).await, expected, "{headers}");
    }
    let many: Vec<_> = (0..65).map(|n| format!("mcp-param-{n}")).collect();
    assert_eq!(echoed(&many.join(",")).await, many[..64]);
}

/// T7: every page but those that are allowed is refused, and told nothing.
#[tokio::test]
async fn other_pages_are_told_nothing() {
    let local = Running::build(builder().tool(ok()).cors(Cors::new())).await;
    let app = Running::build(listed()).await;
    for (running, origin, allowed) in [
        (&local, "http://localhost:3000", true),
        (&local, "https://127.0.0.1", true),
        (&local, "http://localhost:3000.evil.example", false),
        (&local, APP, false),
        (&local, "null", false),
        (&app, APP, true),
        (&app, "https://APP.example:443", true),
        (&app, "http://app.example", false),
        (&app, "https://app.example.evil.example", false),
        (&app, "http://localhost", false),
        (&app, "null", false),
        (&app, "*", false),
    ] {
        let asked = running.ask(&preflight(origin, "mcp-method")).await;
        let called = running.ask(&call().set("Origin", origin)).await;
        let expected = if allowed { (204, 200) } else { (403, 403) };
        assert_eq!((asked.status, called.status), expected, "{origin}");
        assert!(asked.field("vary").unwrap().starts_with("Origin"));
        assert_eq!(called.field("vary"), Some("Origin"));
        assert_eq!(readable(&called, origin), allowed, "{origin}");
        assert_eq!(cors_fields(&asked).is_empty(), !allowed, "{origin}");
    }
    let twice = app.ask(&call().add("Origin", APP)).await;
    assert_eq!((twice.status, readable(&twice, APP)), (403, false));
    // Who is no page gets no leave, and caches are told that others might.
    let reply = app.ask(&Post::call("ok", json!({}))).await;
    assert_eq!((reply.status, reply.field("vary")), (200, Some("Origin")));
    assert!(cors_fields(&reply).is_empty());
}

/// What is no preflight is what it was, and the checks before it come first.
#[tokio::test]
async fn what_is_no_preflight() {
    let running = Running::build(listed()).await;
    let preflight = preflight(APP, "mcp-method");
    for (post, status, allowed) in [
        (preflight.clone().remove("Origin"), 405, false),
        (preflight.clone().remove("Access-Control-Request-Method"), 405, true),
        (preflight.clone().line("GET /mcp HTTP/1.1"), 405, true),
        (preflight.clone().line("OPTIONS /other HTTP/1.1"), 404, true),
        (preflight.clone().line("OPTIONS * HTTP/1.1"), 404, true),
        (preflight.clone().set("Host", "evil.example"), 403, true),
        (preflight.clone().remove("Host"), 400, true),
        (preflight.clone().set("Origin", "https://evil.example"), 403, false),
        // Which methods and headers a page may use is for its browser to find out.
        (preflight.clone().set("Access-Control-Request-Method", "DELETE"), 204, true),
        (preflight.remove("Access-Control-Request-Headers"), 204, true),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!(reply.status, status, "{post:?}");
        assert_eq!(readable(&reply, APP), allowed, "{post:?}");
        assert_eq!(reply.field("allow").is_some(), status == 405);
        assert_eq!(reply.field("access-control-allow-methods").is_some(), status == 204);
    }
}

/// A page has to be able to read why it was refused, and every form of an answer.
#[tokio::test]
async fn every_response_is_readable() {
    let begun = Bell::new();
    let slow = {
        let begun = begun.clone();
        Tool::new("slow", move || {
            begun.ring();
            std::future::pending::<String>()
        })
    };
    let logs = Tool::new("logs", async |log: Log| {
        log.send(LoggingLevel::Info, "text");
        "ok"
    });
    let limits = limits(|limits| {
        limits.body = 2000;
        limits.body_time = Duration::from_millis(50);
        limits.exchanges = 1;
    });
    let running = Running::build(listed().tools([slow, logs]).limits(limits)).await;
    let page = |post: Post| post.add("Origin", APP);
    for (post, status) in [
        (call(), 200),
        (page(Post::listening("logs")), 200),
        (page(Post::bare(r#"{"jsonrpc":"2.0","method":"a"}"#)), 202),
        (call().body("{"), 400),
        (call().remove("Mcp-Method"), 400),
        (page(Post::rpc("no/such", json!({}))), 404),
        (page(Post::call("none", json!({}))), 400),
        (call().line("POST /other HTTP/1.1"), 404),
        (call().line("DELETE /mcp HTTP/1.1"), 405),
        (call().set("Accept", "text/html"), 406),
        (call().add("Content-Length", "9999"), 413),
        (call().add("Content-Length", "1999"), 408),
        (call().set("Content-Type", "text/plain"), 415),
        (call().set("Host", "evil.example"), 403),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, readable(&reply, APP)), (status, true), "{post:?}");
        assert_eq!(reply.field("vary"), Some("Origin"), "{post:?}");
    }
    let mut busy = running.connect().await;
    busy.send(&page(Post::call("slow", json!({}))).bytes()).await;
    begun.rung().await;
    let reply = running.ask(&call()).await;
    assert_eq!((reply.status, readable(&reply, APP)), (503, true));
    assert!(reply.field("retry-after").is_some());
    let none = self::limits(|limits| limits.exchanges_per_caller = 0);
    let none = Running::build(listed().limits(none)).await;
    let reply = none.ask(&call()).await;
    assert_eq!((reply.status, readable(&reply, APP)), (429, true));
    // A preflight takes no place among the exchanges.
    assert_eq!(running.ask(&preflight(APP, "mcp-method")).await.status, 204);
    let streams = Running::build(listed().response_mode(ResponseMode::Sse)).await;
    let mut conn = streams.connect().await;
    conn.send(&call().bytes()).await;
    assert!(readable(&conn.stream().await, APP));
}

/// Whatever a preflight brings along, it is one answer, and the connection is good for more.
#[tokio::test]
async fn preflights_with_more_than_they_need() {
    let running = Running::build(listed()).await;
    let plain = preflight(APP, "mcp-method");
    let lines = (0..80).fold(plain.clone(), |post, n| {
        post.add("Access-Control-Request-Headers", &format!("mcp-param-{n}"))
    });
    for (post, echoed) in [
        (plain.clone().body("hello"), 0),
        (plain.clone().line("OPTIONS /mcp?x=1 HTTP/1.1"), 0),
        (plain.clone().set("Content-Type", "text/plain").set("Accept", "text/html"), 0),
        (plain.clone().set("Access-Control-Request-Headers", &"mcp-param-a,".repeat(1000)), 64),
        (plain.clone().set("Access-Control-Request-Headers", &",".repeat(10_000)), 0),
        (lines, 64),
    ] {
        let mut conn = running.connect().await;
        let reply = conn.ask(&post).await;
        assert_eq!((reply.status, reply.text()), (204, ""), "{post:?}");
        assert_eq!(reply.field("access-control-allow-origin"), Some(APP));
        let allowed = reply.field("access-control-allow-headers").unwrap();
        assert_eq!(allowed.matches("mcp-param-").count(), echoed, "{post:?}");
        assert_eq!(conn.ask(&call()).await.status, 200, "{post:?}");
    }
    for target in ["/mcp/", "/%6dcp", "//mcp", "/"] {
        let line = format!("OPTIONS {target} HTTP/1.1");
        assert_eq!(running.ask(&plain.clone().line(&line)).await.status, 404, "{target}");
    }
}

/// Two origins are none, even where any would do: which of them is meant?
#[tokio::test]
async fn two_origins() {
    let any = builder().tool(ok()).danger_allow_any_origin().cors(Cors::new());
    for running in [Running::build(any).await, Running::build(listed()).await] {
        for post in [preflight(APP, "mcp-method"), call()] {
            let reply = running.ask(&post.add("Origin", APP)).await;
            assert_eq!((reply.status, readable(&reply, APP)), (403, false));
        }
        let mut h2 = H2::open(running.addr).await;
        let mut request = h2_request("localhost", &call());
        request.headers_mut().append("origin", "https://evil.example".parse().unwrap());
        let response = h2.send(request).await.unwrap();
        assert_eq!(response.status(), 403);
        assert!(!response.headers().contains_key("access-control-allow-origin"));
    }
}

/// Without CORS nothing is said, and a preflight is a method like any other.
#[tokio::test]
async fn off_by_default() {
    let running = Running::build(builder().tool(ok()).origins([APP])).await;
    for (post, status) in [(call(), 200), (preflight(APP, "mcp-method"), 405)] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.field("vary")), (status, None));
        assert!(cors_fields(&reply).is_empty());
    }
}

/// Any origin is echoed, and never by a wildcard.
#[tokio::test]
async fn any_origin_by_its_own_name() {
    let any = builder().tool(ok()).danger_allow_any_origin().cors(Cors::new());
    let running = Running::build(any).await;
    for origin in ["https://evil.example", "null", "http://localhost"] {
        let reply = running.ask(&preflight(origin, "mcp-method")).await;
        assert_eq!(reply.field("access-control-allow-origin"), Some(origin));
        assert!(readable(&running.ask(&call().set("Origin", origin)).await, origin));
    }
}

/// Private Network Access: whoever listed an origin has said that it may, whoever lets any in has not.
#[tokio::test]
async fn pages_of_public_networks() {
    let asks = |wanted: &str| {
        preflight(APP, "mcp-method").add("Access-Control-Request-Private-Network", wanted)
    };
    let listed = Running::build(listed()).await;
    let any = builder().danger_allow_any_origin().cors(Cors::new());
    let any = Running::build(any).await;
    for (running, post, allowed) in [
        (&listed, asks("true"), Some("true")),
        (&listed, asks("false"), None),
        (&listed, preflight(APP, "mcp-method"), None),
        (&any, asks("true"), None),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!(reply.status, 204);
        assert_eq!(reply.field("access-control-allow-private-network"), allowed);
    }
}

#[tokio::test]
async fn more_headers() {
    let cors = Cors::new().allow_headers(["X-Api-Key"]).expose_headers(["X-Request-Id"]);
    let running = Running::build(builder().tool(ok()).origins([APP]).cors(cors)).await;
    let reply = running.ask(&preflight(APP, "x-api-key, x-other")).await;
    let allowed = reply.field("access-control-allow-headers").unwrap();
    assert!(allowed.ends_with(", x-api-key") && !allowed.contains("x-other"), "{allowed}");
    let reply = running.ask(&call()).await;
    assert_eq!(
        reply.field("access-control-expose-headers"),
        Some("www-authenticate, retry-after, x-request-id")
    );
    for name in ["", "a b", "ü", "a,b"] {
        for cors in [Cors::new().allow_headers([name]), Cors::new().expose_headers([name])] {
            let built = builder().cors(cors).build();
            assert!(matches!(built, Err(BuildError::HeaderName(found)) if found == name));
        }
    }
}

/// A service in another stack tells pages the same.
#[tokio::test]
async fn in_axum() {
    let service = listed().build().unwrap().service();
    let app = Router::new().route_service("/tools", service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(listener, app).into_future());
    let mut conn = Conn::open(addr).await;
    let reply = conn.ask(&preflight(APP, "mcp-param-a").line("OPTIONS /tools HTTP/1.1")).await;
    assert_eq!((reply.status, reply.field("access-control-allow-origin")), (204, Some(APP)));
    let reply = conn.ask(&call().line("POST /tools HTTP/1.1")).await;
    assert!(readable(&reply, APP) && reply.tool_text() == "ok");
    let reply = conn.ask(&call().line("GET /tools HTTP/1.1")).await;
    assert_eq!((reply.status, readable(&reply, APP)), (405, true));
    serving.abort();
}
