//! One exchange without sockets: from a message's bytes to a response.
//!
//! `cargo bench -p mcp-server --bench exchange`

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a program that measures, of no use once something is wrong"
)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::{HeaderMap, HeaderValue};
use mcp_server::{Args, Exchange, ExchangeOptions, Progress, RequestParts, Server, Tool, scan};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn echo(Args(Text { text }): Args<Text>) -> String {
    text
}

async fn count(progress: Progress) -> &'static str {
    for n in 1..=10 {
        progress.report_of(n, 10);
    }
    "done"
}

fn message(method: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}"_meta":{{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"client","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

fn call(name: &str, text: &str) -> String {
    message("tools/call", &format!(r#""name":"{name}","arguments":{{"text":"{text}"}},"#))
}

fn headers(method: &'static str, name: Option<&'static str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
    headers.insert("mcp-method", HeaderValue::from_static(method));
    if let Some(name) = name {
        headers.insert("mcp-name", HeaderValue::from_static(name));
    }
    headers
}

fn exchanges(c: &mut Criterion) {
    let more =
        (1..100).map(|n| Tool::new(format!("echo-{n}"), echo).description("Echoes its text"));
    let server = Server::builder("bench", "1.0.0")
        .tool(Tool::new("echo", echo))
        .tool(Tool::new("count", count))
        .tools(more)
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let cases = [
        ("echo-50", call("echo", &"x".repeat(50)), headers("tools/call", Some("echo"))),
        ("echo-64k", call("echo", &"x".repeat(64 * 1024)), headers("tools/call", Some("echo"))),
        ("list-100", message("tools/list", ""), headers("tools/list", None)),
        ("progress-10", call("count", ""), headers("tools/call", Some("count"))),
    ];
    let mut group = c.benchmark_group("exchange");
    for (name, body, headers) in cases {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let exchange = Exchange::new(ExchangeOptions::default());
                exchange.connect(&server).unwrap();
                let parts = RequestParts { headers: headers.clone(), ..RequestParts::default() };
                let message = scan(body.as_bytes()).unwrap();
                runtime.block_on(exchange.handle(message, parts)).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, exchanges);
criterion_main!(benches);
