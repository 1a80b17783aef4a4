//! States that are good for one request only.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use mcp_server::ask::{Claiming, LocalSpentStates, SpentStates, StateId};
use mcp_server::layer::{Call, CallOutcome, Next, from_fn};
use mcp_server::{
    Answers, Ask, Prompt, Resource, ResourceTemplate, ResponseMode, ServerBuilder, Tool,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::ask::{Name, accept, call, greet, post, start, text};
use crate::support::{Bell, Conn, Flag, Lines, Running, builder, capable, limits, ok, watched};

/// Keeps a number, asks for a name, and counts how often it comes to its end.
fn redeem(ended: &Arc<AtomicUsize>) -> Tool {
    redeems("redeem", ended)
}

/// The same, whatever the client does.
fn redeem_to_completion(ended: &Arc<AtomicUsize>) -> Tool {
    redeems("pays", ended).run_to_completion()
}

fn redeems(name: &str, ended: &Arc<AtomicUsize>) -> Tool {
    let ended = Arc::clone(ended);
    Tool::new(name, move |ask: Ask| {
        let ended = Arc::clone(&ended);
        async move {
            let kept = ask.remember("kept", async { 7 }).await;
            let said = greet(ask).await;
            ended.fetch_add(1, Ordering::SeqCst);
            format!("{said} {kept}")
        }
    })
}

fn local() -> Arc<LocalSpentStates> {
    Arc::new(LocalSpentStates::new())
}

async fn start_once(builder: ServerBuilder) -> Running {
    start(builder.single_use_states(local())).await
}

fn answered(asked: &Value) -> Value {
    json!({
        "requestState": asked["requestState"],
        "inputResponses": { "name": accept(json!({ "name": "Ada" })) },
    })
}

fn with(mut params: Value, more: &Value) -> Value {
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

/// For every kind of request: the second use is answered like a state that does not open, and the client that begins
/// anew is served.
#[tokio::test]
async fn a_state_is_good_for_one_request() {
    let running = start_once(
        builder()
            .tool(Tool::new("greet", greet))
            .prompt(Prompt::new("greet", greet))
            .resource(Resource::new("test://greeting", "g", greet))
            .resource_template(ResourceTemplate::new("x:{who}", "x", greet)),
    )
    .await;
    for (method, params) in [
        ("tools/call", json!({ "name": "greet" })),
        ("prompts/get", json!({ "name": "greet" })),
        ("resources/read", json!({ "uri": "test://greeting" })),
        ("resources/read", json!({ "uri": "x:me" })),
    ] {
        let ask = async |more: &Value| running.ask(&post(method, with(params.clone(), more))).await;
        for _ in ["first", "anew"] {
            // A round that keeps nothing has a state as well: it is what is counted.
            let asked = ask(&json!({})).await.result();
            assert_eq!(asked["resultType"], "input_required", "{method}");
            let more = answered(&asked);
            let done = ask(&more).await.result();
            assert!(done.to_string().contains("Hello, Ada!"), "{done}");
            let again = ask(&more).await;
            let never = ask(&with(more, &json!({ "requestState": "AAAA" }))).await;
            assert_eq!((again.status, again.code()), (400, Some(-32602)), "{method}");
            assert_eq!(again.message(), never.message(), "nothing tells them apart");
        }
    }
    let ordinary = start(builder().tool(Tool::new("greet", greet))).await;
    assert!(ordinary.ask(&call("greet", json!({}))).await.result().get("requestState").is_none());
}

/// Off by default: then a state can be used until it expires.
#[tokio::test]
async fn states_can_be_used_again_unless_somebody_counts() {
    let ended = Arc::default();
    let running = start(builder().tool(redeem(&ended))).await;
    let asked = running.ask(&call("redeem", json!({}))).await.result();
    for _ in 0..2 {
        let done = running.ask(&call("redeem", answered(&asked))).await.result();
        assert_eq!(text(&done), "Hello, Ada! 7");
    }
    assert_eq!(ended.load(Ordering::SeqCst), 2);
}

/// However many come at once, on however many instances with one store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_one_is_served() {
    let (store, ended) = (local(), Arc::default());
    let instance = || start(builder().tool(redeem(&ended)).single_use_states(store.clone()));
    let instances = [instance().await, instance().await];
    let asked = instances[0].ask(&call("redeem", json!({}))).await.result();
    let post = call("redeem", answered(&asked));
    let mut calls = JoinSet::new();
    for n in 0..40 {
        let (addr, post) = (instances[n % 2].addr, post.clone());
        calls.spawn(async move { Conn::open(addr).await.ask(&post).await.code() });
    }
    let codes = calls.join_all().await;
    assert_eq!(codes.iter().filter(|code| code.is_none()).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(-32602)).count(), 39);
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

/// Without a state nothing would tell that an answer is given for the second time.
#[tokio::test]
async fn an_answer_counts_only_with_a_state() {
    let ended = Arc::default();
    let running = start_once(builder().tool(redeem(&ended))).await;
    let mut stateless = answered(&json!({}));
    stateless.as_object_mut().unwrap().remove("requestState");
    let asked = running.ask(&call("redeem", stateless)).await.result();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    assert!(running.ask(&call("redeem", answered(&asked))).await.code().is_none());
}

/// What is refused on the way to the handler takes nothing.
#[tokio::test]
async fn what_is_refused_spends_nothing() {
    let running = start_once(builder().tool(Tool::new("greet", greet)).tool(ok())).await;
    let asked = running.ask(&call("greet", json!({}))).await.result();
    let more = answered(&asked);
    let other = with(more.clone(), &json!({ "arguments": { "other": 1 } }));
    assert_eq!(running.ask(&call("greet", other)).await.code(), Some(-32602));
    let wrong = with(more.clone(), &json!({ "inputResponses": 5 }));
    assert_eq!(running.ask(&call("greet", wrong)).await.code(), Some(-32602));
    let unnamed = call("greet", more.clone()).remove("Mcp-Name");
    assert_eq!(running.ask(&unnamed).await.code(), Some(-32020));
    assert!(running.ask(&call("greet", more)).await.code().is_none());
}

/// Rounds without a question are counted like any, and every round has a state of its own.
#[tokio::test]
async fn every_round_is_counted() {
    let tool = Tool::new("rounds", async |ask: Ask| {
        ask.come_back("elsewhere").await;
        let first = ask.form::<Name>("a", "Who?").await.accepted().map(|name| name.name);
        let second = ask.form::<Name>("b", "Who else?").await.accepted().map(|name| name.name);
        format!("{first:?} {second:?}")
    });
    let running = start_once(builder().tool(tool)).await;
    let mut more = json!({});
    for key in ["elsewhere", "a", "b"] {
        let asked = running.ask(&call("rounds", more.clone())).await.result();
        assert_eq!(asked["inputRequests"].get(key).is_some(), key != "elsewhere", "{asked}");
        if more != json!({}) {
            assert_eq!(running.ask(&call("rounds", more)).await.code(), Some(-32602), "{key}");
        }
        let name = accept(json!({ "name": key }));
        more = json!({ "requestState": asked["requestState"], "inputResponses": { key: name } });
    }
    let done = running.ask(&call("rounds", more.clone())).await.result();
    assert_eq!(text(&done), "Some(\"a\") Some(\"b\")");
    assert_eq!(running.ask(&call("rounds", more)).await.code(), Some(-32602));
}

/// States that a handler makes by hand are its own.
#[tokio::test]
async fn states_by_hand_are_not_counted() {
    let tool = Tool::new("raw", async |answers: Answers| format!("{:?}", answers.state.is_some()));
    let running = start_once(builder().tool(tool).tool(Tool::new("greet", greet))).await;
    for _ in 0..2 {
        let done = running.ask(&call("raw", json!({ "requestState": "mine" }))).await.result();
        assert_eq!(text(&done), "true");
    }
}

/// A store that does what a test says, and remembers what it was asked.
struct Scripted {
    script: Mutex<Vec<Script>>,
    claims: Mutex<Vec<(StateId, SystemTime)>>,
    asked: Bell,
}

enum Script {
    Take,
    Fail,
    Panic,
    PanicLater,
    Wait(Bell, Flag),
}

impl Scripted {
    fn new(script: impl IntoIterator<Item = Script>) -> Arc<Self> {
        let script = Mutex::new(script.into_iter().collect());
        Arc::new(Self { script, claims: Mutex::default(), asked: Bell::new() })
    }
}

impl SpentStates for Scripted {
    fn claim(&self, id: StateId, until: SystemTime) -> Claiming<'_> {
        self.asked.ring();
        self.claims.lock().unwrap().push((id, until));
        let script = self.script.lock().unwrap().remove(0);
        assert!(!matches!(script, Script::Panic), "at once");
        Box::pin(async move {
            match script {
                Script::Take | Script::Panic => Ok(true),
                Script::Fail => Err("redis://secret@host is gone".into()),
                Script::PanicLater => panic!("later"),
                Script::Wait(go, _waits) => {
                    go.wait().await;
                    Ok::<_, Box<dyn Error + Send + Sync>>(false)
                }
            }
        })
    }
}

