//! Layers around calls: what they see, what they may answer, and that nothing else changes.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use mcp_server::layer::{Call, CallOutcome, Next, from_fn};
use mcp_server::types::{
    CallToolResult, ErrorCode, ErrorObject, GetPromptResult, Outcome, ReadResourceResult,
};
use mcp_server::{
    Args, Context, Extension, HandlerError, Method, Progress, Prompt, Resource, ResourceTemplate,
    ResponseMode, ServerBuilder, Structured, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::timeout::TimeoutLayer;
use tower::{Service, ServiceBuilder};

use crate::support::{Bell, Post, Running, builder, limits, ok, watched, within};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn echo(Args(Text { text }): Args<Text>) -> Result<String, HandlerError> {
    match &*text {
        "fail" => Err(HandlerError::new("as you wish")),
        "error" => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "no").into()),
        _ => Ok(text),
    }
}

/// Lines about what has happened.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Notes each call and its outcome under `name`.
    fn around(&self, builder: ServerBuilder, name: &'static str) -> ServerBuilder {
        let notes = self.clone();
        builder.layer(from_fn(move |call: Call, next: Next| {
            let notes = notes.clone();
            async move {
                let given = match (call.arguments(), call.variables()) {
                    (Some(json), None) => json.to_owned(),
                    (None, Some(texts)) => json!(texts).to_string(),
                    both => panic!("{both:?}"),
                };
                let caller = call.caller().is_some();
                assert!(given == "{}" || !format!("{call:?}").contains(&given), "{call:?}");
                notes.add(format!("{name} {} {} {given} {caller}", call.method(), call.target()));
                let outcome = next.run(call).await;
                notes.add(format!("{name} {outcome:?} {}", outcome.is_failure()));
                outcome
            }
        }))
    }
}

/// A layer that answers each call by itself.
fn answering(answer: fn(&Call) -> CallOutcome) -> impl mcp_server::layer::CallLayer {
    from_fn(move |call: Call, _: Next| async move { answer(&call) })
}

#[tokio::test]
async fn layers_see_every_call_that_has_a_handler() {
    let notes = Notes::default();
    let hello = Prompt::new("hello", echo_prompt).complete("text", async |_| ["a"]);
    let template = ResourceTemplate::new("note:{text}", "notes", async || "a note");
    let builder = builder()
        .tool(Tool::new("echo", echo))
        .prompt(hello)
        .resource(Resource::new("file:///a", "a", async || None::<String>))
        .resource_template(template);
    let running = Running::build(notes.around(builder, "all")).await;
    for (method, params, seen) in [
        (
            "tools/call",
            json!({ "name": "echo", "arguments": { "text": "hi" } }),
            [r#"all tools/call echo {"text":"hi"} false"#, "all CallOutcome(complete) false"],
        ),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": { "text": "fail" } }),
            [r#"all tools/call echo {"text":"fail"} false"#, "all CallOutcome(a tool error) true"],
        ),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": { "text": "error" } }),
            [r#"all tools/call echo {"text":"error"} false"#, "all CallOutcome(error -32602) true"],
        ),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": { "text": 5 } }),
            [r#"all tools/call echo {"text":5} false"#, "all CallOutcome(a tool error) true"],
        ),
        (
            "prompts/get",
            json!({ "name": "hello", "arguments": { "text": "hi" } }),
            [r#"all prompts/get hello {"text":"hi"} false"#, "all CallOutcome(complete) false"],
        ),
        (
            "resources/read",
            json!({ "uri": "file:///a" }),
            ["all resources/read file:///a {} false", "all CallOutcome(error -32602) true"],
        ),
        (
            "resources/read",
            json!({ "uri": "note:x" }),
            [r#"all resources/read note:x {"text":"x"} false"#, "all CallOutcome(complete) false"],
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "hello" },
                                         "argument": { "name": "text", "value": "" } }),
            ["all completion/complete  {} false", "all CallOutcome(complete) false"],
        ),
    ] {
        running.ask(&Post::rpc(method, params)).await;
        assert_eq!(notes.take(), seen);
    }
    for method in ["tools/list", "prompts/list", "resources/list", "server/discover"] {
        assert_eq!(running.ask(&Post::rpc(method, json!({}))).await.status, 200);
    }
    let unknown = running.ask(&Post::call("nothing", json!({}))).await;
    assert_eq!((unknown.status, notes.take()), (400, vec![]));
}

