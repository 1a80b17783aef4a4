//! Handlers that run to completion, in a task of their own, whoever waits for them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_types::{CallToolResult, ErrorObject, Outcome, RequestId};
use tokio::sync::{Notify, oneshot};

use crate::context::Context;
use crate::handler::{Handled, Reply};
use crate::layer::CallOutcome;
use crate::permit::SharedPermit;
use crate::work::{Working, dispose};

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

/// Moves `work` into a task of its own that goes on when the exchange ends. What it comes to is received.
pub(crate) fn run_to_completion(
    context: &Context,
    mut work: Working,
    permit: Option<SharedPermit>,
) -> oneshot::Receiver<Box<Unheard>> {
    let (sender, receiver) = oneshot::channel();
    let context = context.clone();
    let going = Detached::begin(&context.shared().detached);
    tokio::spawn(async move {
        // It is under way for as long as it runs, whoever waits for it.
        let _going = (going, permit);
        let reply = std::future::poll_fn(|cx| work.poll_outcome(cx)).await.reply;
        // When nobody receives it any more it is dropped, here or with the channel.
        let _ = sender.send(Box::new(Unheard { context, reply: Some(reply) }));
    });
    receiver
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
    context: Context,
    /// There until it is sent.
    reply: Option<Reply>,
}

impl Unheard {
    pub(crate) fn is_sent(mut self: Box<Self>) {
        self.reply = None;
    }
}

impl From<Box<Unheard>> for CallOutcome {
    fn from(unheard: Box<Unheard>) -> Self {
        let reply = unheard.reply.clone();
        let reply = reply.unwrap_or_else(|| Err(ErrorObject::internal_error("The result is gone")));
        Self { unheard: Some(unheard), ..reply.into() }
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            abandoned(&self.context, reply);
        }
    }
}

impl fmt::Debug for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unheard").field("tool", &self.context.target()).finish_non_exhaustive()
    }
}

fn abandoned(context: &Context, reply: Reply) {
    let (tool, id): (_, &RequestId) = (context.target(), context.request_id());
    tracing::info!(tool, %id, "nobody waits for the result any more");
    if let Some(hook) = &context.shared().hooks.on_abandoned {
        let reply = reply.map(|outcome| {
            outcome.map(|handled| match handled {
                Handled::Tool(result) => result,
                // Only tools run to completion.
                _ => CallToolResult::default(),
            })
        });
        let abandoned = Abandoned { tool: tool.to_owned(), context: context.clone(), reply };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(abandoned))) {
            tracing::error!("the hook for abandoned results panicked");
            dispose(panic);
        }
    }
}
