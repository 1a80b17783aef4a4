//! `Streams`: the tasks that HTTP/2 streams run in, given up when their peer does not read.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::Sleep;

/// Spawns streams and ends those whose window stays closed.
///
/// A connection whose peer stops reading altogether is found out by its socket. A peer that reads some streams and
/// lets others wait is not: their bodies are simply not polled any more, with all that they hold. So a body
/// [tells](handed) the task that polls it what it has handed out, and the task takes it as lost when nobody comes for
/// more in time.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) stall: Duration,
}

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
{
    fn execute(&self, future: F) {
        tokio::spawn(Watched { future, handed: Arc::default(), stalled: None, stall: self.stall });
    }
}

pin_project_lite::pin_project! {
    struct Watched<F> {
        #[pin]
        future: F,
        handed: Arc<Handed>,
        // When the piece of this number is taken for lost.
        stalled: Option<(u64, Pin<Box<Sleep>>)>,
        stall: Duration,
    }
}

/// How many pieces a body has handed out, and in the lowest bit whether the last is still to be followed.
type Handed = AtomicU64;

thread_local! {
    /// Of the stream that this thread is polling.
    static POLLED: RefCell<Option<Arc<Handed>>> = const { RefCell::new(None) };
}

/// Whether a stream is being polled that is to be told what is [`handed`] out.
pub(crate) fn is_watched() -> bool {
    POLLED.with_borrow(Option::is_some)
}

/// Tells that a response or a piece of it was handed out with more to come, or else that it has nothing at the moment.
pub(crate) fn handed(more: bool) {
    POLLED.with_borrow(|polled| {
        let Some(handed) = polled else { return };
        let last = handed.load(Ordering::Relaxed);
        let now = if more { ((last >> 1) + 1) << 1 | 1 } else { last & !1 };
        handed.store(now, Ordering::Relaxed);
    });
}

impl<F: Future> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let outer = POLLED.replace(Some(Arc::clone(this.handed)));
        let polled = this.future.poll(cx);
        POLLED.replace(outer);
        if polled.is_ready() {
            return Poll::Ready(());
        }
        let handed = this.handed.load(Ordering::Relaxed);
        if handed & 1 == 0 {
            *this.stalled = None;
            return Poll::Pending;
        }
        if this.stalled.as_ref().is_none_or(|(piece, _)| *piece != handed) {
            *this.stalled = Some((handed, Box::pin(tokio::time::sleep(*this.stall))));
        }
        let lost =
            this.stalled.as_mut().is_some_and(|(_, sleep)| sleep.as_mut().poll(cx).is_ready());
        if lost {
            // Dropping the future resets the stream.
            tracing::debug!("the reader of an HTTP/2 stream stalled; the stream is given up");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
