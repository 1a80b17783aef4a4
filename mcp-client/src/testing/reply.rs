//! `Reply`: what a scripted server does with one request.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use mcp_transport::media;
use mcp_types::{ErrorObject, RawJson};
use serde::Serialize;

/// What a [`Script`](super::Script) answers one request with.
///
/// Values that it is given must have a form in JSON; the functions that take them panic otherwise.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    /// In place of the id of the request.
    pub(super) id: Option<RawJson>,
    pub(super) steps: Vec<Step>,
    /// Whether there is a response at all.
    pub(super) connects: bool,
}

/// One step of a body.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A response with this last member.
    Response(String),
    Notification {
        method: String,
        params: RawJson,
    },
    Progress(f64),
    Bytes(Bytes),
    Pause(Duration),
    Break,
    Hang,
}

impl Reply {
    /// One JSON body with this result.
    pub fn result<T: Serialize + ?Sized>(result: &T) -> Self {
        Self::new(media::JSON).then_result(result)
    }

    /// One JSON body with this error, under status 200; see [`with_status`](Self::with_status).
    pub fn error(error: &ErrorObject) -> Self {
        Self::new(media::JSON).then_error(error)
    }

    /// A stream of what is added to it.
    pub const fn stream() -> Self {
        Self::new(media::SSE)
    }

    /// A body of any bytes, under any media type.
    pub fn raw(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self::new(content_type).then_bytes(bytes)
    }

    /// No response: the connection breaks off.
    pub fn disconnect() -> Self {
        Self { connects: false, ..Self::new(media::JSON) }
    }

    const fn new(content_type: &'static str) -> Self {
        Self { status: StatusCode::OK, content_type, id: None, steps: Vec::new(), connects: true }
    }

    /// Sets the status.
    #[must_use]
    pub const fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Answers under this id instead of that of the request.
    #[must_use]
    pub fn with_id<T: Serialize + ?Sized>(mut self, id: &T) -> Self {
        self.id = Some(json(id));
        self
    }

    /// Goes on with the response, with this result.
    #[must_use]
    pub fn then_result<T: Serialize + ?Sized>(self, result: &T) -> Self {
        self.then(Step::Response(format!("\"result\":{}", json(result))))
    }

    /// Goes on with the response, with this error.
    #[must_use]
    pub fn then_error(self, error: &ErrorObject) -> Self {
        self.then(Step::Response(format!("\"error\":{}", json(error))))
    }

    /// Goes on with a notification.
    #[must_use]
    pub fn then_notify<T: Serialize + ?Sized>(self, method: impl Into<String>, params: &T) -> Self {
        self.then(Step::Notification { method: method.into(), params: json(params) })
    }

    /// Goes on with progress, if the request asks for it.
    #[must_use]
    pub fn then_progress(self, progress: f64) -> Self {
        self.then(Step::Progress(progress))
    }

    /// Goes on with any bytes, such as comments or events that are malformed.
    #[must_use]
    pub fn then_bytes(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Bytes(bytes.into()))
    }

    /// Goes on after a pause.
    #[must_use]
    pub fn then_pause(self, time: Duration) -> Self {
        self.then(Step::Pause(time))
    }

    /// Breaks off.
    #[must_use]
    pub fn then_break(self) -> Self {
        self.then(Step::Break)
    }

    /// Stays open, in silence.
    #[must_use]
    pub fn then_hang(self) -> Self {
        self.then(Step::Hang)
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> RawJson {
    RawJson::new(value).expect("what a script says has a form in JSON")
}
