//! How an outcome travels: one JSON body, or a stream that ends with it.

mod answer;
mod body;
mod framing;
mod outbox;
mod respond;
mod source;

use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use mcp_transport::media::Accepts;

pub(crate) use answer::Answer;
pub use body::{Body, StreamLost};
pub(crate) use framing::Framing;
pub(crate) use outbox::{Closed, Event, Held, Outbox};
pub(crate) use respond::{Plan, Responding, drive};
pub(crate) use source::Source;

/// When a reply is a stream. What the client accepts limits it: a client that takes only one of the
/// two media types gets that one.
///
/// Default is [`Auto`](Self::Auto).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two media types leave no fourth way")]
pub enum ResponseMode {
    /// JSON, unless the handler emits something before its result or one keep-alive interval passes
    /// in silence.
    #[default]
    Auto,
    /// A stream from the first emission or a short silence on. What is refused, and what is answered
    /// at once with -32021, keeps its status.
    Sse,
    /// Always JSON; what a handler emits before its result is dropped.
    Json,
}

/// How long a handler may be silent in [`ResponseMode::Sse`] before the stream is opened: long enough
/// for it to find out that it needs a capability, too short for a proxy or a person to notice.
pub(crate) const SSE_SILENCE: Duration = Duration::from_millis(50);

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SSE: HeaderValue = HeaderValue::from_static("text/event-stream");

impl ResponseMode {
    /// This mode as far as the client goes along. Accepting neither was refused before.
    pub(crate) const fn limited_to(self, accepts: Accepts) -> Self {
        match (accepts.json, accepts.sse) {
            (true, true) => self,
            (_, false) => Self::Json,
            (false, true) => Self::Sse,
        }
    }
}

/// A stream, with the headers that keep proxies from holding it back.
pub(crate) fn stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, SSE);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The answer to a notification.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}
