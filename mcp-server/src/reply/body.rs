//! `Body`: the one body type of every response.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use mcp_transport::sse;
use serde::Serialize;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep};

use crate::context::Context as CallContext;
use crate::permit::Permit;

/// The body of a response: nothing, one JSON message, or an SSE stream.
///
/// Dropping a stream before its end cancels the call behind it.
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    Empty,
    Full(Bytes),
    Stream(Box<Stream>),
}

/// The stream was closed before its answer: its reader stalled, or the exchange was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was closed before its answer")]
pub struct StreamLost;

impl Body {
    pub(crate) const fn empty() -> Self {
        Self(Kind::Empty)
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Full(bytes.into()))
    }

    pub(crate) fn json<T: Serialize>(message: &T) -> Self {
        // What is written here holds no maps with odd keys, the only thing JSON cannot say.
        Self::full(serde_json::to_vec(message).unwrap_or_default())
    }

    /// A stream of what the outbox of `context` gets, with a comment after every `keep_alive` of
    /// silence; zero is never.
    pub(crate) fn stream(
        context: CallContext,
        work: Option<AbortHandle>,
        keep_alive: Duration,
        permit: Option<Permit>,
    ) -> Self {
        let silence = (!keep_alive.is_zero()).then(|| Box::pin(tokio::time::sleep(keep_alive)));
        Self(Kind::Stream(Box::new(Stream { context, work, keep_alive, silence, _permit: permit })))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = StreamLost;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamLost>>> {
        match &mut self.0 {
            Kind::Empty => Poll::Ready(None),
            Kind::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(stream) => {
                let next = ready!(stream.poll_next(cx));
                Poll::Ready(next.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

struct Stream {
    context: CallContext,
    /// The task that the handler runs in.
    work: Option<AbortHandle>,
    keep_alive: Duration,
    silence: Option<Pin<Box<Sleep>>>,
    /// The exchange is under way for as long as its stream is.
    _permit: Option<Permit>,
}

impl Stream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamLost>>> {
        match self.context.outbox().poll_frames(cx) {
            Poll::Ready(Some(Ok(frames))) => {
                self.rearm();
                return Poll::Ready(Some(Ok(frames.into())));
            }
            Poll::Ready(Some(Err(_))) => return Poll::Ready(Some(Err(StreamLost))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        let Some(silence) = &mut self.silence else {
            return Poll::Pending;
        };
        ready!(silence.as_mut().poll(cx));
        self.rearm();
        Poll::Ready(Some(Ok(Bytes::from_static(sse::KEEP_ALIVE))))
    }

    fn rearm(&mut self) {
        if let Some(silence) = &mut self.silence {
            silence.as_mut().reset(Instant::now() + self.keep_alive);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.context.outbox().close();
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("id", self.context.request_id()).finish_non_exhaustive()
    }
}