async fn echo_prompt(Args(Text { text }): Args<Text>) -> String {
    text
}

#[tokio::test]
async fn later_layers_lie_around_earlier_ones_and_the_servers_around_the_tools() {
    let notes = Notes::default();
    let noting = |name: &'static str| {
        let notes = notes.clone();
        from_fn(move |call: Call, next: Next| {
            notes.add(name);
            async move { next.run(call).await }
        })
    };
    let own = ServiceBuilder::new().layer(noting("3")).layer(noting("4"));
    let tool = ok().layer(noting("5")).layer(own);
    let other = Tool::new("other", async || "other");
    let builder = builder().tool(tool).tool(other).layer(noting("2")).layer(noting("1"));
    let running = Running::build(builder).await;
    assert_eq!(running.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
    assert_eq!(notes.take(), ["1", "2", "3", "4", "5"]);
    assert_eq!(running.ask(&Post::call("other", json!({}))).await.tool_text(), "other");
    assert_eq!(notes.take(), ["1", "2"]);
}

#[tokio::test]
async fn a_timeout_drops_the_handler_and_tells_nothing() {
    let (flag, mut dropped) = watched();
    let hangs = Tool::new("hangs", move || {
        let flag = flag();
        async move {
            let _flag = flag;
            std::future::pending::<String>().await
        }
    });
    let hangs = hangs.layer(TimeoutLayer::new(Duration::from_millis(20)));
    let running = Running::build(builder().tool(hangs).tool(ok())).await;
    let reply = running.ask(&Post::call("hangs", json!({}))).await;
    assert_eq!((reply.status, reply.code()), (200, Some(-32603)));
    assert_eq!(reply.message()["error"]["message"], "Internal error");
    dropped.dropped().await;
    assert_eq!(running.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
}

/// A tool that waits for the second bell once it has rung the first.
fn waits(name: &str, begun: &Bell, go: &Bell) -> Tool {
    let (begun, go) = (begun.clone(), go.clone());
    Tool::new(name, move || {
        let (begun, go) = (begun.clone(), go.clone());
        async move {
            begun.ring();
            go.wait().await;
            "done"
        }
    })
}

#[tokio::test]
async fn a_concurrency_limit_counts_the_whole_server() {
    let (begun, go) = (Bell::new(), Bell::new());
    let builder = builder()
        .tool(waits("a", &begun, &go))
        .tool(waits("b", &begun, &go))
        .layer(ConcurrencyLimitLayer::new(1));
    let running = Running::build(builder).await;
    let (mut first, mut second) = (running.connect().await, running.connect().await);
    first.send(&Post::call("a", json!({})).bytes()).await;
    begun.rung().await;
    second.send(&Post::call("b", json!({})).bytes()).await;
    // What needs no handler is not held up, and shows that the second has arrived.
    for _ in 0..20 {
        assert_eq!(running.ask(&Post::rpc("tools/list", json!({}))).await.status, 200);
    }
    let early = tokio::time::timeout(Duration::from_millis(30), begun.wait()).await;
    assert!(early.is_err(), "two at once");
    go.ring();
    assert_eq!(first.reply().await.tool_text(), "done");
    begun.rung().await;
    go.ring();
    assert_eq!(second.reply().await.tool_text(), "done");
}

#[tokio::test]
async fn what_is_overloaded_can_be_shed_in_one_stack() {
    let (begun, go) = (Bell::new(), Bell::new());
    let shed =
        ServiceBuilder::new().layer(LoadShedLayer::new()).layer(ConcurrencyLimitLayer::new(1));
    let running = Running::build(builder().tool(waits("a", &begun, &go).layer(shed))).await;
    let mut first = running.connect().await;
    first.send(&Post::call("a", json!({})).bytes()).await;
    begun.rung().await;
    assert_eq!(running.ask(&Post::call("a", json!({}))).await.code(), Some(-32603));
    go.ring();
    assert_eq!(first.reply().await.tool_text(), "done");
}

#[tokio::test]
async fn a_layer_answers_in_place_of_the_handler() {
    let start = async |answer: fn(&Call) -> CallOutcome| {
        let never = Tool::new("never", async || -> String { panic!("it was called") });
        let prompt = Prompt::new("never", async || -> String { panic!("it was called") });
        Running::build(builder().tool(never).prompt(prompt).layer(answering(answer))).await
    };
    let (tool, prompt) =
        (Post::call("never", json!({})), Post::rpc("prompts/get", json!({ "name": "never" })));

    let running = start(|_| ErrorObject::new(ErrorCode(-31999), "not you").into()).await;
    let reply = running.ask(&tool).await;
    assert_eq!((reply.status, reply.code()), (200, Some(-31999)));

    let running = start(|_| CallOutcome::tool_error("log in first")).await;
    let reply = running.ask(&tool).await;
    assert_eq!(
        (reply.result()["isError"].as_bool(), reply.tool_text()),
        (Some(true), "log in first".into())
    );
    // Where a result cannot say that it failed, an error does.
    let reply = running.ask(&prompt).await;
    assert_eq!((reply.status, reply.code()), (200, Some(-32603)));
    assert_eq!(reply.message()["error"]["message"], "log in first");

    let running = start(|_| CallToolResult::text("cached").into()).await;
    assert_eq!(running.ask(&tool).await.tool_text(), "cached");
    assert_eq!(running.ask(&prompt).await.code(), Some(-32603), "of another method");

    let running = start(|_| GetPromptResult::default().into()).await;
    assert_eq!(running.ask(&prompt).await.result()["messages"], json!([]));
    assert_eq!(running.ask(&tool).await.code(), Some(-32603), "of another method");

    let running = start(|_| ReadResourceResult::default().into()).await;
    assert_eq!(running.ask(&tool).await.code(), Some(-32603), "of another method");

    let running = start(|_| HandlerError::from(std::io::Error::other("the secret")).into()).await;
    let reply = running.ask(&tool).await;
    assert!(reply.result()["isError"] == true && !reply.text().contains("secret"));
}

/// A layer may see and change what handlers came to, whatever they handle.
#[tokio::test]
async fn a_layer_changes_results_of_every_kind() {
    let redacts = from_fn(async |call: Call, next: Next| {
        let mut outcome = next.run(call).await;
        if let Some(result) = outcome.tool_result_mut() {
            result.content.clear();
        }
        if let Some(result) = outcome.prompt_result_mut() {
            result.messages.clear();
        }
        if let Some(result) = outcome.resource_result_mut() {
            result.contents.clear();
        }
        let kinds = [
            outcome.tool_result().is_some(),
            outcome.prompt_result().is_some(),
            outcome.resource_result().is_some(),
        ];
        assert_eq!(kinds.iter().filter(|kind| **kind).count(), 1);
        outcome
    });
    let builder = builder()
        .tool(ok())
        .prompt(Prompt::new("p", async || "secret"))
        .resource(Resource::text("file:///a", "a", "secret"));
    let running = Running::build(builder.layer(redacts)).await;
    for (method, params, member) in [
        ("tools/call", json!({ "name": "ok" }), "content"),
        ("prompts/get", json!({ "name": "p" }), "messages"),
        ("resources/read", json!({ "uri": "file:///a" }), "contents"),
    ] {
        let result = running.ask(&Post::rpc(method, params)).await.result();
        assert_eq!(result[member], json!([]), "{method}");
    }
}

#[tokio::test]
async fn busy_is_429_while_nothing_was_sent() {
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let layer = answering(|_| CallOutcome::busy(Duration::from_millis(2001)));
        let running = Running::build(builder().tool(ok()).layer(layer).response_mode(mode)).await;
        let reply = running.ask(&Post::call("ok", json!({}))).await;
        assert_eq!((reply.status, reply.code()), (429, Some(-32603)), "{mode:?}");
        assert_eq!((reply.field("retry-after"), &reply.message()["id"]), (Some("3"), &json!(1)));
        assert_eq!(reply.message()["error"]["message"], "Too many calls; try again in 3 s");
    }
    let late = from_fn(async |call: Call, next: Next| {
        let _ = next.run(call).await;
        tokio::task::yield_now().await;
        CallOutcome::busy(Duration::ZERO)
    });
    let talks = Tool::new("talks", async |progress: Progress| {
        progress.report(1);
        tokio::task::yield_now().await;
    });
    let running = Running::build(builder().tool(talks.layer(late))).await;
    let reply = running.ask(&Post::listening("talks")).await;
    assert!(reply.status == 200 && reply.is_stream() && reply.field("retry-after").is_none());
    assert_eq!((reply.events().len(), reply.code()), (2, Some(-32603)));
}

