//! The HTTP below, whatever it is.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tower_service::Service;

use crate::error::BoxError;

/// The body of a response, whoever read it.
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, BoxError>;

pub(crate) type Sent = Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, BoxError>> + Send>>;

/// Sends requests. The one seam to the HTTP implementation.
pub(crate) trait HttpService: Send + Sync {
    /// Sends one; dropping the future gives it up.
    fn send(&self, request: Request<Full<Bytes>>) -> Sent;
}

/// A tower service, of which every request gets a clone.
pub(crate) struct Tower<S>(pub(crate) S);

impl<S, B> HttpService for Tower<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn send(&self, request: Request<Full<Bytes>>) -> Sent {
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await.map_err(Into::into)?;
            let response = service.call(request).await.map_err(Into::into)?;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }
}
