//! The metadata of the protected resource: where it is, for whom, and what it says. (T: RFC 9728, section 3.)

use axum::Router;
use mcp_server::auth::ResourceServer;
use mcp_server::{Cors, Server};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{bearing, call, guarded, resource, tokens};
use crate::support::{Conn, H2, Post, Reply, Running, builder, ok};

const PATH: &str = "/.well-known/oauth-protected-resource/mcp";
const ROOT: &str = "/.well-known/oauth-protected-resource";

fn get(path: &str) -> Post {
    Post::bare("").line(&format!("GET {path} HTTP/1.1")).remove("Content-Type").set("Accept", "*/*")
}

fn document(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.is_json());
    assert_eq!(reply.field("access-control-allow-origin"), Some("*"));
    assert_eq!(reply.field("cache-control"), Some("public, max-age=300"));
    serde_json::from_slice(&reply.body).unwrap()
}

/// Without a token, at both places, and to everybody.
#[tokio::test]
async fn it_is_at_both_places() {
    let auth = resource().scopes_supported(["files:read"]).required_scopes(["basic"]).metadata(
        |document| {
            document.resource_name = Some("Files".to_owned());
            document.resource = "https://evil.example".to_owned();
        },
    );
    let running = Running::build(guarded(auth)).await;
    let expected = json!({
        "resource": "https://mcp.example.com/mcp",
        "authorization_servers": ["https://auth.example.com"],
        "scopes_supported": ["files:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Files",
    });
    let mut conn = running.connect().await;
    for path in [PATH, ROOT, &format!("{PATH}?x=1")] {
        assert_eq!(document(&conn.ask(&get(path)).await), expected, "{path}");
        let from_a_page = get(path).add("Origin", "https://any.example");
        assert_eq!(document(&conn.ask(&from_a_page).await), expected, "{path}");
        // A token changes nothing, be it the worst.
        assert_eq!(document(&conn.ask(&bearing(get(path), "unknown")).await), expected, "{path}");
    }
    for path in
        ["/.well-known/oauth-protected-resource/", "/.well-known/oauth-protected-resource/other"]
    {
        assert_eq!(conn.ask(&get(path)).await.status, 401, "{path}");
        assert_eq!(conn.ask(&bearing(get(path), "plain")).await.status, 404, "{path}");
    }
    let elsewhere = conn.ask(&get(PATH).set("Host", "evil.example")).await;
    assert_eq!((elsewhere.status, elsewhere.code()), (403, Some(-32600)));
}

#[tokio::test]
async fn other_methods() {
    let running = Running::build(guarded(resource()).cors(Cors::new())).await;
    let mut conn = running.connect().await;
    let whole = conn.ask(&get(PATH)).await;
    // The head says as much as that of the whole, and nothing follows it.
    conn.send(&get(PATH).line(&format!("HEAD {PATH} HTTP/1.1")).bytes()).await;
    let head = conn.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.field("content-length"), Some(&*whole.body.len().to_string()));
    assert_eq!(head.field("cache-control"), whole.field("cache-control"));
    assert_eq!(conn.ask(&get(PATH)).await.body, whole.body);
    let reply = conn.ask(&get(PATH).line(&format!("POST {PATH} HTTP/1.1"))).await;
    assert_eq!((reply.status, reply.field("allow")), (405, Some("GET, HEAD")));
    // Clients in pages send a header of the protocol, for which a browser asks leave.
    let preflight = get(PATH)
        .line(&format!("OPTIONS {PATH} HTTP/1.1"))
        .add("Origin", "https://any.example")
        .add("Access-Control-Request-Method", "GET")
        .add("Access-Control-Request-Headers", "mcp-protocol-version");
    let reply = conn.ask(&preflight).await;
    assert_eq!((reply.status, reply.field("access-control-allow-origin")), (204, Some("*")));
    assert_eq!(reply.field("access-control-allow-headers"), Some("*"));
    let mut h2 = H2::open(running.addr).await;
    for (method, length) in [("GET", whole.body.len()), ("HEAD", 0)] {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://localhost{PATH}"))
            .body(http_body_util::Full::default())
            .unwrap();
        let response = h2.send(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-length"], whole.body.len().to_string());
        let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap();
        assert_eq!(body.to_bytes().len(), length, "{method}");
    }
}

#[tokio::test]
async fn places_follow_from_the_resource() {
    let table = [
        ("https://h", vec![ROOT], vec![PATH]),
        ("https://h/", vec![ROOT], vec![PATH]),
        ("https://h:8443/a/b", vec!["/.well-known/oauth-protected-resource/a/b", ROOT], vec![PATH]),
        (
            "https://h/mcp?t=1",
            vec!["/.well-known/oauth-protected-resource/mcp?t=1", ROOT],
            vec![PATH, "/.well-known/oauth-protected-resource/mcp?t=2"],
        ),
    ];
    for (resource, there, not_there) in table {
        let auth = ResourceServer::new(resource)
            .authorization_server("https://auth.example.com")
            .verifier(tokens());
        let running = Running::build(guarded(auth)).await;
        let mut conn = running.connect().await;
        for path in there {
            assert_eq!(document(&conn.ask(&get(path)).await)["resource"], resource, "{path}");
        }
        for path in not_there {
            assert_eq!(conn.ask(&get(path)).await.status, 401, "{resource} {path}");
        }
    }
}

/// Without scopes nothing is said of them, and without authorization there is no document.
#[tokio::test]
async fn what_is_not_known_is_not_said() {
    let running = Running::build(guarded(resource())).await;
    assert_eq!(document(&running.ask(&get(PATH)).await).get("scopes_supported"), None);
    let running = Running::build(guarded(resource().required_scopes(["basic"]))).await;
    assert_eq!(document(&running.ask(&get(PATH)).await)["scopes_supported"], json!(["basic"]));
    let open: Server = builder().tool(ok()).build().unwrap();
    assert!(open.metadata_service().is_none());
    assert_eq!(Running::start(open).await.ask(&get(PATH)).await.status, 404);
}

#[tokio::test]
async fn in_axum() {
    let server: Server = guarded(resource()).build().unwrap();
    let metadata = server.metadata_service().unwrap();
    assert_eq!(metadata.paths(), [PATH, ROOT]);
    let mut router = Router::new().route_service("/mcp", server.service());
    for path in metadata.paths() {
        router = router.route_service(&path, metadata.clone());
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(listener, router).into_future());
    let mut conn = Conn::open(addr).await;
    assert_eq!(conn.ask(&call("ok")).await.status, 401);
    assert_eq!(conn.ask(&bearing(call("ok"), "plain")).await.tool_text(), "ok");
    for path in [PATH, ROOT] {
        document(&conn.ask(&get(path)).await);
        assert_eq!(conn.ask(&get(path).set("Host", "evil.example")).await.status, 403);
    }
    serving.abort();
}
