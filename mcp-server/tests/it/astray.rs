//! Layers that do with a call what nobody expects: the client gets one answer, its place is given back, and the next
//! call finds the server as it was.

use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use mcp_server::layer::{Call, CallOutcome, Next, from_fn};
use mcp_server::{Args, Progress, ServerBuilder, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tower::Service;

use crate::support::{Bell, Conn, Lines, Post, Running, builder, limits, lines, meta, ok, within};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// A tool that reports once and repeats what it is told.
fn echo() -> Tool {
    Tool::new("echo", async |progress: Progress, Args(Text { text }): Args<Text>| {
        progress.report(1);
        tokio::task::yield_now().await;
        text
    })
}

fn arguments() -> Value {
    json!({ "text": "hi" })
}

fn listening() -> Post {
    let mut meta = meta();
    meta["progressToken"] = json!(1);
    Post::rpc("tools/call", json!({ "name": "echo", "arguments": arguments(), "_meta": meta }))
}

/// One call at a time, and none for long.
fn narrow() -> ServerBuilder {
    builder().limits(limits(|limits| {
        limits.exchanges = 1;
        limits.call_time = Duration::from_millis(100);
    }))
}

/// Waits until there is a place for a call, and makes it. There is no other sign of a place that was given back.
async fn place_is_free(conn: &mut Conn) {
    within(async {
        loop {
            let reply = conn.ask(&Post::call("ok", json!({}))).await;
            match reply.status {
                503 => tokio::task::yield_now().await,
                _ => return assert_eq!(reply.tool_text(), "ok"),
            }
        }
    })
    .await;
}

/// A service whose calls are made by a task of its own, as those of a buffer are.
#[derive(Clone)]
struct Queued(mpsc::UnboundedSender<Waiting>);

type Waiting = (Call, oneshot::Sender<CallOutcome>);

impl Queued {
    fn around(next: Next) -> Self {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Waiting>();
        tokio::spawn(async move {
            while let Some((call, answer)) = receiver.recv().await {
                let _ = answer.send(next.clone().run(call).await);
            }
        });
        Self(sender)
    }
}

impl Service<Call> for Queued {
    type Response = CallOutcome;
    type Error = oneshot::error::RecvError;
    type Future = oneshot::Receiver<CallOutcome>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send((call, answer));
        answered
    }
}

type Wraps = fn(Tool) -> Tool;

/// Ways to let a call go on, and all of them answer as if there were none.
const DETOURS: [(&str, Wraps); 7] = [
    ("twice at once", |tool| {
        tool.layer(from_fn(async |call: Call, next: Next| {
            tokio::join!(next.clone().run(call.clone()), next.run(call)).1
        }))
    }),
    ("the first of two", |tool| {
        tool.layer(from_fn(async |call: Call, next: Next| {
            tokio::select! {
                outcome = next.clone().run(call.clone()) => outcome,
                outcome = next.run(call) => outcome,
            }
        }))
    }),
    ("again after the outcome", |tool| {
        tool.layer(from_fn(async |call: Call, next: Next| {
            drop(next.clone().run(call.clone()).await);
            let kept = next.clone().run(call.clone()).await;
            drop(next.run(call));
            kept
        }))
    }),
    ("in a task", |tool| {
        tool.layer(from_fn(async |call: Call, next: Next| {
            tokio::spawn(next.run(call)).await.unwrap()
        }))
    }),
    ("one too many in a task", |tool| {
        tool.layer(from_fn(async |call: Call, next: Next| {
            tokio::spawn(next.clone().run(call.clone()));
            next.run(call).await
        }))
    }),
    ("begun here, ended there", |tool| {
        tool.layer(from_fn(async |call: Call, next: Next| {
            let mut going = Box::pin(next.run(call));
            let first = std::future::poll_fn(|cx| Poll::Ready(going.as_mut().poll(cx))).await;
            match first {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => tokio::spawn(going).await.unwrap(),
            }
        }))
    }),
    ("through a queue", |tool| tool.layer(tower::layer::layer_fn(Queued::around))),
];

#[tokio::test]
async fn a_call_may_take_any_detour() {
    for (how, wrap) in DETOURS {
        for to_completion in [false, true] {
            let tool = if to_completion { echo().run_to_completion() } else { echo() };
            let running = Running::build(narrow().tool(wrap(tool)).tool(ok())).await;
            let mut conn = running.connect().await;
            for post in [Post::call("echo", arguments()), listening()] {
                let reply = conn.ask(&post).await;
                assert_eq!((reply.status, reply.tool_text().as_str()), (200, "hi"), "{how}");
                if reply.is_stream() {
                    // Progress only ever rises, however many report it.
                    assert_eq!(reply.events().len(), 2, "{how}: {:?}", reply.events());
                }
                place_is_free(&mut conn).await;
            }
            let server = builder().tool(wrap(echo())).tool(ok()).build().unwrap();
            let mut stream = Lines::serve(&server);
            stream.call("1", "echo", arguments()).await;
            assert_eq!(lines::text(&stream.message().await), "hi", "{how}");
            stream.is_quiet().await;
        }
    }
}