/// A store that fails lets nobody in, says nothing of why, and loses no state.
#[tokio::test]
async fn without_a_store_that_works_nothing_runs() {
    let (store, ended) = (
        Scripted::new([Script::Fail, Script::Panic, Script::PanicLater, Script::Take]),
        Arc::default(),
    );
    let running = start(builder().tool(redeem(&ended)).single_use_states(store.clone())).await;
    let asked = running.ask(&call("redeem", json!({}))).await.result();
    let before = SystemTime::now();
    for _ in 0..3 {
        let reply = running.ask(&call("redeem", answered(&asked))).await;
        assert_eq!((reply.status, reply.code()), (200, Some(-32603)));
        assert!(!reply.text().contains("secret"));
    }
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    let done = running.ask(&call("redeem", answered(&asked))).await.result();
    assert_eq!(text(&done), "Hello, Ada! 7");
    let claims = store.claims.lock().unwrap();
    assert!(claims.iter().all(|claim| claim == &claims[0]), "a state has one id and one expiry");
    // Longer than the hour that a state is good, for clocks that differ.
    let kept = claims[0].1.duration_since(before).unwrap();
    assert!(kept > Duration::from_secs(3600) && kept < Duration::from_secs(2 * 3600), "{kept:?}");
}

#[tokio::test]
async fn a_full_store_refuses_and_forgets_nothing() {
    let store = Arc::new(LocalSpentStates::with_limit(1));
    let running = start(builder().tool(Tool::new("greet", greet)).single_use_states(store)).await;
    let asked = [
        running.ask(&call("greet", json!({}))).await.result(),
        running.ask(&call("greet", json!({}))).await.result(),
    ];
    for (which, code) in [(0, None), (1, Some(-32603)), (0, Some(-32602)), (1, Some(-32603))] {
        assert_eq!(running.ask(&call("greet", answered(&asked[which]))).await.code(), code);
    }
}

