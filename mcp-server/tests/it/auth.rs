//! Authorization: who is let in, to what, and what everybody else is told.
//!
//! Specification: Authorization; RFC 6750, RFC 9728.

mod access;
mod document;
mod scopes;
mod secrets;
mod streams;
mod verifier;

use std::time::{Duration, SystemTime};

use mcp_server::auth::{Access, ResourceServer, StaticTokens};
use mcp_server::{BuildError, Cors, Registry, Server, ServerBuilder, Tool};
use serde_json::json;

use crate::support::{H2, Post, Reply, Running, builder, h2_request, ok};

const METADATA: &str =
    r#"resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp""#;

/// A bearer of all that is asked for by anybody here, of little, and of nothing.
fn tokens() -> StaticTokens {
    let of = |name: &str, scopes: &str| {
        Access::new("https://auth.example.com", name).with_scopes(scopes.split_whitespace())
    };
    StaticTokens::new()
        .token("all", of("root", "basic files:read files:write lists"))
        .token("reader", of("reader", "basic files:read"))
        .token("plain", of("plain", "basic"))
        .token("none", of("none", ""))
        .token("over", of("late", "basic").with_expiry(SystemTime::now() - Duration::from_secs(1)))
}

fn resource() -> ResourceServer {
    ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(tokens())
}

/// A server with a tool that needs nothing, protected by `auth`.
fn guarded(auth: ResourceServer) -> ServerBuilder {
    builder().tool(ok()).auth(auth)
}

fn call(tool: &str) -> Post {
    Post::call(tool, json!({}))
}

fn bearing(post: Post, token: &str) -> Post {
    post.add("Authorization", &format!("Bearer {token}"))
}

/// The challenge, which must be there, once.
fn challenge(reply: &Reply) -> &str {
    reply.field("www-authenticate").unwrap_or_else(|| panic!("no challenge: {reply:?}"))
}

/// Every form of what a request may bring, and what comes of it. The body is an error without id.
#[tokio::test]
async fn what_a_request_brings() {
    let running = Running::build(guarded(resource().required_scopes(["basic"]))).await;
    let plain = format!(r#"Bearer {METADATA}, scope="basic""#);
    let invalid =
        |why: &str| format!(r#"{plain}, error="invalid_token", error_description="{why}""#);
    let malformed =
        |why: &str| format!(r#"{plain}, error="invalid_request", error_description="{why}""#);
    let long = format!("Bearer {}", "a".repeat(16 * 1024 + 1));
    let table: [(&[&str], u16, String); 15] = [
        (&[], 401, plain.clone()),
        (&["Basic YTpi"], 401, plain.clone()),
        (&["DPoP plain"], 401, plain.clone()),
        (&["plain"], 401, plain.clone()),
        (&["Bearer unknown"], 401, invalid("The token is not known")),
        (&["Bearer plainer"], 401, invalid("The token is not known")),
        (&["Bearer over"], 401, invalid("The token has expired")),
        (&[""], 400, malformed("The Authorization header is empty")),
        (&["Bearer"], 400, malformed("The Authorization header has no token")),
        (&["Bearer pl ain"], 400, malformed("The token has characters that no token has")),
        (&["Bearer \"plain\""], 400, malformed("The token has characters that no token has")),
        (
            &["Bearer plain", "Bearer plain"],
            400,
            malformed("The Authorization header must be given once"),
        ),
        (
            &["Basic YTpi", "Bearer plain"],
            400,
            malformed("The Authorization header must be given once"),
        ),
        (&[&long], 400, malformed("The token is longer than 16384 bytes")),
        (
            &["Bearer none"],
            403,
            format!(
                r#"{plain}, error="insufficient_scope", error_description="This needs a token with the scopes: basic""#
            ),
        ),
    ];
    let mut conn = running.connect().await;
    let mut h2 = H2::open(running.addr).await;
    for (fields, status, expected) in table {
        let mut post = call("ok");
        for field in fields {
            post = post.add("Authorization", field);
        }
        // The connection goes on, whatever was refused.
        let reply = conn.ask(&post).await;
        assert_eq!((reply.status, challenge(&reply)), (status, expected.as_str()), "{fields:?}");
        assert!(reply.is_json());
        assert_eq!(reply.code(), Some(-32600), "{fields:?}");
        let id = (status == 403).then(|| json!(1));
        assert_eq!(reply.message().get("id"), id.as_ref(), "{fields:?}");
        let response = h2.send(h2_request("localhost", &post)).await.unwrap();
        assert_eq!(response.status(), status, "{fields:?}");
        assert_eq!(response.headers()["www-authenticate"], expected, "{fields:?}");
    }
    for good in ["Bearer plain", "bearer plain", "BEARER   plain"] {
        let reply = conn.ask(&call("ok").add("Authorization", good)).await;
        assert_eq!(reply.tool_text(), "ok", "{good}");
        assert_eq!(reply.field("www-authenticate"), None);
    }
}

/// Specification: Authorization, Token Requirements.
#[tokio::test]
async fn tokens_elsewhere_are_not_looked_at() {
    let running = Running::build(guarded(resource())).await;
    let query = call("ok").line("POST /mcp?access_token=plain HTTP/1.1");
    let body = Post::rpc("tools/call", json!({ "name": "ok", "access_token": "plain" }));
    let form =
        Post::bare("access_token=plain").set("Content-Type", "application/x-www-form-urlencoded");
    for post in [query, body, form, call("ok").add("Cookie", "access_token=plain")] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, challenge(&reply)), (401, &*format!("Bearer {METADATA}")));
    }
}

