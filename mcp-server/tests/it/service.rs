//! The server as a tower service: in axum, behind layers, and called by hand.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use mcp_server::{Body, Caller, Context, Extension, McpService, PeerAddr, Tool};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower_service::Service;

use crate::support::{
    Bell, Conn, Post, builder, h2_request, limits, ok, server, tool_text, watched, within,
};

#[derive(Clone)]
struct Tenant(&'static str);

fn who() -> Tool {
    Tool::new("who", async |context: Context, tenant: Option<Extension<Tenant>>| {
        let tenant = tenant.map(|Extension(Tenant(name))| name);
        let caller = context.caller().map(|caller| caller.principal().to_owned());
        format!("{tenant:?} {caller:?} {:?}", context.peer_addr())
    })
}

/// Mounted where a router says, behind its layers.
#[tokio::test]
async fn in_axum() {
    let service = server([who(), ok()]).service();
    let app = Router::new()
        .route_service("/tools", service.clone())
        .layer(axum::Extension(Tenant("acme")))
        .layer(axum::Extension(Caller::new("alice")))
        .nest_service("/nested/mcp", service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(listener, app).into_future());
    let mut conn = Conn::open(addr).await;
    let post = |path: &str| Post::call("who", json!({})).line(&format!("POST {path} HTTP/1.1"));
    assert_eq!(conn.ask(&post("/tools")).await.tool_text(), r#"Some("acme") Some("alice") None"#);
    assert_eq!(conn.ask(&post("/nested/mcp")).await.tool_text(), "None None None");
    assert_eq!(conn.ask(&post("/other")).await.status, 404);
    // Every check but that of the path is the service's own.
    for (post, status) in [
        (post("/tools").set("Host", "evil.example"), 403),
        (post("/tools").add("Origin", "http://evil.example"), 403),
        (post("/tools").line("GET /tools HTTP/1.1"), 405),
        (post("/tools").set("Content-Type", "text/plain"), 415),
        (post("/tools").set("Accept", "text/html"), 406),
        (post("/tools").body("{"), 400),
        (Post::rpc("no/such", json!({})).line("POST /tools HTTP/1.1"), 404),
        (Post::bare(r#"{"jsonrpc":"2.0","method":"a"}"#).line("POST /tools HTTP/1.1"), 202),
    ] {
        assert_eq!(conn.ask(&post).await.status, status);
    }
    serving.abort();
}

/// T12: the limit is the server's, whatever the framework around it allows.
#[tokio::test]
async fn the_body_limit_holds_in_axum() {
    let server = builder().tool(ok()).limits(limits(|limits| limits.body = 1000)).build().unwrap();
    let app = Router::new().route_service("/mcp", server.service());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(listener, app).into_future());
    let large = Post::call("ok", json!({ "a": "x".repeat(1000) }));
    for bytes in [large.bytes(), large.chunked(100)] {
        let mut conn = Conn::open(addr).await;
        conn.send(&bytes).await;
        assert_eq!(conn.reply().await.status, 413);
    }
    serving.abort();
}

/// A layer by hand: who authenticates puts the caller into the extensions.
#[derive(Clone)]
struct Authenticate<S>(S);

impl<B, S: Service<Request<B>>> Service<Request<B>> for Authenticate<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        if request.headers().get("authorization").is_some_and(|token| token == "Bearer bob's") {
            request.extensions_mut().insert(Caller::new("bob"));
        }
        request.extensions_mut().insert(PeerAddr(([10, 0, 0, 1], 7).into()));
        self.0.call(request)
    }
}

async fn message(response: Result<Response<Body>, Infallible>) -> Value {
    let body = within(response.unwrap().into_body().collect()).await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn behind_a_layer_made_by_hand() {
    let mut service = Authenticate(server([who()]).service());
    let post = Post::call("who", json!({}));
    for (post, expected) in [
        (post.clone(), "None None Some(10.0.0.1:7)"),
        (post.clone().add("Authorization", "Bearer eve's"), "None None Some(10.0.0.1:7)"),
        (post.add("Authorization", "Bearer bob's"), r#"None Some("bob") Some(10.0.0.1:7)"#),
    ] {
        let response = within(service.call(h2_request("localhost", &post))).await;
        assert_eq!(tool_text(&message(response).await), expected);
    }
}

/// What middlewares demand of a service.
#[tokio::test]
async fn it_is_a_service_like_any_other() {
    fn demanding<S: Clone + Send + Sync + Unpin + 'static>(_: &S) {}
    let mut service: McpService = server([ok()]).service();
    demanding(&service);
    let waker = std::task::Waker::noop();
    let ready = Service::<Request<Full<Bytes>>>::poll_ready(
        &mut service,
        &mut TaskContext::from_waker(waker),
    );
    assert!(matches!(ready, Poll::Ready(Ok(()))));
    let future = service.call(h2_request("localhost", &Post::call("ok", json!({}))));
    let response = within(tokio::spawn(future)).await.unwrap();
    // Its length is known, so that no chunks are needed.
    assert!(http_body::Body::size_hint(response.as_ref().unwrap().body()).exact().is_some());
    assert_eq!(tool_text(&message(response).await), "ok");
}

/// Bodies of any kind: without a length, failing, never ending.
#[tokio::test]
async fn bodies_of_any_kind() {
    let server = builder()
        .tool(ok())
        .limits(limits(|limits| {
            limits.body = 1000;
            limits.body_time = Duration::from_millis(50);
        }))
        .build()
        .unwrap();
    let mut service = server.service();
    let post = Post::call("ok", json!({}));
    let mut ask = |pieces: Vec<Piece>, endless: bool| {
        let body = Pieces { pieces: pieces.into(), endless };
        let request = h2_request("localhost", &post).map(|_| body);
        service.call(request)
    };
    let content = post.content().to_vec();
    let data = |bytes: &[u8]| Ok(Frame::data(Bytes::copy_from_slice(bytes)));
    let bytewise = || content.iter().map(|byte| data(&[*byte])).collect::<Vec<_>>();
    let trailers = || Ok(Frame::trailers(http::HeaderMap::new()));
    let table = [
        (bytewise(), false, 200),
        (
            [vec![data(b"")], bytewise(), vec![data(b""), trailers()]]
                .into_iter()
                .flatten()
                .collect(),
            false,
            200,
        ),
        (vec![data(&content[..50]), Err(io::Error::other("gone"))], false, 400),
        (vec![Err(io::Error::other("gone"))], false, 400),
        (vec![], false, 400),
        (vec![data(&[b' '; 1000]), data(b" ")], true, 413),
        (vec![data(&[b' '; 1001])], true, 413),
        (vec![data(&content[..50])], true, 408),
        (vec![], true, 408),
    ];
    for (row, (pieces, endless, status)) in table.into_iter().enumerate() {
        let response = within(ask(pieces, endless)).await.unwrap();
        assert_eq!(response.status(), status, "row {row}");
    }
}

/// The pieces of a body, which may have no end.
struct Pieces {
    pieces: VecDeque<Piece>,
    endless: bool,
}

type Piece = Result<Frame<Bytes>, io::Error>;

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<Piece>> {
        match self.pieces.pop_front() {
            None if self.endless => Poll::Pending,
            piece => Poll::Ready(piece),
        }
    }
}

/// Dropping the response's future, or its body, is cancelling the call.
#[tokio::test]
async fn dropping_the_response_cancels() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    let ring = begun.clone();
    let hangs = Tool::new("hangs", move |progress: mcp_server::Progress| {
        let (begun, flag) = (ring.clone(), flag());
        async move {
            let _flag = flag;
            progress.report(1);
            begun.ring();
            std::future::pending::<String>().await
        }
    });
    let mut service = server([hangs]).service();
    let call = |token: Value| {
        let mut meta = crate::support::meta();
        if !token.is_null() {
            meta["progressToken"] = token;
        }
        h2_request("localhost", &Post::rpc("tools/call", json!({ "name": "hangs", "_meta": meta })))
    };
    let waiting = tokio::spawn(service.call(call(json!(null))));
    begun.rung().await;
    assert!(dropped.none_dropped());
    waiting.abort();
    dropped.dropped().await;
    let response = within(service.call(call(json!(1)))).await.unwrap();
    begun.rung().await;
    assert!(dropped.none_dropped());
    drop(response);
    dropped.dropped().await;
}
