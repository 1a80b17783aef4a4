//! Spans of exchanges, by the names of OpenTelemetry's semantic conventions for MCP.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_server::layer::{Call, CallOutcome, Next, from_fn};
use mcp_server::types::{ErrorCode, ErrorObject, PromptArgument, TraceContext};
use mcp_server::{
    Announces, Context, FromContext, HandlerError, Progress, Prompt, Resource, ServerBuilder, Tool,
};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::support::{Bell, Lines, Post, Running, builder, limits, meta, ok};

/// The spans of exchanges, and which of them were current at the events of a test.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    spans: Vec<BTreeMap<String, String>>,
    /// How many hold each span.
    held: Vec<usize>,
    entered: Vec<usize>,
    events: Vec<(String, Option<usize>)>,
}

const HERE: &str = "here";

struct Into<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Into<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

fn nth(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == "mcp.request" || metadata.target() == HERE
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut seen = self.0.lock().unwrap();
        let mut fields = BTreeMap::new();
        attributes.record(&mut Into(&mut fields));
        seen.spans.push(fields);
        seen.held.push(1);
        Id::from_u64(seen.spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        values.record(&mut Into(&mut self.0.lock().unwrap().spans[nth(id)]));
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Into(&mut fields));
        let mut seen = self.0.lock().unwrap();
        let current = seen.entered.last().copied();
        seen.events.push((fields.remove("message").unwrap(), current));
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().entered.push(nth(id));
    }

    fn exit(&self, id: &Id) {
        let mut seen = self.0.lock().unwrap();
        let last = seen.entered.iter().rposition(|entered| *entered == nth(id)).unwrap();
        seen.entered.remove(last);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.0.lock().unwrap().held[nth(id)] += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let held = &mut self.0.lock().unwrap().held[nth(&id)];
        *held -= 1;
        *held == 0
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

/// Collects the spans of this thread for as long as what it returns is held.
fn collect() -> (Spans, (DefaultGuard, Dispatch)) {
    let spans = Spans::default();
    // A second one, or else a place that another thread comes to first may stay silent on this one.
    let other = Dispatch::new(Spans::default());
    (spans.clone(), (tracing::subscriber::set_default(spans), other))
}

impl Spans {
    /// The only span since the last time, which has to be over.
    fn take(&self) -> BTreeMap<String, String> {
        let mut seen = self.0.lock().unwrap();
        let seen = std::mem::take(&mut *seen);
        assert_eq!((seen.spans.len(), &seen.held[..]), (1, &[0][..]), "{:?}", seen.spans);
        assert!(seen.entered.is_empty());
        seen.spans.into_iter().next().unwrap()
    }

    /// What was said since the last time, and whether that was in a span.
    fn said(&self) -> Vec<(&'static str, bool)> {
        let said = std::mem::take(&mut self.0.lock().unwrap().events).into_iter();
        said.map(|(said, current)| (&*said.leak(), current.is_some())).collect()
    }
}

/// What is the same in every span of a good request over HTTP.
fn expected(more: Value) -> Value {
    let mut fields = json!({
        "otel.kind": "server",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "1",
        "network.transport": "tcp",
        "client.address": "127.0.0.1",
    });
    for (key, value) in more.as_object().unwrap() {
        match value {
            Value::Null => drop(fields.as_object_mut().unwrap().remove(key)),
            value => fields[key] = value.clone(),
        }
    }
    fields
}

fn everything() -> ServerBuilder {
    let takes_any = ok().input_schema(json!({ "type": "object" }));
    let fails = Tool::new("fails", async || Err::<&str, _>(HandlerError::new("no")));
    let refuses = Tool::new("refuses", async || {
        Err::<&str, _>(ErrorObject::new(ErrorCode(-31999), "the secret"))
    });
    let busy = ok_named("busy");
    let busy = busy.layer(from_fn(async |_: Call, _: Next| CallOutcome::busy(Duration::ZERO)));
    let hangs = Tool::new("hangs", async || std::future::pending::<String>().await);
    let prompt = Prompt::new("review", async || "Review it").complete("x", async |_| ["a"]);
    builder()
        .tools([takes_any, fails, refuses, busy, hangs])
        .prompt(prompt.arguments([PromptArgument::new("x")]))
        .resource(Resource::new("file:///a", "a", async || "a"))
        .announces(Announces::new().tools())
        .limits(limits(|limits| limits.call_time = Duration::from_millis(50)))
}

fn ok_named(name: &str) -> Tool {
    Tool::new(name, async || "ok")
}

/// Sends each post and compares its span with these fields and those that all have.
async fn compare(spans: &Spans, running: &Running, table: impl IntoIterator<Item = (Post, Value)>) {
    for (post, fields) in table {
        running.ask(&post).await;
        let mut span = spans.take();
        assert!(span.remove("client.port").unwrap().parse::<u16>().is_ok());
        assert_eq!(json!(span), expected(fields));
    }
}

#[tokio::test]
async fn every_request_has_a_span() {
    let (spans, _guard) = collect();
    let running = Running::build(everything()).await;
    let plain = |method: &str| json!({ "otel.name": method, "mcp.method.name": method });
    let called = json!({
        "otel.name": "tools/call ok",
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "ok",
    });
    let got = json!({
        "otel.name": "prompts/get review",
        "mcp.method.name": "prompts/get",
        "gen_ai.prompt.name": "review",
    });
    let read = json!({
        "otel.name": "resources/read",
        "mcp.method.name": "resources/read",
        "mcp.resource.uri": "file:///a",
    });
    let completion = json!({
        "ref": { "type": "ref/prompt", "name": "review" },
        "argument": { "name": "x", "value": "" },
    });
    let table = [
        (Post::call("ok", json!({ "secret": 1 })), called),
        (Post::rpc("prompts/get", json!({ "name": "review" })), got),
        (Post::rpc("resources/read", json!({ "uri": "file:///a" })), read),
        (Post::rpc("completion/complete", completion), plain("completion/complete")),
        (Post::rpc("tools/list", json!({})), plain("tools/list")),
        (Post::rpc("server/discover", json!({})), plain("server/discover")),
    ];
    compare(&spans, &running, table).await;

    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut conn = running.connect().await;
    conn.send(&Post::rpc("subscriptions/listen", listen).bytes()).await;
    conn.stream().await;
    assert_eq!(spans.take()["otel.name"], "subscriptions/listen", "its span ends when it is open");
    running.ask(&Post::bare("{}")).await;
    running.ask(&Post::bare(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)).await;
    assert!(spans.0.lock().unwrap().spans.is_empty(), "no request, no span");
}

#[tokio::test]
async fn a_span_says_how_its_request_failed() {
    let (spans, _guard) = collect();
    let running = Running::build(everything()).await;
    let failed = |name: &str, kind: &str, code: Value| {
        json!({
            "otel.name": format!("tools/call {name}"),
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "otel.status_code": "ERROR",
            "error.type": kind,
            "rpc.response.status_code": code,
        })
    };
    let refused = |method: &str, code: &str| {
        json!({
            "otel.name": method,
            "mcp.method.name": method,
            "mcp.protocol.version": null,
            "otel.status_code": "ERROR",
            "error.type": code,
            "rpc.response.status_code": code,
        })
    };
    let old = json!({
        "io.modelcontextprotocol/protocolVersion": "2025-11-25",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let old = Post::rpc("tools/list", json!({ "_meta": old }));
    let tool = |name: &str| Post::call(name, json!({}));
    let table = [
        (tool("fails"), failed("fails", "tool_error", json!(null))),
        (tool("refuses"), failed("refuses", "-31999", json!("-31999"))),
        (tool("busy"), failed("busy", "-32603", json!("-32603"))),
        (tool("hangs"), failed("hangs", "-32603", json!("-32603"))),
        // What was refused is not named: a peer could invent any number of names.
        (tool("nothing"), refused("tools/call", "-32602")),
        (Post::rpc("no/such", json!({})), refused("_OTHER", "-32601")),
        (old.set("MCP-Protocol-Version", "2025-11-25"), refused("tools/list", "-32022")),
    ];
    compare(&spans, &running, table).await;
}

#[tokio::test]
async fn what_a_peer_sends_is_cut_to_a_bound() {
    let (spans, _guard) = collect();
    let uri = format!("file:///{}", "x".repeat(10_000));
    let resource = Resource::new(&*uri, "long", async || "long");
    let running = Running::build(builder().resource(resource)).await;
    let id = json!("i".repeat(1_000)).to_string();
    running.ask(&Post::with_id(&id, "resources/read", json!({ "uri": uri }))).await;
    let span = spans.take();
    assert_eq!(span["jsonrpc.request.id"].chars().count(), 65);
    assert_eq!(span["mcp.resource.uri"].chars().count(), 513);
}

/// Whatever form the reply has, and whoever polls it.
#[tokio::test]
async fn the_span_is_current_in_handlers_and_layers() {
    let (spans, guard) = collect();
    let says = |name: &'static str| {
        Tool::new(name, async |progress: Progress| {
            tracing::info!(target: HERE, "before");
            progress.report(1);
            tokio::task::yield_now().await;
            tracing::info!(target: HERE, "after");
        })
    };
    let layer = from_fn(async |call: Call, next: Next| {
        tracing::info!(target: HERE, "in");
        let outcome = next.run(call).await;
        tracing::info!(target: HERE, "out");
        outcome
    });
    let tools = [
        says("plain"),
        says("sure").run_to_completion(),
        says("layered").layer(layer),
        says("both").layer(layer).run_to_completion(),
    ];
    let running = Running::build(builder().tools(tools)).await;
    for (tool, layered) in [("plain", false), ("sure", false), ("layered", true), ("both", true)] {
        for post in [Post::call(tool, json!({})), Post::listening(tool)] {
            tracing::info!(target: HERE, "outside");
            let reply = running.ask(&post).await;
            assert_eq!(reply.message()["result"]["content"], json!([]));
            tracing::info!(target: HERE, "outside");
            let events = std::mem::take(&mut spans.0.lock().unwrap().events);
            let expected: &[&str] = match layered {
                true => &["outside", "in", "before", "after", "out", "outside"],
                false => &["outside", "before", "after", "outside"],
            };
            let said: Vec<_> = events.iter().map(|(said, _)| said.as_str()).collect();
            assert_eq!(said, expected, "{tool}");
            for (said, current) in &events {
                assert_eq!(current.is_some(), said != "outside", "{tool}: {said}");
            }
            spans.take();
        }
    }
    drop(guard);
}

/// A span lasts as long as its handler, not as long as those who remember the request.
#[tokio::test]
async fn a_span_ends_with_the_answer_or_with_the_client() {
    let (spans, _guard) = collect();
    let kept: Arc<Mutex<Vec<Context>>> = Arc::default();
    let begun = Bell::new();
    let (keep, ring) = (Arc::clone(&kept), begun.clone());
    let keeps = Tool::new("keeps", move |context: Context| {
        keep.lock().unwrap().push(context);
        async {}
    });
    let (gone, mut dropped) = crate::support::watched();
    let hangs = Tool::new("hangs", move || {
        let (ring, flag) = (ring.clone(), gone());
        async move {
            let _flag = flag;
            ring.ring();
            std::future::pending::<String>().await
        }
    });
    let running = Running::build(builder().tools([keeps, hangs])).await;
    running.ask(&Post::call("keeps", json!({}))).await;
    assert_eq!(kept.lock().unwrap().len(), 1);
    spans.take();
    let mut conn = running.connect().await;
    conn.send(&Post::call("hangs", json!({})).bytes()).await;
    begun.rung().await;
    drop(conn);
    dropped.dropped().await;
    while spans.0.lock().unwrap().held != [0] {
        tokio::task::yield_now().await;
    }
    assert!(!spans.take().contains_key("error.type"));
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A call within a trace.
fn traced(trace: &Value) -> Post {
    let mut meta = meta();
    for (key, value) in trace.as_object().unwrap() {
        meta[key] = value.clone();
    }
    Post::rpc("tools/call", json!({ "name": "trace", "_meta": meta }))
}

#[tokio::test]
async fn the_trace_of_the_client_goes_on() {
    let (spans, _guard) = collect();
    let trace = Tool::new("trace", async |trace: TraceContext, context: Context| {
        assert_eq!(trace, context.trace_context());
        format!("{:?} {:?} {:?}", trace.traceparent, trace.tracestate, trace.baggage)
    });
    let parents: Arc<Mutex<Vec<TraceContext>>> = Arc::default();
    let heard = Arc::clone(&parents);
    let builder = builder().tool(trace).trace_parent(move |span, trace| {
        assert!(!span.is_disabled());
        heard.lock().unwrap().push(trace.clone());
    });
    let running = Running::build(builder).await;

    let whole = json!({ "traceparent": PARENT, "tracestate": "a=1", "baggage": "user=ada" });
    let reply = running.ask(&traced(&whole)).await;
    assert_eq!(reply.tool_text(), format!("Some({PARENT:?}) Some(\"a=1\") Some(\"user=ada\")"));
    let span = spans.take();
    assert_eq!((span["traceparent"].as_str(), span["tracestate"].as_str()), (PARENT, "a=1"));
    assert!(!format!("{span:?}").contains("ada"), "baggage is the user's");
    let heard = std::mem::take(&mut *parents.lock().unwrap());
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].baggage.as_deref(), Some("user=ada"));

    for malformed in [
        json!({ "traceparent": "nonsense", "tracestate": "a=1" }),
        json!({ "traceparent": 7, "tracestate": "a=1", "baggage": {} }),
        json!({ "traceparent": PARENT.to_uppercase(), "baggage": "x" }),
        json!({ "tracestate": "a=1" }),
        json!({}),
    ] {
        let reply = running.ask(&traced(&malformed)).await;
        assert_eq!(reply.tool_text(), "None None None", "{malformed}");
        let span = spans.take();
        assert!(!span.contains_key("traceparent") && !span.contains_key("tracestate"), "{span:?}");
        assert!(parents.lock().unwrap().is_empty());
    }
}

/// Says so whenever code of a user runs: an argument of a handler that is made, called with, and dropped.
struct Says;

impl FromContext for Says {
    fn from_context(_: &Context) -> Result<Self, HandlerError> {
        tracing::info!(target: HERE, "made");
        Ok(Self)
    }
}

impl Drop for Says {
    fn drop(&mut self) {
        tracing::info!(target: HERE, "dropped");
    }
}

/// A handler is more than its future: what it takes, what it does before, and what it leaves behind belong to its
/// request, whoever has it run.
#[tokio::test]
async fn the_span_is_current_for_all_of_a_handler() {
    let (spans, _guard) = collect();
    let begun = Bell::new();
    let says = |name: &str, hangs: bool| {
        let begun = begun.clone();
        Tool::new(name, move |says: Says| {
            tracing::info!(target: HERE, "called");
            let begun = begun.clone();
            async move {
                let _says = says;
                if hangs {
                    begun.ring();
                    std::future::pending::<()>().await;
                }
            }
        })
    };
    let in_a_task = from_fn(async |call: Call, next: Next| {
        tokio::spawn(async move { next.run(call).await }).await.unwrap()
    });
    let tools = [
        says("plain", false),
        says("spawned", false).layer(in_a_task),
        says("sure", false).run_to_completion().layer(in_a_task),
        says("hangs", true),
    ];
    let running = Running::build(builder().tools(tools)).await;
    for tool in ["plain", "spawned", "sure", "hangs"] {
        let mut conn = running.connect().await;
        conn.send(&Post::call(tool, json!({})).bytes()).await;
        if tool == "hangs" {
            begun.rung().await;
            drop(conn);
        } else {
            conn.reply().await;
        }
        while spans.0.lock().unwrap().held != [0] {
            tokio::task::yield_now().await;
        }
        assert_eq!(spans.said(), [("made", true), ("called", true), ("dropped", true)], "{tool}");
        spans.take();
    }
}

/// Where a state has to be claimed, the handler is called later, and by somebody else.
#[cfg(feature = "asking")]
#[tokio::test]
async fn the_span_is_current_once_a_state_is_claimed() {
    use mcp_server::ask::{Claiming, SpentStates, StateId};

    struct Store;
    impl SpentStates for Store {
        fn claim(&self, _: StateId, _: std::time::SystemTime) -> Claiming<'_> {
            Box::pin(async {
                tokio::task::yield_now().await;
                tracing::info!(target: HERE, "claimed");
                Ok(true)
            })
        }
    }

    let (spans, _guard) = collect();
    let away = Tool::new("away", |says: Says, ask: mcp_server::Ask| {
        tracing::info!(target: HERE, "called");
        async move {
            ask.come_back("again").await;
            drop(says);
        }
    });
    let running = Running::build(builder().tool(away).single_use_states(Arc::new(Store))).await;
    let call = |state: &Value| {
        Post::rpc("tools/call", json!({ "name": "away", "requestState": state, "_meta": meta() }))
    };
    let asked = running.ask(&Post::call("away", json!({}))).await.result();
    assert_eq!(spans.said(), [("made", true), ("called", true), ("dropped", true)]);
    spans.take();
    let done = running.ask(&call(&asked["requestState"])).await.result();
    assert_eq!(done["resultType"], "complete");
    let said = ["claimed", "made", "called", "dropped"].map(|said| (said, true));
    assert_eq!(spans.said(), said);
    spans.take();
}

/// The hook runs where the connection is served, which others share.
#[tokio::test]
async fn a_panic_of_the_hook_for_traces_is_caught() {
    let server = builder().tool(ok()).trace_parent(|_, _| panic!("no such parent"));
    let server = server.build().unwrap();
    let (_spans, _guard) = collect();
    let running = Running::start(server.clone()).await;
    let mut conn = running.connect().await;
    let mut meta = meta();
    meta["traceparent"] = json!(PARENT);
    let params = json!({ "name": "ok", "_meta": meta });
    for _ in 0..2 {
        let reply = conn.ask(&Post::rpc("tools/call", params.clone())).await;
        assert_eq!(reply.tool_text(), "ok");
    }
    let mut lines = Lines::serve(&server);
    lines.send("1", "tools/call", params).await;
    assert_eq!(lines.message().await["id"], 1);
    lines.is_quiet().await;
}