/// Each check before another, by requests that fail both: hosts and pages, then the token, then all the rest of the
/// HTTP request, its body included.
#[tokio::test]
async fn a_token_is_asked_for_behind_the_host_and_before_the_rest() {
    let server = guarded(resource()).limits(crate::support::limits(|it| it.body = 2048));
    let running = Running::build(server).await;
    let large = Post::call("ok", json!({ "a": "a".repeat(4096) }));
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    for (post, with_token) in [
        (call("ok").set("Host", "evil.example"), 403),
        (call("ok").add("Origin", "https://evil.example"), 403),
    ] {
        for post in [bearing(post.clone(), "plain"), bearing(post.clone(), "a b"), post] {
            let reply = running.ask(&post).await;
            assert_eq!((reply.status, reply.field("www-authenticate")), (with_token, None));
        }
    }
    for (post, with_token) in [
        (call("ok").line("POST /other HTTP/1.1"), 404),
        (call("ok").line("GET /mcp HTTP/1.1"), 405),
        (call("ok").line("OPTIONS /mcp HTTP/1.1"), 405),
        (call("ok").set("Content-Type", "text/plain"), 415),
        (call("ok").set("Accept", "text/html"), 406),
        (large, 413),
        (call("ok").body("{"), 400),
        // It has no answer, but takes a token like everything else.
        (call("ok").body(notification), 202),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.message().get("id")), (401, None), "{post:?}");
        let reply = running.ask(&bearing(post.clone(), "plain")).await;
        assert_eq!((reply.status, reply.field("www-authenticate")), (with_token, None), "{post:?}");
    }
}

