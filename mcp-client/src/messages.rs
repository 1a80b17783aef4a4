//! `Messages`: what arrives in answer to one request, message by message.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use mcp_transport::sse::{EventStream, StreamError};

use crate::body::settle;
use crate::endpoint::ReplyBody;
use crate::error::{BoxError, Error, Kind};
use crate::pipe::PipeReply;

/// The messages of a reply, notifications first and the response, if any, last.
pub(crate) enum Messages {
    Events(EventStream<ReplyBody>),
    Lines(PipeReply),
}

impl Messages {
    /// The events of an HTTP body, each of up to `limit` bytes.
    pub(crate) fn of_events(body: ReplyBody, limit: usize) -> Self {
        Self::Events(EventStream::new(body, limit))
    }

    /// Waits for the next message; `None` is the end. Cancel safe.
    ///
    /// # Errors
    /// When the connection breaks off or a message is too large; nothing follows.
    pub(crate) fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, Error>>> {
        poll_fn(|cx| self.poll_next(cx))
    }

    /// The same as one poll.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let events = match self {
            Self::Events(events) => events,
            Self::Lines(reply) => return reply.inbox.poll_next(cx),
        };
        loop {
            match ready!(events.poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(failed(error)))),
                Some(Ok(event)) if event.is_message() => return Poll::Ready(Some(Ok(event.data))),
                // An event of another type, which is nothing to this protocol.
                Some(Ok(_)) => {}
            }
        }
    }

    /// Lets go of a reply whose response has arrived.
    pub(crate) async fn settle(self) {
        if let Self::Events(events) = self {
            settle(events).await;
        }
    }
}

fn failed(error: StreamError<BoxError>) -> Error {
    match error {
        StreamError::TooLong(too_long) => {
            Error::new(Kind::TooLarge { what: "an event of the reply", limit: too_long.limit })
        }
        // What watches over a body says so in an error of this crate.
        StreamError::Body(error) => match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::new(Kind::Body).caused_by(error),
        },
        other => Error::new(Kind::Body).caused_by(other.to_string()),
    }
}
