//! `Recorder`: what passes between a client and a server.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tower_service::Service;

use super::{Asked, Whole, lock};
use crate::error::BoxError;
use crate::future::BoxFuture;

/// A tower service around another, such as a server in the same process or an HTTP client, that notes what passes.
/// A cheap clone if the other is; clones note in the same place. It keeps all of it, so it is for tests.
#[derive(Clone)]
pub struct Recorder<S> {
    inner: S,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

#[derive(Clone)]
struct Exchange {
    asked: Asked,
    reply: Arc<Mutex<Vec<u8>>>,
}

impl<S> Recorder<S> {
    /// Notes what passes to and from `inner`.
    pub fn new(inner: S) -> Self {
        Self { inner, exchanges: Arc::default() }
    }

    /// The messages that were posted, in order.
    pub fn requests(&self) -> Vec<Asked> {
        lock(&self.exchanges).iter().map(|exchange| exchange.asked.clone()).collect()
    }

    /// What came back for each, as far as it was read: the bytes of JSON bodies and of streams.
    pub fn replies(&self) -> Vec<Bytes> {
        let exchanges = lock(&self.exchanges).clone();
        exchanges.iter().map(|exchange| lock(&exchange.reply).clone().into()).collect()
    }
}

impl<S, B> Service<Request<Whole>> for Recorder<S>
where
    S: Service<Request<Whole>, Response = Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data = Bytes> + 'static,
{
    type Response = Response<RecordedBody<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Whole>) -> Self::Future {
        // The clone that is ready is the one to call.
        let ready = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, ready);
        let exchanges = Arc::clone(&self.exchanges);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let asked = Asked { headers: head.headers.clone(), body: body.clone() };
            let reply = Arc::default();
            lock(&exchanges).push(Exchange { asked, reply: Arc::clone(&reply) });
            let sent = inner.call(Request::from_parts(head, body.into())).await;
            let response = sent.map_err(Into::into)?;
            Ok(response.map(|body| RecordedBody { body: Box::pin(body), reply }))
        })
    }
}

impl<S> fmt::Debug for Recorder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exchanges = lock(&self.exchanges).len();
        f.debug_struct("Recorder").field("exchanges", &exchanges).finish_non_exhaustive()
    }
}

/// A body that a [`Recorder`] notes as it is read.
pub struct RecordedBody<B> {
    body: Pin<Box<B>>,
    reply: Arc<Mutex<Vec<u8>>>,
}

impl<B: Body<Data = Bytes>> Body for RecordedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            lock(&self.reply).extend_from_slice(data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> fmt::Debug for RecordedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedBody").finish_non_exhaustive()
    }
}