/// Behind what is named, and before what the client can do.
#[tokio::test]
async fn scopes_are_asked_for_once_it_is_known_for_what() {
    let needs_sampling = serde_json::from_value(json!({ "sampling": {} })).unwrap();
    let schema = json!({
        "type": "object",
        "properties": { "p": { "type": "string", "x-mcp-header": "P" } },
    });
    let admin = || Tool::new("admin", async || "").scopes(["admin"]);
    let server = guarded(resource())
        .tool(admin().requires(needs_sampling))
        .tool(Tool::new("mirrored", async || "").input_schema(schema).scopes(["admin"]));
    let running = Running::build(server).await;
    for (post, status, code) in [
        (call("admin").remove("MCP-Protocol-Version"), 400, -32020),
        (call("admin").set("Mcp-Name", "ok"), 400, -32020),
        (call("absent"), 400, -32602),
        (Post::call("mirrored", json!({ "p": "a" })), 400, -32020),
        (Post::call("mirrored", json!({ "p": "a" })).add("Mcp-Param-P", "a"), 403, -32600),
        (call("admin"), 403, -32600),
        (Post::rpc("x/unknown", json!({})), 404, -32601),
        (Post::rpc("tools/list", json!({ "cursor": "wrong" })), 400, -32602),
    ] {
        let reply = running.ask(&bearing(post.clone(), "plain")).await;
        assert_eq!((reply.status, reply.code()), (status, Some(code)), "{post:?}");
        assert_eq!(reply.field("www-authenticate").is_some(), status == 403);
        assert_eq!(reply.message()["id"], 1);
    }
}

/// Nothing of a body is waited for whose sender has no token.
#[tokio::test]
async fn a_body_is_not_read_before_its_token_was() {
    let running = Running::build(guarded(resource())).await;
    // It was announced and never comes.
    let mut conn = running.connect().await;
    conn.send(&call("ok").set("Content-Length", "1000000").body("").head()).await;
    assert_eq!(conn.reply().await.status, 401);
    // The answer to a request that asks first is not to send it.
    let mut conn = running.connect().await;
    let asks = call("ok").add("Expect", "100-continue").set("Content-Length", "1000000").body("");
    conn.send(&asks.head()).await;
    assert_eq!(conn.reply().await.status, 401);
    // What is sent all the same is not taken for the next request.
    let mut conn = running.connect().await;
    let smuggled = call("ok").body(bearing(call("ok"), "plain").bytes());
    conn.send(&smuggled.bytes()).await;
    assert_eq!(conn.reply().await.status, 401);
    assert_eq!(conn.ask(&bearing(call("ok"), "plain")).await.tool_text(), "ok");
    // And an endless one ends the connection rather than being read.
    let mut conn = running.connect().await;
    conn.send(&call("ok").set("Transfer-Encoding", "chunked").body("").head()).await;
    assert_eq!(conn.reply().await.status, 401);
    let chunk = [b"10000\r\n".as_slice(), &[b'a'; 0x10000], b"\r\n"].concat();
    let mut sent = 0;
    while tokio::io::AsyncWriteExt::write_all(&mut conn.stream, &chunk).await.is_ok() {
        sent += 1;
        assert!(sent < 1000, "it reads on");
    }
}

