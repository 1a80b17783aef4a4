//! What framing costs: the envelope scan, events in and out, a header value.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcp_transport::header::{ParamHeaders, encode_value};
use mcp_transport::json::scan;
use mcp_transport::limits::MAX_EVENT;
use mcp_transport::sse::{Decoder, write_event};

fn call(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// 64 KiB of many small values, where the scan has to look at every byte.
fn structured() -> String {
    let row = r#"{"id":12345,"name":"a name","tags":["x","y"],"on":true,"at":1.5e3},"#;
    let rows = row.repeat(64 * 1024 / row.len());
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"rows":[{}]}}}}"#, rows.trim_end_matches(','))
}

fn scans(c: &mut Criterion) {
    let mut group = c.benchmark_group("scan");
    let bodies = [
        ("50 B", call(&"x".repeat(50))),
        ("64 KiB text", call(&"lorem ipsum dolor ".repeat(64 * 1024 / 18))),
        ("64 KiB escapes", call(&r#"line \"one\"\n"#.repeat(64 * 1024 / 14))),
        ("64 KiB structure", structured()),
    ];
    for (name, body) in &bodies {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(*name, |b| b.iter(|| scan(black_box(body.as_bytes())).is_ok()));
        group.bench_function(format!("{name}, serde_json for comparison"), |b| {
            b.iter(|| {
                serde_json::from_slice::<serde_json::Value>(black_box(body.as_bytes())).is_ok()
            });
        });
    }
    group.finish();
}

fn events(c: &mut Criterion) {
    let mut group = c.benchmark_group("sse");
    for (name, size) in [("50 B", 50), ("64 KiB", 64 * 1024)] {
        let json = call(&"x".repeat(size));
        let mut stream = Vec::new();
        write_event(&mut stream, &json);
        let stream = Bytes::from(stream);
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_function(format!("decode {name}"), |b| {
            let mut decoder = Decoder::new(MAX_EVENT);
            b.iter(|| {
                decoder.push(stream.clone());
                decoder.next().is_ok()
            });
        });
        group.bench_function(format!("encode {name}"), |b| {
            let mut out = Vec::new();
            b.iter(|| {
                out.clear();
                write_event(&mut out, black_box(&json));
                out.len()
            });
        });
    }
    group.finish();
}

fn headers(c: &mut Criterion) {
    let mut group = c.benchmark_group("header");
    for (name, text) in [("plain", "us-west1"), ("base64", "Grüße")] {
        group
            .bench_function(format!("encode {name}"), |b| b.iter(|| encode_value(black_box(text))));
    }
    let schema =
        r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    let plan = ParamHeaders::compile(schema).expect("the annotation is valid");
    let arguments = r#"{"region":"us-west1","query":"SELECT * FROM users"}"#;
    let mut map = http::HeaderMap::new();
    plan.mirror(Some(arguments), &mut map).expect("a short string can be mirrored");
    group.bench_function("verify one parameter", |b| {
        b.iter(|| plan.verify(black_box(Some(arguments)), &map).is_ok())
    });
    group.finish();
}

criterion_group!(benches, scans, events, headers);
criterion_main!(benches);
