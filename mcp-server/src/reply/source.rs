//! `Source`: where the frames of a reply come from while its request is under way.

use std::fmt;
use std::task::{Context as TaskContext, Poll};

use tokio::task::AbortHandle;

use super::{Closed, Framing};
use crate::context::Context;
use crate::subscription::Subscription;

/// A request under way, as whatever carries its reply sees it. Dropping it before the answer cancels it.
pub(crate) enum Source {
    Call {
        context: Context,
        /// The task that the handler runs in.
        work: Option<AbortHandle>,
    },
    Listen(Subscription),
}

impl Source {
    /// Takes everything that waits as the bytes of one write, the answer last; then the end, `None`. An error
    /// when it was broken off before the answer.
    pub(crate) fn poll_frames(
        &mut self,
        cx: &TaskContext<'_>,
        framing: Framing,
    ) -> Poll<Option<Result<Vec<u8>, Closed>>> {
        match self {
            Self::Call { context, .. } => context.outbox().poll_frames(cx, framing),
            Self::Listen(subscription) => subscription.poll_frames(cx, framing),
        }
    }

    /// Whether the answer was taken, so that nothing can follow.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Call { context, .. } => context.outbox().is_over(),
            Self::Listen(subscription) => subscription.subscriber().is_over(),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // A subscription ends by itself when it is dropped.
        let Self::Call { context, work } = self else { return };
        context.outbox().close();
        if let Some(work) = work {
            work.abort();
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { context, .. } => {
                f.debug_tuple("Call").field(context.request_id()).finish()
            }
            Self::Listen(subscription) => f.debug_tuple("Listen").field(subscription).finish(),
        }
    }
}
