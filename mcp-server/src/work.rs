//! A handler at work: its panics caught, its reply encoded, and, where it must not be cut short, a
//! task of its own.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, ready};

use mcp_types::{CallToolResult, Completion, ErrorObject, Outcome, RequestId};
use tokio::sync::{Notify, oneshot};

use crate::completion::{Completer, Completing, completed};
use crate::context::Context;
use crate::handler::{ErasedHandler, Handled, Input, Reply, Work};
use crate::permit::Permit;
use crate::registry::ToolEntry;
use crate::reply::Answer;
use crate::server::Shared;

/// What a tool that runs to completion came to when nobody waited for it any more.
#[derive(Debug)]
#[non_exhaustive]
pub struct Abandoned {
    /// The tool.
    pub tool: String,
    /// The request, for its id, its caller and its metadata.
    pub context: Context,
    /// What would have been the reply.
    pub reply: Result<Outcome<CallToolResult>, ErrorObject>,
}

/// Gets what nobody waits for.
pub(crate) type AbandonedHook = dyn Fn(Abandoned) + Send + Sync;

/// What has to come true before a handler is called; otherwise the answer that it does not get to give.
pub(crate) type Claim = Pin<Box<dyn Future<Output = Result<(), Answer>> + Send>>;

/// Calls a handler.
type Start = Box<dyn FnOnce(&Context) -> Working + Send>;

/// A handler's work, which ends with an answer whatever the handler does.
pub(crate) struct Working {
    context: Context,
    state: State,
}

enum State {
    /// The handler is not called yet; how to, once that is allowed.
    Claiming(Claim, Option<Start>),
    Running(Work),
    /// The handler runs in a task of its own, which sends what it comes to.
    Detached(oneshot::Receiver<Box<Unheard>>),
    /// The handler never began, or has just ended.
    Replied(Option<Box<Reply>>),
}

impl Working {
    /// Has `start` begin the work: at once, unless the request has to be [let in](Context::claim) first.
    pub(crate) fn when_claimed(
        context: &Context,
        input: Input<'_>,
        start: impl FnOnce(&Context, Input<'_>) -> Self + Send + 'static,
    ) -> Self {
        let Some(claim) = context.claim() else { return start(context, input) };
        let input = input.to_owned();
        let start = move |context: &Context| start(context, input.as_input());
        Self { context: context.clone(), state: State::Claiming(claim, Some(Box::new(start))) }
    }

    /// Starts the handler: decodes the arguments and calls it. Nothing of it runs yet but what it does before
    /// its future.
    pub(crate) fn start(handler: &dyn ErasedHandler, context: &Context, input: Input<'_>) -> Self {
        let started = catch_unwind(AssertUnwindSafe(|| handler.start(context, input)));
        let state = match started {
            Ok(Ok(work)) => State::Running(work),
            Ok(Err(error)) => State::Replied(Some(Box::new(handler.refuse(error)))),
            Err(panic) => State::Replied(Some(Box::new(panicked(panic)))),
        };
        Self { context: context.clone(), state }
    }

    /// Starts a completer; without one there is nothing to suggest.
    pub(crate) fn complete(completer: Option<&dyn Completer>, completing: Completing) -> Self {
        let context = completing.context.clone();
        let started = catch_unwind(AssertUnwindSafe(|| {
            completer.map(|completer| completer.start(completing))
        }));
        let state = match started {
            Ok(Some(work)) => State::Running(work),
            Ok(None) => State::Replied(Some(Box::new(Ok(completed(Completion::default()))))),
            Err(panic) => State::Replied(Some(Box::new(panicked(panic)))),
        };
        Self { context, state }
    }

    fn poll_reply(&mut self, cx: &mut TaskContext<'_>) -> Poll<Reply> {
        let polled = match &mut self.state {
            State::Running(work) => {
                self.context.begin_poll(cx.waker());
                catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)))
            }
            State::Replied(reply) => match reply.take() {
                Some(reply) => return Poll::Ready(*reply),
                None => return Poll::Pending,
            },
            // There is none yet, or it comes through the channel.
            State::Claiming(..) | State::Detached(_) => return Poll::Pending,
        };
        match polled {
            Ok(Poll::Pending) => match self.context.end_round() {
                None => Poll::Pending,
                // What waits for the client begins anew when the client comes back.
                Some(ended) => {
                    self.discard();
                    Poll::Ready(ended.map(Outcome::InputRequired))
                }
            },
            Ok(Poll::Ready(reply)) => {
                self.discard();
                Poll::Ready(reply)
            }
            Err(panic) => {
                self.discard();
                Poll::Ready(panicked(panic))
            }
        }
    }

    /// Begins the work once it may begin; until then there is nothing more to poll.
    fn poll_claim(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), Answer>> {
        let State::Claiming(claim, start) = &mut self.state else { return Poll::Ready(Ok(())) };
        // It runs code of a user.
        let polled = catch_unwind(AssertUnwindSafe(|| claim.as_mut().poll(cx)));
        let claimed = match polled {
            Ok(polled) => ready!(polled),
            Err(panic) => Err(Answer::of(&self.context, panicked(panic))),
        };
        let start = start.take();
        self.discard();
        if claimed.is_ok()
            && let Some(start) = start
        {
            *self = start(&self.context);
        }
        Poll::Ready(claimed)
    }

    /// Drops the handler's future, whose destructors may panic as well.
    fn discard(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Replied(None));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(state))) {
            tracing::error!(panic = message(&*panic), "a handler panicked while it was dropped");
            dispose(panic);
        }
    }
}

