//! hyper-util's client alone: encodes the message, posts it, decodes the answer; no timeout, no check.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    id: usize,
    method: &'static str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    #[serde(rename = "_meta")]
    meta: &'a RawValue,
    name: &'static str,
    arguments: Arguments<'a>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    result: Outcome,
}

#[derive(Deserialize)]
struct Outcome {
    content: Vec<Content>,
}

#[derive(Deserialize)]
struct Content {
    text: String,
}

type Pool = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn client() -> Pool {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

pub(crate) async fn calls(client: Pool, uri: Uri, text: String, calls: usize) {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-client","version":"0.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let meta = RawValue::from_string(meta.to_owned()).unwrap();
    for id in 0..calls {
        let params = Params { meta: &meta, name: "echo", arguments: Arguments { text: &text } };
        let message = Message { jsonrpc: "2.0", id, method: "tools/call", params };
        let body = serde_json::to_vec(&message).unwrap();
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        let value = HeaderValue::from_static;
        headers.insert(header::CONTENT_TYPE, value("application/json"));
        headers.insert(header::ACCEPT, value("application/json, text/event-stream"));
        headers.insert("mcp-protocol-version", value("2026-07-28"));
        headers.insert("mcp-method", value("tools/call"));
        headers.insert("mcp-name", value("echo"));
        let response = client.request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let answer: Answer = serde_json::from_slice(&body).unwrap();
        assert_eq!(answer.result.content.first().map(|it| it.text.len()), Some(text.len()));
    }
}