/// The handler waits for the store, and a client that leaves takes both along.
#[tokio::test]
async fn nothing_runs_while_the_store_is_asked() {
    let ended = Arc::default();
    let ((flag, mut dropped), go) = (watched(), Bell::new());
    let waits = || Script::Wait(go.clone(), flag());
    let store = Scripted::new([waits(), waits(), waits()]);
    let tools = [redeem(&ended), redeem_to_completion(&ended)];
    let running = start(builder().tools(tools).single_use_states(store.clone())).await;
    for tool in ["redeem", "pays"] {
        let asked = running.ask(&call(tool, json!({}))).await.result();
        let mut conn = running.connect().await;
        conn.send(&call(tool, answered(&asked)).bytes()).await;
        store.asked.rung().await;
        assert!(dropped.none_dropped());
        drop(conn);
        dropped.dropped().await;
    }
    let asked = running.ask(&call("pays", json!({}))).await.result();
    go.ring();
    assert_eq!(running.ask(&call("pays", answered(&asked))).await.code(), Some(-32602));
    assert_eq!(ended.load(Ordering::SeqCst), 0);
}

/// A store that never answers holds nobody longer than a call may take.
#[tokio::test]
async fn a_store_that_hangs_is_not_waited_for() {
    let (ended, (flag, mut dropped)) = (Arc::default(), watched());
    let store = Scripted::new([Script::Wait(Bell::new(), flag())]);
    let limits = limits(|limits| limits.call_time = Duration::from_millis(500));
    let server = builder().tool(redeem(&ended)).single_use_states(store).limits(limits);
    let running = start(server).await;
    let asked = running.ask(&call("redeem", json!({}))).await.result();
    assert_eq!(running.ask(&call("redeem", answered(&asked))).await.code(), Some(-32603));
    dropped.dropped().await;
    assert_eq!(ended.load(Ordering::SeqCst), 0);
}

