//! How calls end early: the client leaves, time is up, the handler panics.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use http::Response;
use http_body::Body as _;
use http_body_util::Full;
use mcp_server::layer::{Call, Next, from_fn};
use mcp_server::types::LoggingLevel;
use mcp_server::types::Outcome;
use mcp_server::{
    Abandoned, Args, Body, Caller, Context, FromContext, HandlerError, Limits, Log, Progress,
    ResponseMode, Server, ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use tokio::sync::mpsc;
use tower_service::Service;

use crate::support::{
    Bell, Conn, Flag, H2, Post, Running, builder, h2_request, limits, meta, ok, tool_text, watched,
    within,
};

fn call(tool: &str) -> Post {
    let mut meta = meta();
    meta["progressToken"] = json!(7);
    meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    Post::rpc("tools/call", json!({ "name": tool, "_meta": meta }))
}

async fn start(builder: ServerBuilder) -> Running {
    Running::start(builder.build().unwrap()).await
}

/// A handler that rings when it begins and then waits for ever, first saying something if it is to be streamed.
fn hangs(
    name: &str,
    begun: &Bell,
    flag: impl Fn() -> Flag + Send + Sync + 'static,
    streams: bool,
) -> Tool {
    let begun = begun.clone();
    Tool::new(name, move |progress: Progress| {
        let (begun, flag) = (begun.clone(), flag());
        async move {
            let _flag = flag;
            if streams {
                progress.report(1);
            }
            begun.ring();
            std::future::pending::<String>().await
        }
    })
}

/// Both ways in which a client can leave, in both forms of a reply.
#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let running = start(
            builder()
                .tool(hangs("quiet", &begun, flag.clone(), false))
                .tool(hangs("streams", &begun, flag.clone(), true))
                .response_mode(mode),
        )
        .await;
        for tool in ["quiet", "streams"] {
            for reset in [false, true] {
                let mut conn = running.connect().await;
                conn.send(&call(tool).bytes()).await;
                begun.rung().await;
                if tool == "streams" && mode != ResponseMode::Json {
                    assert!(conn.head().await.is_stream());
                    conn.event().await.unwrap();
                }
                assert!(dropped.none_dropped());
                leave(conn, reset);
                dropped.dropped().await;
            }
        }
    }
}

fn leave(conn: Conn, reset: bool) {
    if reset {
        socket2::SockRef::from(&conn.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
    drop(conn);
}

/// On HTTP/2 a call is cancelled alone.
#[tokio::test]
async fn a_reset_stream_cancels_its_call_and_no_other() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    let (other_flag, mut other) = watched();
    let running = start(
        builder()
            .tool(hangs("quiet", &begun, flag.clone(), false))
            .tool(hangs("streams", &begun, flag, true))
            .tool(hangs("other", &begun, other_flag, false)),
    )
    .await;
    let mut h2 = H2::open(running.addr).await;
    let survivor = tokio::spawn(h2.begin(h2_request("localhost", &call("other"))));
    begun.rung().await;
    // Before there is a response, and while it streams.
    let quiet = tokio::spawn(h2.begin(h2_request("localhost", &call("quiet"))));
    begun.rung().await;
    quiet.abort();
    dropped.dropped().await;
    let response = h2.send(h2_request("localhost", &call("streams"))).await.unwrap();
    begun.rung().await;
    drop(response);
    dropped.dropped().await;
    assert!(other.none_dropped() && !survivor.is_finished());
    survivor.abort();
    other.dropped().await;
}

/// A call ends at its deadline with an answer, and its handler is dropped.
#[tokio::test]
async fn a_call_has_a_deadline() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let running = start(
            builder()
                .tool(hangs("quiet", &begun, flag.clone(), false))
                .tool(hangs("streams", &begun, flag.clone(), true))
                .limits(limits(|limits| limits.call_time = Duration::from_millis(80)))
                .response_mode(mode),
        )
        .await;
        for tool in ["quiet", "streams"] {
            let mut conn = running.connect().await;
            let reply = conn.ask(&call(tool)).await;
            assert_eq!((reply.status, reply.code()), (200, Some(-32603)), "{mode:?} {tool}");
            assert_eq!(reply.message()["id"], 1);
            dropped.dropped().await;
            assert_eq!(conn.ask(&Post::rpc("tools/list", json!({}))).await.status, 200);
        }
    }
}

/// A server, and what goes to its hook.
async fn with_hook(
    tools: impl IntoIterator<Item = Tool>,
    mode: ResponseMode,
    change: impl FnOnce(&mut Limits),
) -> (Running, mpsc::UnboundedReceiver<Abandoned>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let builder = builder().tools(tools).response_mode(mode).limits(limits(change)).on_abandoned(
        move |abandoned| {
            // A hook may ask whatever it likes.
            assert!(!abandoned.context.progress().report(1_000_000));
            assert!(!abandoned.context.is_abandoned() || !abandoned.context.progress().is_wanted());
            sender.send(abandoned).unwrap();
        },
    );
    (start(builder).await, receiver)
}

