//! How many allocations a call makes, sockets aside: what is counted includes the boxes around the HTTP
//! layer and the response that the layer in the test makes, but no connection.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use allocation_counter::{AllocationInfo, measure};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use mcp_client::Client;
use mcp_client::types::CallToolResult;
use serde::Serialize;
use tower_service::Service;

const RESULT: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"5"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;

#[derive(Serialize)]
struct Add {
    a: f64,
    b: f64,
}

/// Answers every request with the same body, which is for the request with id 2.
#[derive(Clone)]
struct Canned {
    content_type: &'static str,
    body: Bytes,
}

impl Service<Request<Full<Bytes>>> for Canned {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request<Full<Bytes>>) -> Self::Future {
        let mut response = Response::new(Full::new(self.body.clone()));
        let content_type = HeaderValue::from_static(self.content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        ready(Ok(response))
    }
}

/// What the second call of a client allocates.
fn second_call(content_type: &'static str, body: String) -> AllocationInfo {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let client = Client::builder("http://canned/mcp")
        .service(Canned { content_type, body: body.into() })
        .build()
        .unwrap();
    let call = || client.call_tool("add", Add { a: 2.0, b: 3.0 }).into_future();
    // The first one gets an answer with the wrong id, and warms up what is lazy.
    runtime.block_on(call()).unwrap_err();
    measure(|| {
        runtime.block_on(call()).unwrap();
    })
}

#[test]
fn a_call_makes_at_most_40_allocations() {
    let message = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{RESULT}}}"#);
    let json = second_call("application/json", message.clone());
    let sse = second_call("text/event-stream", format!("data: {message}\n\n"));
    for (kind, info) in [("JSON", json), ("SSE", sse)] {
        println!("{kind}: {} allocations, {} bytes", info.count_total, info.bytes_total);
        assert!(info.count_total <= 40, "{kind}: {info:?}");
    }
}

#[test]
fn decoding_a_small_tool_result_makes_at_most_8_allocations() {
    let info = measure(|| {
        let result: CallToolResult = serde_json::from_str(RESULT).unwrap();
        assert_eq!(result.content.len(), 1);
    });
    println!("decoding: {} allocations, {} bytes", info.count_total, info.bytes_total);
    assert!(info.count_total <= 8, "{info:?}");
}
