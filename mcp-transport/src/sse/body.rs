//! The events of an HTTP body. The one file here that waits for anything.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf as _;
use http_body::Body;

use super::{Decoder, Event, EventTooLong};

/// The events of a body with media type `text/event-stream`.
#[derive(Debug)]
pub struct EventStream<B> {
    body: B,
    decoder: Decoder,
    ended: bool,
}

impl<B: Body + Unpin> EventStream<B> {
    /// Reads `body` as events of up to `limit` bytes.
    pub fn new(body: B, limit: usize) -> Self {
        Self { body, decoder: Decoder::new(limit), ended: false }
    }

    /// Waits for the next event; `None` is the end of the body. Cancel safe: nothing is lost when
    /// the future is dropped.
    ///
    /// # Errors
    /// When the body fails or an event exceeds the limit. Then the stream has ended.
    #[expect(clippy::should_implement_trait, reason = "an async iterator's step has this name")]
    pub fn next(&mut self) -> impl Future<Output = Option<Result<Event, StreamError<B::Error>>>> {
        poll_fn(|cx| self.poll_next(cx))
    }

    /// The same as one poll.
    pub fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, StreamError<B::Error>>>> {
        for _ in 0..PIECES {
            if self.ended {
                return Poll::Ready(None);
            }
            match self.decoder.next() {
                Ok(None) => {}
                Ok(Some(event)) => return Poll::Ready(Some(Ok(event))),
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(StreamError::TooLong(error))));
                }
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(mut data) = frame.into_data() {
                        self.decoder.push(data.copy_to_bytes(data.remaining()));
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(StreamError::Body(error))));
                }
                None => self.ended = true,
            }
        }
        // A body that always has more, and never an event, must not keep timers from being heard.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// How many pieces of a body one poll reads for an event.
const PIECES: usize = 64;

/// Why a stream of events broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError<E> {
    /// The body could not be read further.
    #[error("the stream broke off")]
    Body(#[source] E),
    /// An event exceeded the limit.
    #[error(transparent)]
    TooLong(#[from] EventTooLong),
}