/// A reply that has become a stream meanwhile says it in band.
#[tokio::test]
async fn a_stream_ends_with_the_refusal() {
    let ((flag, _dropped), go) = (watched(), Bell::new());
    let store = Scripted::new([Script::Wait(go.clone(), flag())]);
    let tool = Tool::new("greet", greet);
    let server = builder().tool(tool).single_use_states(store).response_mode(ResponseMode::Sse);
    let running = start(server).await;
    let asked = running.ask(&call("greet", json!({}))).await.result();
    let mut conn = running.connect().await;
    conn.send(&call("greet", answered(&asked)).bytes()).await;
    conn.stream().await;
    go.ring();
    let events = conn.events().await;
    assert_eq!((events.len(), &events[0]["error"]["code"]), (1, &json!(-32602)));
}

/// A server that gets its first question while it serves counts its states as well.
#[tokio::test]
async fn a_tool_that_comes_later_is_counted() {
    let server = builder().tool(ok()).single_use_states(local()).build().unwrap();
    let running = Running::start(server.clone()).await;
    server.edit().add_tool(Tool::new("greet", greet)).apply().unwrap();
    let asked = running.ask(&call("greet", json!({}))).await.result();
    for code in [None, Some(-32602)] {
        assert_eq!(running.ask(&call("greet", answered(&asked))).await.code(), code);
    }
}

/// Over a byte stream as well, whose requests are all under way at once.
#[tokio::test]
async fn over_a_byte_stream() {
    let server = builder().tool(Tool::new("greet", greet)).single_use_states(local());
    let mut pipe = Lines::serve(&server.build().unwrap());
    let params = |more: &Value| {
        with(json!({ "name": "greet", "_meta": capable(json!({ "elicitation": {} })) }), more)
    };
    pipe.send("1", "tools/call", params(&json!({}))).await;
    let more = answered(&pipe.message().await["result"]);
    for id in ["2", "3"] {
        pipe.send(id, "tools/call", params(&more)).await;
    }
    let replies = [pipe.message().await, pipe.message().await];
    let codes = replies.iter().filter_map(|reply| reply["error"]["code"].as_i64());
    assert_eq!(codes.collect::<Vec<_>>(), [-32602], "{replies:?}");
}

/// What runs to completion is claimed first, and then runs to completion.
#[tokio::test]
async fn a_payment_is_made_once() {
    let ended = Arc::default();
    let running = start_once(builder().tool(redeem_to_completion(&ended))).await;
    let asked = running.ask(&call("pays", json!({}))).await.result();
    let done = running.ask(&call("pays", answered(&asked))).await.result();
    assert_eq!(text(&done), "Hello, Ada! 7");
    assert_eq!(running.ask(&call("pays", answered(&asked))).await.code(), Some(-32602));
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

/// What a layer refuses has not been used, and what it tries again was used once.
#[tokio::test]
async fn a_state_is_claimed_inside_of_the_layers() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    // The second call comes too early, and the third is tried twice.
    let layer = from_fn(move |call: Call, next: Next| {
        let counted = Arc::clone(&counted);
        async move {
            match counted.fetch_add(1, Ordering::SeqCst) {
                1 => CallOutcome::busy(Duration::from_secs(1)),
                2 => {
                    assert!(!next.clone().run(call.clone()).await.is_failure());
                    next.run(call).await
                }
                _ => next.run(call).await,
            }
        }
    });
    let ended = Arc::default();
    let running = start_once(builder().tool(redeem(&ended)).layer(layer)).await;
    let asked = running.ask(&call("redeem", json!({}))).await.result();
    let busy = running.ask(&call("redeem", answered(&asked))).await;
    assert_eq!(busy.status, 429);
    let done = running.ask(&call("redeem", answered(&asked))).await.result();
    assert_eq!(text(&done), "Hello, Ada! 7");
    assert_eq!(ended.load(Ordering::SeqCst), 2, "the layer had it run twice");
    let again = running.ask(&call("redeem", answered(&asked))).await;
    assert_eq!((again.status, again.code()), (400, Some(-32602)));
}
