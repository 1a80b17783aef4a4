//! `Watched`: a body that fails when nothing has arrived for too long.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};

use crate::endpoint::ReplyBody;
use crate::error::{BoxError, Error, Kind};

/// A body and the silence that it may keep. Whatever arrives ends a silence, since comments are sent for just
/// that.
pub(super) struct Watched {
    body: ReplyBody,
    silence: Duration,
    timer: Pin<Box<Sleep>>,
}

impl Watched {
    pub(super) fn new(body: ReplyBody, silence: Duration) -> Self {
        Self { body, silence, timer: Box::pin(tokio::time::sleep(silence)) }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if polled.is_ready() {
            if let Some(end) = Instant::now().checked_add(this.silence) {
                this.timer.as_mut().reset(end);
            }
            return polled;
        }
        this.timer.as_mut().poll(cx).map(|()| {
            let error = Error::new(Kind::Idle(this.silence));
            Some(Err(error.into()))
        })
    }
}