#[tokio::test]
async fn what_a_layer_puts_into_the_extensions_reaches_the_handler() {
    #[derive(Clone)]
    struct Tenant(&'static str);
    let adding = |name: &'static str| {
        from_fn(move |mut call: Call, next: Next| async move {
            assert!(call.context().headers().contains_key("host"));
            call.extensions_mut().get_or_insert_with(|| Tenant(name));
            next.run(call).await
        })
    };
    let tool = Tool::new(
        "tenant",
        async |context: Context, Extension(Tenant(name)): Extension<Tenant>| {
            assert_eq!(context.extensions().get::<Tenant>().map(|tenant| tenant.0), Some(name));
            name
        },
    );
    let running =
        Running::build(builder().tool(tool.layer(adding("inner"))).layer(adding("outer"))).await;
    assert_eq!(running.ask(&Post::call("tenant", json!({}))).await.tool_text(), "outer");
}

#[tokio::test]
async fn a_call_can_be_tried_again() {
    let notes = Notes::default();
    let noting = notes.clone();
    let flaky = Tool::new("flaky", move || {
        noting.add("called");
        let tries = noting.0.lock().unwrap().len();
        async move { if tries < 3 { Err(HandlerError::new("not yet")) } else { Ok("done") } }
    });
    let retry = from_fn(async |call: Call, next: Next| {
        loop {
            let outcome = next.clone().run(call.clone()).await;
            if !outcome.is_tool_error() {
                return outcome;
            }
        }
    });
    let running = Running::build(builder().tool(flaky.layer(retry))).await;
    assert_eq!(running.ask(&Post::call("flaky", json!({}))).await.tool_text(), "done");
    assert_eq!(notes.take().len(), 3);
}