#[tokio::test]
async fn optional_means_that_nobody_has_to_say_who_they_are() {
    let admin = Tool::new("admin", async || "admin").scopes(["files:write"]);
    let who = Tool::new("who", async |access: Option<Access>| {
        access.map_or_else(|| "nobody".to_owned(), |access| access.subject().to_owned())
    });
    let auth = resource().optional().required_scopes(["basic"]);
    let running = Running::build(guarded(auth).tools([admin, who])).await;
    assert_eq!(running.ask(&call("who")).await.tool_text(), "nobody");
    assert_eq!(running.ask(&bearing(call("who"), "plain")).await.tool_text(), "plain");
    assert_eq!(running.ask(&Post::rpc("tools/list", json!({}))).await.status, 200);
    // What takes scopes takes a token, and says at once what that has to be good for.
    let reply = running.ask(&call("admin")).await;
    let expected = format!(r#"Bearer {METADATA}, scope="basic files:write""#);
    assert_eq!((reply.status, challenge(&reply)), (401, &*expected));
    assert_eq!(reply.message()["id"], 1);
    assert_eq!(running.ask(&bearing(call("admin"), "all")).await.tool_text(), "admin");
    // A bad token is none the better for that.
    for bad in ["Bearer unknown", "Bearer over", "Basic YTpi"] {
        assert_eq!(running.ask(&call("ok").add("Authorization", bad)).await.status, 401, "{bad}");
    }
    assert_eq!(running.ask(&call("ok").add("Authorization", "Bearer")).await.status, 400);
}

/// A page reads the challenge, and its preflight needs no token.
#[tokio::test]
async fn pages() {
    const APP: &str = "https://app.example";
    let running = Running::build(guarded(resource()).origins([APP]).cors(Cors::new())).await;
    let preflight = Post::bare("")
        .line("OPTIONS /mcp HTTP/1.1")
        .add("Origin", APP)
        .add("Access-Control-Request-Method", "POST")
        .add("Access-Control-Request-Headers", "authorization,content-type");
    let reply = running.ask(&preflight).await;
    assert_eq!(reply.status, 204);
    assert!(reply.field("access-control-allow-headers").unwrap().contains("authorization"));
    let reply = running.ask(&call("ok").add("Origin", APP)).await;
    assert_eq!(reply.status, 401);
    assert_eq!(reply.field("access-control-allow-origin"), Some(APP));
    assert!(reply.field("access-control-expose-headers").unwrap().contains("www-authenticate"));
}

#[test]
fn what_cannot_be_protected_is_not_built() {
    type Change = fn(ServerBuilder) -> ServerBuilder;
    let unverified = || ResourceServer::new("https://h/mcp").authorization_server("https://a");
    let complete = || unverified().verifier(tokens());
    let at = |resource: &str| {
        ResourceServer::new(resource).authorization_server("https://a").verifier(tokens())
    };
    let from = |issuer: &str| resource().authorization_server(issuer);
    let table = [
        (unverified(), "needs a .verifier(..)"),
        (
            ResourceServer::new("https://h/mcp").verifier(tokens()),
            "needs an .authorization_server(..)",
        ),
        (at("http://h/mcp"), "is not https"),
        (at("https://h/mcp#x"), "has a fragment"),
        (at("h/mcp"), "is no"),
        (from("http://a"), "is not https"),
        (from("https://a?x=1"), "has a query"),
        (complete().required_scopes(["a b"]), "\"a b\" is no scope"),
        (complete().scopes_supported([""]), "\"\" is no scope"),
        (complete().implies("a b", ["a"]), "\"a b\" is no scope"),
        (complete().implies("a", ["ä"]), "\"ä\" is no scope"),
        (complete().required_scopes(["offline_access"]), "offline_access"),
    ];
    for (auth, why) in table {
        let error = builder().auth(auth).build().unwrap_err();
        assert!(error.to_string().contains(why), "{error}, not {why}");
    }
    let changes: [(Change, &str); 4] = [
        (|server| server.tool(ok().scopes(["a"])), "\"ok\" requires scopes"),
        (|server| server.tool(ok().scopes_for(|_| ["a"])), "\"ok\" requires scopes"),
        (|server| server.tool(ok().scopes(["a b"])).auth(resource()), "\"a b\" is no scope"),
        (|server| server.merge(Registry::new().tool(ok().scopes(["a"]))), "\"ok\" requires scopes"),
    ];
    for (change, why) in changes {
        let error = change(builder()).build().unwrap_err();
        assert!(error.to_string().contains(why), "{error}, not {why}");
    }
    // Nothing gets lost on the way into another server.
    let error = builder().mount("a_", guarded(resource())).build().unwrap_err();
    assert!(matches!(error, BuildError::Unprotected("authorization")), "{error}");
    // Nor later.
    let server: Server = builder().tool(ok()).build().unwrap();
    let error = server.edit().add_tool(Tool::new("new", async || "").scopes(["a"])).apply();
    assert!(matches!(error, Err(BuildError::ScopesWithoutAuth(name)) if name == "new"));
    for resource in ["http://localhost:8080/mcp", "http://127.0.0.1/mcp", "http://[::1]:1"] {
        builder().auth(at(resource).authorization_server("http://localhost:9000")).build().unwrap();
    }
}