/// A payment that is made when nobody waits for it any more.
fn pays_late(begun: &Bell, streams: bool) -> Tool {
    let begun = begun.clone();
    let handler = move |context: Context, progress: Progress| {
        let begun = begun.clone();
        async move {
            if streams {
                progress.report(1);
            }
            begun.ring();
            while !context.is_abandoned() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            "paid"
        }
    };
    Tool::new("pay", handler).run_to_completion()
}

fn is_paid(abandoned: &Abandoned) -> bool {
    let Ok(Outcome::Complete(result)) = &abandoned.reply else { return false };
    abandoned.tool == "pay"
        && abandoned.context.request_id() == &1.into()
        && abandoned.context.is_abandoned()
        && result.content[0].as_text() == Some("paid")
}

#[tokio::test]
async fn what_runs_to_completion_outlives_its_client() {
    let begun = Bell::new();
    for streams in [false, true] {
        for reset in [false, true] {
            let (running, mut hook) =
                with_hook([pays_late(&begun, streams)], ResponseMode::Auto, |_| {}).await;
            let mut conn = running.connect().await;
            conn.send(&call("pay").bytes()).await;
            begun.rung().await;
            if streams {
                assert!(conn.head().await.is_stream());
                conn.event().await.unwrap();
            }
            leave(conn, reset);
            assert!(is_paid(&within(hook.recv()).await.unwrap()));
        }
    }
}

#[tokio::test]
async fn what_runs_to_completion_outlives_its_deadline() {
    let begun = Bell::new();
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        for streams in [false, true] {
            let short = |limits: &mut Limits| limits.call_time = Duration::from_millis(80);
            let (running, mut hook) = with_hook([pays_late(&begun, streams)], mode, short).await;
            let reply = running.ask(&call("pay")).await;
            assert_eq!((reply.status, reply.code()), (200, Some(-32603)), "{mode:?}");
            assert!(is_paid(&within(hook.recv()).await.unwrap()));
        }
    }
}

#[tokio::test]
async fn the_hook_hears_of_nothing_that_was_answered() {
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let talks = Tool::new("talks", async |progress: Progress| {
            progress.report(1);
            tokio::task::yield_now().await;
            progress.report(2);
            "paid"
        });
        let tools = [talks.run_to_completion(), named("panics"), named("at once")];
        let (running, mut hook) = with_hook(tools, mode, |_| {}).await;
        let mut conn = running.connect().await;
        assert_eq!(conn.ask(&call("talks")).await.tool_text(), "paid");
        assert_eq!(conn.ask(&call("at once")).await.tool_text(), "ok");
        assert_eq!(conn.ask(&call("panics")).await.code(), Some(-32603));
        drop(conn);
        assert!(hook.try_recv().is_err());
    }
}

/// A tool that panics or not, as its name says.
fn named(name: &'static str) -> Tool {
    Tool::new(name, move || async move {
        if name == "panics" {
            panic!("boom");
        }
        "ok"
    })
    .run_to_completion()
}

/// A payment is made while its client, which does not read its stream, holds everything up; then the client is
/// gone. Nobody got the result, so the hook has to.
#[tokio::test]
async fn a_result_stuck_behind_an_unread_stream_goes_to_the_hook() {
    let (full, paid) = (Bell::new(), Bell::new());
    let (filled, done) = (full.clone(), paid.clone());
    let pay = Tool::new("pay", move |log: Log| {
        let (full, paid) = (filled.clone(), done.clone());
        async move {
            let text = "x".repeat(64 * 1024);
            for _ in 0..400 {
                log.send(LoggingLevel::Info, &text);
                tokio::task::yield_now().await;
            }
            full.ring();
            paid.wait().await;
            "paid"
        }
    })
    .run_to_completion();
    let (running, mut hook) = with_hook([pay], ResponseMode::Auto, |_| {}).await;
    let mut conn = running.connect().await;
    conn.send(&call("pay").bytes()).await;
    full.rung().await;
    paid.ring();
    // By then the result waits behind what is not read.
    tokio::time::sleep(Duration::from_millis(100)).await;
    leave(conn, true);
    assert!(is_paid(&within(hook.recv()).await.unwrap()));
}

