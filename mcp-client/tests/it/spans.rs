//! Spans of requests, by the names of OpenTelemetry's semantic conventions for MCP.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_client::testing::{Reply, Script};
use mcp_client::types::{ErrorObject, SubscriptionFilter, TraceContext};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::hear;

/// The fields of the spans of requests, in order.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<BTreeMap<String, String>>>>);

struct Into<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Into<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == "mcp.request"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock().unwrap();
        let mut fields = BTreeMap::new();
        attributes.record(&mut Into(&mut fields));
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let nth = usize::try_from(id.into_u64()).unwrap() - 1;
        values.record(&mut Into(&mut self.0.lock().unwrap()[nth]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_request_has_a_span() {
    let error: ErrorObject =
        serde_json::from_value(json!({ "code": -32602, "message": "no" })).unwrap();
    let script = Script::new([
        Reply::result(&json!({ "resultType": "input_required", "requestState": "s" })),
        Reply::result(&json!({ "content": [] })),
        Reply::error(&error),
        Reply::disconnect(),
        Reply::result(&json!({ "contents": [] })),
    ]);
    let client = script.client();
    let spans = Spans::default();
    let guard = hear(spans.clone());
    client.call_tool("weather", json!({ "secret": 1 })).await.unwrap();
    client.get_prompt("review", ()).await.unwrap_err();
    client.list_tools().await.unwrap_err();
    client.read_resource("file:///private").await.unwrap();
    drop(guard);

    let spans = spans.0.lock().unwrap().clone();
    let found: Vec<_> = spans.iter().map(|span| span["otel.name"].as_str()).collect();
    let weather = "tools/call weather";
    assert_eq!(found, [weather, weather, "prompts/get review", "tools/list", "resources/read"]);
    let expected = json!({
        "otel.name": weather,
        "otel.kind": "client",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
    });
    assert_eq!(json!(spans[0]), expected);
    assert_eq!(spans[1]["jsonrpc.request.id"], "2");
    assert_eq!(spans[2]["gen_ai.prompt.name"], "review");
    assert_eq!(spans[2]["error.type"], "-32602");
    assert_eq!(spans[2]["rpc.response.status_code"], "-32602");
    assert_eq!(spans[3]["error.type"], "transport");
    let all = format!("{spans:?}");
    assert!(!all.contains("secret") && !all.contains("private"), "{all}");
}

#[tokio::test]
async fn the_trace_goes_along() {
    let asking = json!({ "resultType": "input_required", "requestState": "s" });
    let script = Script::new([
        Reply::result(&asking),
        Reply::result(&json!({ "content": [] })),
        Reply::result(&json!({ "content": [] })),
    ]);
    let count = AtomicUsize::new(0);
    let source = move || {
        let nth = count.fetch_add(1, Ordering::Relaxed);
        TraceContext { traceparent: Some(format!("00-{nth}")), ..TraceContext::default() }
    };
    let client = script.builder().trace_context(source).build().unwrap();
    client.call_tool("t", ()).await.unwrap();
    let mut params = mcp_client::types::CallToolParams::new("t");
    let own = TraceContext { traceparent: Some("own".into()), ..TraceContext::default() };
    params.meta.set_trace_context(&own);
    client.call::<mcp_client::types::request::CallTool>(params).await.unwrap();
    let traces: Vec<_> = script
        .requests()
        .iter()
        .map(|request| request.json()["params"]["_meta"]["traceparent"].clone())
        .collect();
    assert_eq!(traces, ["00-0", "00-1", "own"]);
}

#[tokio::test]
async fn a_tool_that_failed_is_an_error_of_its_span() {
    let result = |failed: serde_json::Value| {
        Reply::result(&json!({ "content": [], "isError": failed, "prompts": [] }))
    };
    let script = Script::new([
        result(json!(true)),
        result(json!(false)),
        // Which means nothing there.
        result(json!(true)),
    ]);
    let client = script.client();
    let spans = Spans::default();
    let guard = hear(spans.clone());
    assert!(client.call_tool("t", ()).await.unwrap().is_error());
    client.call_tool("t", ()).await.unwrap();
    client.list_prompts().await.unwrap();
    drop(guard);
    let spans = spans.0.lock().unwrap().clone();
    let errors: Vec<_> = spans.iter().map(|span| span.get("error.type")).collect();
    assert_eq!(errors, [Some(&"tool_error".to_owned()), None, None]);
}

#[tokio::test]
async fn a_subscription_has_a_span_until_it_is_acknowledged() {
    let ack = "notifications/subscriptions/acknowledged";
    let error: ErrorObject =
        serde_json::from_value(json!({ "code": -32601, "message": "no" })).unwrap();
    let script = Script::new([
        Reply::stream().then_notify(ack, &json!({ "notifications": {} })).then_hang(),
        Reply::error(&error),
        Reply::stream(),
        Reply::disconnect(),
    ]);
    let client = script.client();
    let spans = Spans::default();
    let guard = hear(spans.clone());
    let changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    for _ in 0..3 {
        client.listen(SubscriptionFilter::new()).await.unwrap_err();
    }
    drop((changes, guard));
    let spans = spans.0.lock().unwrap().clone();
    let expected = json!({
        "otel.name": "subscriptions/listen",
        "otel.kind": "client",
        "mcp.method.name": "subscriptions/listen",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "1",
    });
    assert_eq!(json!(spans[0]), expected);
    let errors: Vec<_> = spans[1..].iter().map(|span| span["error.type"].as_str()).collect();
    assert_eq!(errors, ["-32601", "protocol", "transport"]);
}
