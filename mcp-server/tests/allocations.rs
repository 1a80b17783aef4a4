//! What one exchange allocates, from a request with its body read to a response: the figures of
//! `CONTRIBUTING.md`, "Numbers we hold". A program of its own, since counting replaces the allocator.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::{AllocationInfo, measure};
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use mcp_server::{Args, Exchange, ExchangeOptions, RequestParts, Server, Tool, scan};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn echo(Args(Text { text }): Args<Text>) -> String {
    text
}

fn server(tools: usize) -> Server {
    let tools =
        (0..tools).map(|n| Tool::new(format!("echo{n}"), echo).description("Echoes its text"));
    Server::builder("counted", "1.0.0").tools(tools).build().unwrap()
}

fn message(method: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"client","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

fn parts(method: &'static str, name: Option<&'static str>) -> RequestParts {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
    headers.insert("mcp-method", HeaderValue::from_static(method));
    if let Some(name) = name {
        headers.insert("mcp-name", HeaderValue::from_static(name));
    }
    RequestParts { headers, ..RequestParts::default() }
}

/// Polls a future that never has to wait.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the exchange had to wait"),
    }
}

/// The allocations of one exchange, the second of two, and the response it came to.
fn exchange(server: &Server, body: &str, parts: &RequestParts) -> (AllocationInfo, String) {
    let mut text = String::new();
    let mut run = |parts: RequestParts| {
        let mut response = None;
        let counted = measure(|| {
            let exchange = Exchange::new(ExchangeOptions::default());
            exchange.connect(server).unwrap();
            response = Some(now(exchange.handle(scan(body.as_bytes()).unwrap(), parts)).unwrap());
        });
        let body = now(response.unwrap().into_body().collect()).unwrap().to_bytes();
        text = String::from_utf8(body.to_vec()).unwrap();
        counted
    };
    run(parts.clone());
    (run(parts.clone()), text)
}

/// What validation adds is the list of the arguments' values and what the validator itself needs.
#[test]
fn an_echo_stays_within_its_allocations_and_4_kib() {
    let body = message("tools/call", r#""name":"echo0","arguments":{"text":"fifty bytes"},"#);
    let (counted, text) = exchange(&server(1), &body, &parts("tools/call", Some("echo0")));
    assert!(text.contains(r#""text":"fifty bytes""#), "{text}");
    println!("echo: {} allocations, {} bytes", counted.count_total, counted.bytes_total);
    let allowed = if cfg!(feature = "validation") { 32 } else { 25 };
    assert!(counted.count_total <= allowed, "{counted:?}");
    assert!(counted.bytes_total <= 4096, "{counted:?}");
}

#[test]
fn a_list_costs_the_same_for_any_number_of_tools() {
    let body = message("tools/list", "");
    let count = |tools| {
        let (counted, text) = exchange(&server(tools), &body, &parts("tools/list", None));
        assert_eq!(text.matches("Echoes its text").count(), tools);
        counted.count_total
    };
    assert_eq!(count(1), count(100));
    println!("list: {} allocations", count(100));
    assert!(count(100) <= 25);
}