/// What fails in every way there is.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    NeverReady,
    Clone,
    Ready,
    Display,
    NeverAnswers,
    DropsTheCall,
    DropWhileItWaits,
    InATask,
}

impl Fault {
    /// Whether nothing but its end helps a call.
    fn waits(self) -> bool {
        use Fault::{DropWhileItWaits, DropsTheCall, NeverAnswers, NeverReady};
        [NeverReady, NeverAnswers, DropsTheCall, DropWhileItWaits].contains(&self)
    }
}

struct Faulty(Fault, Next);

/// An error whose text is not to be had.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words for it")
    }
}

impl std::error::Error for Unspeakable {}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped")
    }
}

impl Clone for Faulty {
    fn clone(&self) -> Self {
        assert!(self.0 != Fault::Clone, "cloned");
        Self(self.0, self.1.clone())
    }
}

impl Service<Call> for Faulty {
    type Response = CallOutcome;
    type Error = Unspeakable;
    type Future = Pin<Box<dyn Future<Output = Result<CallOutcome, Unspeakable>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Unspeakable>> {
        match self.0 {
            Fault::NeverReady => Poll::Pending,
            Fault::Ready => Poll::Ready(Err(Unspeakable)),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (fault, next) = (self.0, self.1.clone());
        Box::pin(async move {
            match fault {
                Fault::Display => return Err(Unspeakable),
                Fault::NeverAnswers => drop((next.run(call).await, pending::<()>().await)),
                Fault::DropsTheCall => {
                    drop(call);
                    pending::<()>().await;
                }
                Fault::DropWhileItWaits => {
                    let _bomb = Bomb;
                    pending::<()>().await;
                }
                _ => {}
            }
            Ok(tokio::spawn(async { panic!("in a task") }).await.unwrap())
        })
    }
}

const FAULTS: [Fault; 8] = [
    Fault::NeverReady,
    Fault::Clone,
    Fault::Ready,
    Fault::Display,
    Fault::NeverAnswers,
    Fault::DropsTheCall,
    Fault::DropWhileItWaits,
    Fault::InATask,
];

#[tokio::test]
async fn a_call_that_is_lost_is_answered_all_the_same() {
    for fault in FAULTS {
        for to_completion in [false, true] {
            let tool = if to_completion { echo().run_to_completion() } else { echo() };
            let tool = tool.layer(tower::layer::layer_fn(move |next| Faulty(fault, next)));
            let server = narrow().tool(tool).tool(ok()).build().unwrap();
            let running = Running::start(server.clone()).await;
            let mut conn = running.connect().await;
            for post in [Post::call("echo", arguments()), listening()] {
                let reply = conn.ask(&post).await;
                assert_eq!((reply.status, reply.code()), (200, Some(-32603)), "{}", fault as u8);
                assert!(!reply.text().contains("words"));
                place_is_free(&mut conn).await;
                // The same when nobody waits for it.
                let mut leaves = running.connect().await;
                leaves.send(&post.bytes()).await;
                drop(leaves);
                place_is_free(&mut conn).await;
            }
            let mut stream = Lines::serve(&server);
            stream.call("1", "echo", arguments()).await;
            assert_eq!(lines::error(&stream.message().await).0, -32603, "{}", fault as u8);
            stream.is_quiet().await;
            if fault.waits() && !to_completion {
                // The same when the client cancels: the next line finds its place free.
                stream.call("2", "echo", arguments()).await;
                stream.cancel("2").await;
                stream.is_quiet().await;
            }
        }
    }
}

/// A layer that has let go of the call, or whose handler has ended, is still at work.
#[tokio::test]
async fn a_layer_at_work_keeps_the_place_of_its_call() {
    let begun = Bell::new();
    let waits = |before: bool| {
        let begun = begun.clone();
        from_fn(move |call: Call, next: Next| {
            let begun = begun.clone();
            async move {
                if before {
                    drop(call);
                } else {
                    drop(next.run(call).await);
                }
                begun.ring();
                pending().await
            }
        })
    };
    for to_completion in [false, true] {
        for before in [false, true] {
            let tool = if to_completion { echo().run_to_completion() } else { echo() };
            let limited = builder().limits(limits(|limits| limits.exchanges = 1));
            let builder = limited.tool(tool.layer(waits(before))).tool(ok());
            let running = Running::build(builder).await;
            let mut waiting = running.connect().await;
            waiting.send(&Post::call("echo", arguments()).bytes()).await;
            begun.rung().await;
            let mut conn = running.connect().await;
            let refused = conn.ask(&Post::call("ok", json!({}))).await;
            assert_eq!(refused.status, 503, "{to_completion} {before}");
            drop(waiting);
            place_is_free(&mut conn).await;
        }
    }
}
