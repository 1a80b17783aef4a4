//! How many connections there are, and when they end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_client::Client;

use crate::support::{OK, Reply, Server, call, result, text};

const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}"#;

// S12: JSON and streams by turns.
#[tokio::test]
async fn twenty_calls_are_one_connection() {
    let big = format!(
        r#"{{"content":[{{"type":"text","text":"ok"}}],"structuredContent":"{}"}}"#,
        "x".repeat(1 << 20)
    );
    let kinds = [
        Reply::json(&result(OK)),
        Reply::sse(&[&result(OK)]),
        Reply::sse(&[LOG, LOG, &result(OK)]),
        Reply::json(&result(&big)),
        Reply::body("400 Bad Request", "application/json", &crate::support::error(-32602, "1")),
    ];
    let server = Server::start(kinds.iter().cycle().take(20).cloned()).await;
    let client = server.client();
    for nth in 0..20 {
        match call(&client).await {
            Ok(text) => assert_eq!(text, "ok"),
            Err(error) => assert_eq!((nth % 5, error.rpc().is_some()), (4, true), "{error:?}"),
        }
    }
    assert_eq!(server.requests().len(), 20);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn calls_at_once_do_not_wait_for_each_other() {
    // C10: the first is never answered.
    let server = Server::start([Reply::raw("").hang(), Reply::json(&result(OK))]).await;
    let client = server.client();
    let stuck = client.call_tool("t", ()).into_future();
    let stuck = tokio::spawn(stuck);
    server.received().await;
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert!(!stuck.is_finished());
    stuck.abort();
    server.closed().await;
}

// H10: a call is cancelled by closing its connection, and by nothing else.
#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let table = [
        ("before the head", Reply::raw("").hang()),
        (
            "before the body",
            Reply::raw(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
            content-length: 5\r\n\r\n",
            )
            .hang(),
        ),
        ("within a stream", Reply::open_sse(&[LOG])),
    ];
    for (name, reply) in table {
        let server = Server::start([reply]).await;
        let call = tokio::spawn(server.client().call_tool("t", ()).into_future());
        server.received().await;
        call.abort();
        server.closed().await;
        assert_eq!(server.methods(), ["tools/call"], "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_stays_open_behind_its_response_is_closed() {
    let server = Server::start([Reply::open_sse(&[&result(OK)]), Reply::json(&result(OK))]).await;
    let client = server.client();
    assert_eq!(call(&client).await.unwrap(), "ok");
    server.closed().await;
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(server.connections(), 2);
}

// S6: a stream that is reset does no harm to the others on its connection.
#[tokio::test]
async fn http2_carries_calls_side_by_side() {
    let (url, connections) = http2().await;
    let client = Client::builder(url).http2_prior_knowledge().build().unwrap();
    // The connection is there before the others want it.
    assert_eq!(call(&client).await.unwrap(), "ok");
    let calls: Vec<_> = (0..20)
        .map(|nth| {
            let tool = if nth % 4 == 0 { "lost" } else { "t" };
            (tool, tokio::spawn(client.call_tool(tool, ()).into_future()))
        })
        .collect();
    for (tool, call) in calls {
        match call.await.unwrap() {
            Ok(result) => assert_eq!((tool, text(&result).as_str()), ("t", "ok")),
            Err(error) => assert!(tool == "lost" && error.is_transport(), "{error:?}"),
        }
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[cfg(not(feature = "tls"))]
#[test]
fn https_needs_a_feature() {
    let error = Client::http("https://example.com/mcp").unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("feature `tls`"), "{error}");
}

/// A server of HTTP/2, without the upgrade, and how many connections it has had. The tool `lost` breaks
/// its stream off.
async fn http2() -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let service = service_fn(async |request: Request<Incoming>| {
                assert_eq!(request.version(), http::Version::HTTP_2);
                let is_lost = request.headers()["mcp-name"] == "lost";
                let body = request.into_body().collect().await?.to_bytes();
                let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
                let answer = result(OK).replace("{id}", &message["id"].to_string());
                let event = Ok(Frame::data(Bytes::from(format!("data: {answer}\n\n"))));
                let frame = if is_lost { Err("lost") } else { event };
                let response = Response::builder().header("content-type", "text/event-stream");
                hyper::Result::Ok(response.body(Once(Some(frame))).unwrap())
            });
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
        }
    });
    (url, connections)
}

/// A body of one frame.
struct Once(Option<Result<Frame<Bytes>, &'static str>>);

impl Body for Once {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(self.0.take())
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_not_used_again() {
    let headers = "content-type: application/json\r\nconnection: close\r\n";
    let closing = Reply::head("200 OK", headers, &result(OK)).close();
    let server = Server::start([closing, Reply::json(&result(OK))]).await;
    let client = server.client();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(server.connections(), 2);
}