/// The same when it is the server that gives the stream up.
#[tokio::test]
async fn a_result_of_a_stream_given_up_goes_to_the_hook() {
    let pay = Tool::new("pay", |context: Context, log: Log| async move {
        let text = "x".repeat(64 * 1024);
        while !context.is_abandoned() {
            log.send(LoggingLevel::Info, &text);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        "paid"
    })
    .run_to_completion();
    let stall = |limits: &mut Limits| limits.write_stall = Duration::from_millis(50);
    let (running, mut hook) = with_hook([pay], ResponseMode::Auto, stall).await;
    let mut conn = running.connect().await;
    conn.send(&call("pay").bytes()).await;
    assert!(is_paid(&within(hook.recv()).await.unwrap()));
    drop(conn);
}

/// A hook that panics harms nobody.
#[tokio::test]
async fn a_panicking_hook_is_caught() {
    let (begun, called) = (Bell::new(), Bell::new());
    let ring = called.clone();
    let builder = builder().tool(pays_late(&begun, false)).tool(ok()).on_abandoned(move |_| {
        ring.ring();
        panic!("hook");
    });
    let running = start(builder).await;
    let mut conn = running.connect().await;
    conn.send(&call("pay").bytes()).await;
    begun.rung().await;
    drop(conn);
    called.rung().await;
    assert_eq!(running.ask(&call("ok")).await.tool_text(), "ok");
}

#[derive(JsonSchema)]
struct Bomb;

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("secret of decoding")
    }
}

impl FromContext for Bomb {
    fn from_context(_: &Context) -> Result<Self, HandlerError> {
        panic!("secret of the context")
    }
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("secret of the drop");
        }
    }
}

fn before_its_future() -> std::future::Ready<String> {
    panic!("secret")
}

fn panicking() -> Vec<Tool> {
    vec![
        Tool::new("at once", async || panic!("secret") as String),
        Tool::new("later", async |progress: Progress| {
            tokio::task::yield_now().await;
            progress.report(1);
            tokio::task::yield_now().await;
            panic!("secret {}", 5) as String
        }),
        Tool::new("before its future", before_its_future),
        Tool::new("in decoding", async |_: Args<Bomb>| "never")
            .input_schema(json!({ "type": "object" })),
        Tool::new("in its context", async |_: Bomb| "never"),
        Tool::new("in the drop of a local", async || {
            let _bomb = PanicsInDrop;
            tokio::task::yield_now().await;
            "ok"
        }),
        Tool::new("with a payload of its own", async || std::panic::panic_any(5) as String),
        Tool::new("in its result", async || mcp_server::Structured(PanicsInJson)),
    ]
}

#[derive(JsonSchema)]
struct PanicsInJson;

impl serde::Serialize for PanicsInJson {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("secret of encoding")
    }
}

/// A panic is the end of its call, of no other, and of no connection; and nobody reads of it.
#[tokio::test]
async fn a_panic_ends_its_call_alone() {
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        for to_completion in [false, true] {
            let tools = panicking();
            let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
            let tools = tools
                .into_iter()
                .map(|tool| if to_completion { tool.run_to_completion() } else { tool });
            let running = start(builder().tools(tools).tool(ok()).response_mode(mode)).await;
            let mut conn = running.connect().await;
            for name in names {
                let reply = conn.ask(&call(&name)).await;
                assert_eq!(
                    (reply.status, reply.code()),
                    (200, Some(-32603)),
                    "{mode:?} {name}: {}",
                    reply.text()
                );
                assert_eq!(reply.message()["id"], 1, "{name}");
                assert!(!reply.text().contains("secret"), "{name}: {}", reply.text());
                assert_eq!(conn.ask(&call("ok")).await.tool_text(), "ok", "{name}");
            }
        }
    }
}

/// A handler that panics when it is cancelled takes nobody with it: other calls of its HTTP/2 connection live.
#[tokio::test]
async fn a_panic_on_cancellation_is_caught() {
    let begun = Bell::new();
    let go = Bell::new();
    let bomb = |name: &'static str, streams: bool| {
        let begun = begun.clone();
        Tool::new(name, move |progress: Progress| {
            let begun = begun.clone();
            async move {
                let _bomb = PanicsInDrop;
                if streams {
                    progress.report(1);
                }
                begun.ring();
                std::future::pending::<String>().await
            }
        })
    };
    let waits = {
        let (begun, go) = (begun.clone(), go.clone());
        Tool::new("waits", move || {
            let (begun, go) = (begun.clone(), go.clone());
            async move {
                begun.ring();
                go.wait().await;
                "ok"
            }
        })
    };
    let running =
        start(builder().tools([bomb("quiet", false), bomb("streams", true), waits])).await;
    let mut h2 = H2::open(running.addr).await;
    let survivor = tokio::spawn(h2.begin(h2_request("localhost", &call("waits"))));
    begun.rung().await;
    for tool in ["quiet", "streams"] {
        let victim = tokio::spawn(h2.begin(h2_request("localhost", &call(tool))));
        begun.rung().await;
        victim.abort();
        let _ = victim.await;
        let mut conn = running.connect().await;
        conn.send(&call(tool).bytes()).await;
        begun.rung().await;
        drop(conn);
    }
    // The resets have been seen when a later request on the connection is answered.
    let list = h2.send(h2_request("localhost", &Post::rpc("tools/list", json!({})))).await.unwrap();
    assert_eq!(list.status(), 200);
    go.ring();
    assert_eq!(within(survivor).await.unwrap().unwrap().status(), 200);
    // And at the deadline.
    let short = limits(|limits| limits.call_time = Duration::from_millis(50));
    let running =
        start(builder().tools([bomb("quiet", false), bomb("streams", true), ok()]).limits(short))
            .await;
    for tool in ["quiet", "streams"] {
        let mut conn = running.connect().await;
        assert_eq!(conn.ask(&call(tool)).await.code(), Some(-32603));
        conn.send(&call("ok").bytes()).await;
        let reply = conn.reply().await;
        assert_eq!(tool_text(&reply.message()), "ok");
    }
}

