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

use super::{Framing, Source};
use crate::context::Context as CallContext;
use crate::permit::Permit;
use crate::subscription::Subscription;

/// The body of a response: nothing, one JSON message, or an SSE stream.
///
/// Dropping a stream before its end cancels the call behind it.
#[derive(Debug, Default)]
pub struct Body {
    /// What is at hand.
    bytes: Bytes,
    /// Where more comes from.
    stream: Option<Box<Stream>>,
    /// The exchange is under way for as long as its reply is.
    _permit: Option<Permit>,
}

/// The stream was closed before its answer: its reader stalled, or the exchange was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was closed before its answer")]
pub struct StreamLost;

/// 128 KiB at a time: a large answer to a peer that does not read should stay where it can be given up.
const PIECE: usize = 128 * 1024;

/// 16 KiB of an HTTP/2 stream, one frame of the default size: what is handed out waits in its connection, past being
/// given up.
#[cfg(feature = "http2")]
const HTTP2_PIECE: usize = 16 * 1024;

impl Body {
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), ..Self::default() }
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
    ) -> Self {
        Self::of(Source::Call { context, work }, keep_alive)
    }

    /// The stream of a subscription, with comments likewise.
    pub(crate) fn listening(subscription: Subscription, keep_alive: Duration) -> Self {
        Self::of(Source::Listen(subscription), keep_alive)
    }

    fn of(source: Source, keep_alive: Duration) -> Self {
        let silence = (!keep_alive.is_zero()).then(|| Box::pin(tokio::time::sleep(keep_alive)));
        let stream = Box::new(Stream { source, keep_alive, silence });
        Self { stream: Some(stream), ..Self::default() }
    }

    /// Keeps `permit` until the body is sent or dropped.
    pub(crate) fn holding(self, permit: Option<Permit>) -> Self {
        Self { _permit: permit, ..self }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamLost>>> {
        if self.bytes.is_empty() {
            let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
            match ready!(stream.poll_next(cx)) {
                Some(Ok(bytes)) => self.bytes = bytes,
                ended => return Poll::Ready(ended),
            }
        }
        #[cfg(feature = "http2")]
        let limit = if crate::serve::is_watched() { HTTP2_PIECE } else { PIECE };
        #[cfg(not(feature = "http2"))]
        let limit = PIECE;
        let piece = self.bytes.split_to(self.bytes.len().min(limit));
        Poll::Ready(Some(Ok(piece)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = StreamLost;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamLost>>> {
        let piece = self.poll_piece(cx);
        #[cfg(feature = "http2")]
        crate::serve::handed(matches!(piece, Poll::Ready(Some(Ok(_)))) && !self.is_end_stream());
        piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && self.stream.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.stream {
            None => SizeHint::with_exact(self.bytes.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}

struct Stream {
    source: Source,
    keep_alive: Duration,
    silence: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamLost>>> {
        match self.source.poll_frames(cx, Framing::Sse) {
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

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("source", &self.source).finish_non_exhaustive()
    }
}
