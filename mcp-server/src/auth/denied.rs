//! `Denied`: why a request is not let in, or not let do what it asks for, and what its client is told.

use std::borrow::Cow;
use std::fmt;

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcp_types::ErrorObject;

/// A refusal for want of a token, of a good one, or of scopes.
pub(crate) struct Denied {
    status: StatusCode,
    message: Cow<'static, str>,
    challenges: Vec<HeaderValue>,
    /// What else stands in the head of the response.
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Denied {
    pub(super) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into(), challenges: Vec::new(), headers: Vec::new() }
    }

    pub(super) fn challenged(self, challenges: Vec<HeaderValue>) -> Self {
        Self { challenges, ..self }
    }

    pub(super) fn with(mut self, headers: &[(HeaderName, HeaderValue)]) -> Self {
        self.headers.extend_from_slice(headers);
        self
    }

    pub(super) fn retry_after(mut self, seconds: u64) -> Self {
        self.headers.push((RETRY_AFTER, seconds.into()));
        self
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn error(&self) -> ErrorObject {
        if self.status.is_server_error() {
            ErrorObject::internal_error(self.message.clone())
        } else {
            ErrorObject::invalid_request(self.message.clone())
        }
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for challenge in &self.challenges {
            headers.append(WWW_AUTHENTICATE, challenge.clone());
        }
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
    }
}

impl fmt::Debug for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Denied")
            .field("status", &self.status)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}
