//! Reading a request's body: into one buffer, within the limit, in time.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use crate::limits::Limits;
use crate::rejection::Reason;

/// Reads `body` to its end.
///
/// Gives up as soon as it is known to be too long, by its `Content-Length` before the first byte
/// is read.
pub(crate) async fn read<B>(body: B, limits: &Limits) -> Result<Bytes, Reason>
where
    B: Body<Data = Bytes> + Unpin,
{
    let limit = limits.body;
    let hint = body.size_hint();
    if hint.lower() > limit as u64 {
        return Err(Reason::BodyTooLarge { limit });
    }
    // hyper announces the length that the peer declared; it is not reserved before bytes arrive.
    let mut reading = pin!(collect(body, limit));
    // What has arrived with the head, as most bodies have, needs no timer.
    let at_once = poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await;
    if let Poll::Ready(result) = at_once {
        return result;
    }
    match tokio::time::timeout(limits.body_time, reading).await {
        Ok(result) => result,
        Err(_) => Err(Reason::BodyTimeout { limit: limits.body_time }),
    }
}

async fn collect<B>(mut body: B, limit: usize) -> Result<Bytes, Reason>
where
    B: Body<Data = Bytes> + Unpin,
{
    // Most bodies arrive in one piece, which is then used as it is.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(frame) = frame else {
            return Err(Reason::BodyUnreadable);
        };
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - first.len() - rest.len() {
            return Err(Reason::BodyTooLarge { limit });
        }
        if first.is_empty() {
            first = data;
            continue;
        }
        rest.extend_from_slice(&data);
    }
    if rest.is_empty() {
        return Ok(first);
    }
    Ok([&first[..], &rest].concat().into())
}

/// The body of a request, whatever its type, in a box: so that an exchange is compiled here once, and not by each
/// crate with a body of its own.
pub(crate) type Boxed = Pin<Box<dyn Body<Data = Bytes, Error = Unreadable> + Send>>;

/// Why a body cannot be read makes no difference to the answer.
#[derive(Debug)]
pub(crate) struct Unreadable;

pub(crate) fn boxed<B: Body<Data = Bytes> + Send + 'static>(body: B) -> Boxed {
    Box::pin(Opaque { body })
}

pin_project_lite::pin_project! {
    struct Opaque<B> {
        #[pin]
        body: B,
    }
}

impl<B: Body<Data = Bytes>> Body for Opaque<B> {
    type Data = Bytes;
    type Error = Unreadable;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unreadable>>> {
        let polled = self.project().body.poll_frame(cx);
        polled.map(|frame| frame.map(|frame| frame.or(Err(Unreadable))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