/// Polls the exchange of a call `steps` times and leaves. Whether the answer had been handed out by then, and whether
/// there was one more step to make.
async fn leave_after(server: &Server, steps: usize, post: &Post) -> (bool, bool) {
    let mut request = h2_request("localhost", post).map(Full::from);
    request.extensions_mut().insert(Caller::new("somebody"));
    let mut responding = server.service().call(request);
    let mut body: Option<Body> = None;
    let mut told = false;
    for _ in 0..steps {
        let ended = poll_fn(|cx| {
            Poll::Ready(match &mut body {
                None => match responding.as_mut().poll(cx) {
                    Poll::Ready(Ok(response)) => {
                        let response: Response<Body> = response;
                        // All of it is there, for whoever writes it.
                        told = !is_stream(&response);
                        body = Some(response.into_body());
                        false
                    }
                    Poll::Pending => false,
                },
                Some(body) => match Pin::new(body).poll_frame(cx) {
                    Poll::Ready(Some(frame)) => {
                        let frame = frame.unwrap().into_data().unwrap();
                        told |= str::from_utf8(&frame).unwrap().contains("paid");
                        false
                    }
                    Poll::Ready(None) => true,
                    Poll::Pending => false,
                },
            })
        })
        .await;
        if ended {
            return (told, false);
        }
        tokio::task::yield_now().await;
    }
    (told, true)
}

async fn ask_for_tools(server: &Server) -> u16 {
    let request = h2_request("localhost", &Post::rpc("tools/list", json!({})));
    let mut request = request.map(Full::from);
    request.extensions_mut().insert(Caller::new("somebody"));
    server.service().call(request).await.unwrap().status().as_u16()
}

fn is_stream(response: &Response<Body>) -> bool {
    response.headers()["content-type"] == "text/event-stream"
}

/// Whoever leaves whenever: what was paid is told once, to the client or to the hook, and the place is given back.
#[tokio::test]
async fn what_runs_to_completion_is_told_once_wherever_its_client_leaves() {
    let layer = from_fn(async |call: Call, next: Next| {
        tokio::task::yield_now().await;
        let outcome = next.run(call).await;
        tokio::task::yield_now().await;
        outcome
    });
    for (layered, streams) in [(false, false), (false, true), (true, false), (true, true)] {
        let pays = Tool::new("pay", move |progress: Progress| async move {
            for n in 0..4 {
                tokio::task::yield_now().await;
                if streams {
                    progress.report(n);
                }
            }
            "paid"
        });
        let pays = pays.run_to_completion();
        let (sender, mut hook) = mpsc::unbounded_channel();
        let builder = builder()
            .tool(if layered { pays.layer(layer) } else { pays })
            .limits(limits(|limits| limits.exchanges_per_caller = 1))
            .on_abandoned(move |abandoned| sender.send(abandoned).unwrap());
        let server = builder.build().unwrap();
        let post = Post::listening("pay");
        let mut told_after = Vec::new();
        for steps in 0.. {
            let (told, left) = leave_after(&server, steps, &post).await;
            told_after.push(told);
            // Nobody had asked, or the layer had not come to it yet.
            let has_begun = steps > usize::from(layered);
            if has_begun && !told {
                assert!(is_paid(&within(hook.recv()).await.unwrap()), "{steps} steps");
            }
            within(async {
                while ask_for_tools(&server).await == 429 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            assert!(hook.try_recv().is_err(), "{steps} steps");
            if !left {
                break;
            }
        }
        assert!(told_after.len() > 5 && told_after.is_sorted(), "{told_after:?}");
    }
}
