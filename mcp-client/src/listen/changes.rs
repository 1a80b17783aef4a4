//! `Changes`: a subscription that is open, over all the streams it takes.

use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mcp_types::SubscriptionFilter;
use tokio::time::{Instant, Sleep};

use super::subscription::{Opening, Subscription};
use super::{Change, End};
use crate::backoff::Backoff;
use crate::error::Error;
use crate::future::BoxFuture;

/// The changes that a subscription tells of, as they come. Made by awaiting a [`Listen`](super::Listen).
///
/// It is a [`Stream`] as well. Nothing is read but by [`next`](Self::next) and as of a stream: what the server sends
/// meanwhile waits, first here, then there. Over a byte stream, which others use too, only so much
/// [waits](crate::Limits::PIPE_MESSAGES): one that is not read in time is lost.
/// Dropping it ends the subscription: on HTTP its stream is closed, which is all the server is told.
/// Specification: Subscriptions, Cancellation.
#[must_use = "dropping it ends the subscription"]
pub struct Changes {
    opening: Opening,
    backoff: Option<Backoff>,
    /// Resolves when the user signs out, whose stream it is.
    signed_out: Option<BoxFuture<'static, ()>>,
    acknowledged: SubscriptionFilter,
    state: State,
    /// Attempts that failed since a stream held.
    failed: u32,
}

enum State {
    Open { stream: Box<Subscription>, since: Instant },
    Pausing(Pin<Box<Sleep>>),
    Opening(BoxFuture<'static, Result<Subscription, Error>>),
    Ended(End),
}

impl Changes {
    pub(super) fn new(
        opening: Opening,
        backoff: Option<Backoff>,
        signed_out: Option<BoxFuture<'static, ()>>,
        mut stream: Subscription,
    ) -> Self {
        let acknowledged = mem::take(&mut stream.acknowledged);
        let state = State::Open { stream: Box::new(stream), since: Instant::now() };
        Self { opening, backoff, signed_out, acknowledged, state, failed: 0 }
    }

    /// What the server granted of what was wanted, when it last did. Specification: Subscriptions,
    /// Acknowledgment.
    pub const fn acknowledged(&self) -> &SubscriptionFilter {
        &self.acknowledged
    }

    /// Waits for the next change; `None` once the subscription has ended, and [`end`](Self::end) says how.
    ///
    /// Cancel safe: when the future is dropped, nothing is lost.
    #[expect(clippy::should_implement_trait, reason = "an async iterator's step has this name")]
    pub fn next(&mut self) -> impl Future<Output = Option<Change>> + Send {
        poll_fn(|cx| self.poll_next(cx))
    }

    /// The same as one poll.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        // Whoever reads in a loop must not be held by a server that always has more.
        let turn = ready!(tokio::task::coop::poll_proceed(cx));
        let polled = self.advance(cx);
        if polled.is_ready() {
            turn.made_progress();
        }
        polled
    }

    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        if let Some(signed_out) = &mut self.signed_out
            && signed_out.as_mut().poll(cx).is_ready()
        {
            self.signed_out = None;
            self.close();
        }
        loop {
            match &mut self.state {
                State::Ended(_) => return Poll::Ready(None),
                State::Open { stream, since } => match ready!(stream.poll_next(cx)) {
                    Ok(change) => return Poll::Ready(Some(self.tell(change))),
                    Err(end) => {
                        let held = since.elapsed();
                        if self.backoff.is_some_and(|backoff| held >= backoff.longest()) {
                            self.failed = 0;
                        }
                        self.state = self.after(end);
                    }
                },
                State::Pausing(pause) => {
                    ready!(pause.as_mut().poll(cx));
                    let opening = self.opening.clone();
                    self.state = State::Opening(Box::pin(async move { opening.open().await }));
                }
                State::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(mut stream) => {
                        self.acknowledged = mem::take(&mut stream.acknowledged);
                        self.state =
                            State::Open { stream: Box::new(stream), since: Instant::now() };
                        return Poll::Ready(Some(self.tell(Change::Stale)));
                    }
                    Err(error) => self.state = self.after(End::Lost(error)),
                },
            }
        }
    }

    /// Lets the client know before the caller does.
    fn tell(&self, change: Change) -> Change {
        self.opening.client.learn(&change);
        change
    }

    /// Ends the subscription, whatever it waits for.
    pub fn close(&mut self) {
        if !matches!(self.state, State::Ended(_)) {
            self.state = State::Ended(End::Closed);
        }
    }

    /// How the subscription ended; `None` while it has not.
    pub const fn end(&self) -> Option<&End> {
        match &self.state {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// What follows the end of a stream.
    fn after(&mut self, end: End) -> State {
        let Some(backoff) = self.backoff.filter(|_| may_pass(&end)) else {
            return State::Ended(end);
        };
        let pause = backoff.pause(self.failed);
        self.failed = self.failed.saturating_add(1);
        tracing::debug!(?end, ?pause, "a subscription is opened again");
        State::Pausing(Box::pin(tokio::time::sleep(pause)))
    }
}

/// The same changes as [`Changes::next`] gives.
impl Stream for Changes {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        Self::poll_next(self.get_mut(), cx)
    }
}

/// Whether it is worth another attempt.
fn may_pass(end: &End) -> bool {
    match end {
        End::Closed => false,
        End::Graceful => true,
        // A byte stream that has ended for good stays so.
        End::Lost(error) => error.is_outage() && !error.is_closed(),
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("acknowledged", &self.acknowledged)
            .field("end", &self.end())
            .finish_non_exhaustive()
    }
}