impl Future for Working {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Answer> {
        if let Err(refused) = ready!(self.poll_claim(cx)) {
            return Poll::Ready(refused);
        }
        let State::Detached(receiver) = &mut self.state else {
            return self.poll_reply(cx).map(|reply| Answer::of(&self.context, reply));
        };
        let received = ready!(Pin::new(receiver).poll(cx));
        self.state = State::Replied(None);
        Poll::Ready(match received {
            Ok(unheard) => Answer::of_detached(unheard),
            // The sender goes only when the runtime shuts down.
            Err(_) => Answer::failed(
                &self.context,
                ErrorObject::internal_error("The server is shutting down"),
            ),
        })
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.discard();
    }
}

/// Moves `work` into a task of its own that goes on when the exchange ends.
pub(crate) fn run_to_completion(
    tool: Arc<ToolEntry>,
    context: &Context,
    mut work: Working,
    permit: Option<Permit>,
) -> Working {
    let (sender, receiver) = oneshot::channel();
    let (shared, its_context) = (Arc::clone(context.shared()), context.clone());
    let going = Detached::begin(&shared.detached);
    tokio::spawn(async move {
        // It is under way for as long as it runs, whoever waits for it.
        let _going = (going, permit);
        let reply = std::future::poll_fn(|cx| work.poll_reply(cx)).await;
        // When nobody receives it any more it is dropped, here or with the channel.
        let _ = sender.send(Box::new(Unheard {
            shared,
            tool,
            context: its_context,
            reply: Some(reply),
        }));
    });
    Working { context: context.clone(), state: State::Detached(receiver) }
}

/// How many detached handlers are at work, for a server that shuts down to wait for.
#[derive(Debug, Default)]
pub(crate) struct Detached {
    count: AtomicUsize,
    changed: Notify,
}

impl Detached {
    /// Counts one more until what this returns is dropped.
    fn begin(this: &Arc<Self>) -> Going {
        this.count.fetch_add(1, Ordering::Relaxed);
        Going(Arc::clone(this))
    }

    /// Waits until there is none.
    pub(crate) async fn ended(&self) {
        loop {
            let changed = self.changed.notified();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            changed.await;
        }
    }
}

struct Going(Arc<Detached>);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}

/// What a detached handler came to, for as long as it was not sent; dropped before, it goes to the hook.
pub(crate) struct Unheard {
    shared: Arc<Shared>,
    tool: Arc<ToolEntry>,
    context: Context,
    /// There until it is sent.
    reply: Option<Reply>,
}

impl Unheard {
    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) const fn reply(&self) -> Option<&Reply> {
        self.reply.as_ref()
    }

    pub(crate) fn is_sent(mut self: Box<Self>) {
        self.reply = None;
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            self.shared.abandoned(&self.tool, self.context.clone(), reply);
        }
    }
}

impl fmt::Debug for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unheard").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}

impl Shared {
    fn abandoned(&self, tool: &ToolEntry, context: Context, reply: Reply) {
        let id: &RequestId = context.request_id();
        tracing::info!(tool = tool.name, %id, "nobody waits for the result any more");
        if let Some(hook) = &self.on_abandoned {
            let reply = reply.map(|outcome| {
                outcome.map(|handled| match handled {
                    Handled::Tool(result) => result,
                    // Only tools run to completion.
                    _ => CallToolResult::default(),
                })
            });
            let abandoned = Abandoned { tool: tool.name.clone(), context, reply };
            if catch_unwind(AssertUnwindSafe(|| hook(abandoned))).is_err() {
                tracing::error!("the hook for abandoned results panicked");
            }
        }
    }
}

/// The answer to a call that took too long.
pub(crate) fn timed_out(context: &Context, limit: std::time::Duration) -> Answer {
    let seconds = limit.as_secs_f32();
    let error = ErrorObject::internal_error(format!("The call took longer than {seconds} s"));
    Answer::failed(context, error)
}

#[cold]
fn panicked(panic: Box<dyn Any + Send>) -> Reply {
    tracing::error!(panic = message(&*panic), "a handler panicked");
    dispose(panic);
    Err(ErrorObject::internal_error("Internal error"))
}

/// Drops what a panic was thrown with, which may panic in its turn.
pub(crate) fn dispose(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        // Enough is enough.
        std::mem::forget(again);
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(not a message)")
}