/// A custom method has a handler as well.
#[tokio::test]
async fn custom_methods_pass_through_layers() {
    let notes = Notes::default();
    let search = Method::new("acme/search", async |Args(Text { text }): Args<Text>| {
        Structured(json!({ "found": text }))
    });
    let server = notes.around(builder().method(search), "all");
    let refusing = server.layer(answering_some());
    let running = Running::build(refusing).await;
    let ask =
        async |text: &str| running.ask(&Post::rpc("acme/search", json!({ "text": text }))).await;
    assert_eq!(ask("x").await.result()["found"], "x");
    let seen =
        [r#"all acme/search acme/search {"text":"x"} false"#, "all CallOutcome(complete) false"];
    assert_eq!(notes.take(), seen);
    // A tool error would be the result of another method.
    let refused = ask("secret").await;
    assert_eq!(refused.message()["error"], json!({ "code": -32603, "message": "not that" }));
}

/// Refuses what asks for a secret.
fn answering_some() -> impl mcp_server::layer::CallLayer {
    from_fn(async |call: Call, next: Next| {
        if call.arguments().is_some_and(|json| json.contains("secret")) {
            return CallOutcome::tool_error("not that");
        }
        next.run(call).await
    })
}

#[cfg(feature = "asking")]
mod asking {
    use mcp_server::{Ask, Elicited};

    use super::*;
    use crate::support::capable;

    #[derive(Deserialize, JsonSchema)]
    struct Name {
        name: String,
    }

    fn call(tool: &str, responses: serde_json::Value) -> Post {
        let meta = capable(json!({ "elicitation": {} }));
        Post::rpc("tools/call", json!({ "name": tool, "inputResponses": responses, "_meta": meta }))
    }

    fn greet(name: &str) -> Tool {
        Tool::new(name, async |ask: Ask| match ask.form::<Name>("name", "Who are you?").await {
            Elicited::Accept(Name { name }) => name,
            _ => "nobody".to_owned(),
        })
    }

    #[tokio::test]
    async fn a_round_ends_inside_of_the_layers() {
        let notes = Notes::default();
        // Layers that wait before and after are not taken for a handler that waits for the client.
        let slow = from_fn(async |call: Call, next: Next| {
            tokio::task::yield_now().await;
            let outcome = next.run(call).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            outcome
        });
        let builder =
            builder().tool(greet("greet").layer(slow)).tool(greet("sure").run_to_completion());
        let running = Running::build(notes.around(builder, "-")).await;
        for tool in ["greet", "sure"] {
            let asked = running.ask(&call(tool, json!({}))).await.result();
            assert_eq!(asked["resultType"], "input_required");
            assert_eq!(notes.take()[1], "- CallOutcome(input required) false");
            let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
            assert_eq!(running.ask(&call(tool, answer)).await.tool_text(), "Ada");
            assert_eq!(notes.take()[1], "- CallOutcome(complete) false");
        }
    }

    /// Who asks and then answers without waiting has answered, however long a layer takes over it.
    #[tokio::test]
    async fn what_was_asked_in_vain_ends_no_round() {
        let hasty = Tool::new("hasty", async |ask: Ask| {
            let mut asked = Box::pin(ask.form::<Name>("name", "Who are you?"));
            std::future::poll_fn(|cx| {
                assert!(asked.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            "never mind"
        });
        let slow = from_fn(async |call: Call, next: Next| {
            let first = next.clone().run(call.clone()).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(first.is_complete());
            next.run(call).await
        });
        let running = Running::build(builder().tool(hasty.layer(slow))).await;
        assert_eq!(running.ask(&call("hasty", json!({}))).await.tool_text(), "never mind");
    }
}

/// A service of its own kind: not a function, and with panics where there may be some.
#[derive(Clone)]
struct Panics(&'static str, Next);

struct PanicsWhenDropped(bool);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(!self.0, "dropped");
    }
}

impl Service<Call> for Panics {
    type Response = CallOutcome;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<CallOutcome, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        assert_ne!(self.0, "ready");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        assert_ne!(self.0, "call");
        let (place, next) = (self.0, self.1.clone());
        Box::pin(async move {
            let _bomb = PanicsWhenDropped(place == "drop");
            assert_ne!(place, "poll");
            Ok(next.run(call).await)
        })
    }
}

#[tokio::test]
async fn panics_of_layers_are_caught() {
    let tools = ["ready", "call", "poll", "drop"].map(|place| {
        Tool::new(place, async || "ok")
            .layer(tower::layer::layer_fn(move |next| Panics(place, next)))
    });
    let running = Running::build(builder().tools(tools).tool(ok())).await;
    let mut conn = running.connect().await;
    for place in ["ready", "call", "poll", "drop"] {
        let reply = conn.ask(&Post::call(place, json!({}))).await;
        assert_eq!((reply.status, reply.code()), (200, Some(-32603)), "{place}");
        assert_eq!(reply.message()["error"]["message"], "Internal error");
        assert_eq!(conn.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
    }
}

/// Not every service is ready or willing.
#[tokio::test]
async fn errors_of_services_are_generic() {
    #[derive(Clone)]
    struct Fails(bool);
    impl Service<Call> for Fails {
        type Response = CallOutcome;
        type Error = std::io::Error;
        type Future = Ready<Result<CallOutcome, std::io::Error>>;

        fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), std::io::Error>> {
            Poll::Ready(if self.0 { Ok(()) } else { Err(std::io::Error::other("secret")) })
        }

        fn call(&mut self, _: Call) -> Self::Future {
            ready(Err(std::io::Error::other("secret")))
        }
    }
    for is_ready in [false, true] {
        let layer = tower::layer::layer_fn(move |_: Next| Fails(is_ready));
        let running = Running::build(builder().tool(ok()).layer(layer)).await;
        let reply = running.ask(&Post::call("ok", json!({}))).await;
        assert_eq!((reply.status, reply.code()), (200, Some(-32603)));
        assert!(!reply.text().contains("secret"));
    }
}

/// A client that leaves takes layers and handler along, whatever the form of the reply.
#[tokio::test]
async fn a_client_that_leaves_drops_the_layers() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    let holding = flag.clone();
    let layer = from_fn(move |call: Call, next: Next| {
        let flag = holding();
        async move {
            let _flag = flag;
            next.run(call).await
        }
    });
    let ring = begun.clone();
    let hangs = Tool::new("hangs", move |progress: Progress| {
        let (ring, flag) = (ring.clone(), flag());
        async move {
            let _flag = flag;
            progress.report(1);
            ring.ring();
            std::future::pending::<String>().await
        }
    });
    let running = Running::build(builder().tool(hangs).layer(layer)).await;
    for post in [Post::call("hangs", json!({})), Post::listening("hangs")] {
        let mut conn = running.connect().await;
        conn.send(&post.bytes()).await;
        begun.rung().await;
        assert!(dropped.none_dropped());
        drop(conn);
        dropped.dropped().await;
        dropped.dropped().await;
    }
}

#[tokio::test]
async fn progress_streams_through_layers_and_the_deadline_holds() {
    let counts = Tool::new("counts", async |progress: Progress| {
        for n in 1..=3 {
            progress.report(n);
            tokio::task::yield_now().await;
        }
        "done"
    });
    let hangs = Tool::new("hangs", async || std::future::pending::<String>().await);
    let builder = builder()
        .tools([counts, hangs])
        .layer(TimeoutLayer::new(Duration::from_secs(20)))
        .limits(limits(|limits| limits.call_time = Duration::from_millis(50)));
    let running = Running::build(builder).await;
    let reply = running.ask(&Post::listening("counts")).await;
    assert_eq!((reply.events().len(), reply.tool_text()), (4, "done".into()));
    let reply = running.ask(&Post::call("hangs", json!({}))).await;
    assert_eq!((reply.status, reply.code()), (200, Some(-32603)));
    assert!(reply.text().contains("0.05 s"), "{}", reply.text());
}

/// A tool that runs to completion in spite of its layers, and what it came to.
async fn paying(
    layer: impl mcp_server::layer::CallLayer,
    go: &Bell,
) -> (Running, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let go = go.clone();
    let pay = Tool::new("pay", move || {
        let go = go.clone();
        async move {
            go.wait().await;
            "paid"
        }
    });
    let builder = builder().tool(pay.run_to_completion()).layer(layer).on_abandoned(move |it| {
        let Ok(Outcome::Complete(result)) = it.reply else { panic!("{it:?}") };
        sender.send(result.content[0].as_text().unwrap().to_owned()).unwrap();
    });
    (Running::build(builder).await, receiver)
}

#[tokio::test]
async fn what_runs_to_completion_outlives_its_layers() {
    let go = Bell::new();
    let pay = Post::call("pay", json!({}));
    let (running, mut hook) = paying(TimeoutLayer::new(Duration::from_millis(20)), &go).await;
    assert_eq!(running.ask(&pay).await.code(), Some(-32603));
    go.ring();
    assert_eq!(within(hook.recv()).await.unwrap(), "paid");

    // A layer that keeps the outcome to itself is one that does not wait for it.
    let hides = from_fn(async |call: Call, next: Next| {
        drop(next.run(call).await);
        CallOutcome::tool_error("hidden")
    });
    let (running, mut hook) = paying(hides, &go).await;
    go.ring();
    assert_eq!(running.ask(&pay).await.tool_text(), "hidden");
    assert_eq!(within(hook.recv()).await.unwrap(), "paid");

    // What arrives, changed or not, is nothing for the hook.
    let changes = from_fn(async |call: Call, next: Next| {
        let mut outcome = next.run(call).await;
        outcome.tool_result_mut().unwrap().content.clear();
        outcome
    });
    let (running, mut hook) = paying(changes, &go).await;
    go.ring();
    assert_eq!(running.ask(&pay).await.result()["content"], json!([]));
    drop(running);
    assert!(hook.try_recv().is_err());
}
