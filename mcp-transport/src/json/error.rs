//! Why a message was refused.

use std::fmt;

use mcp_types::RequestId;

use super::SyntaxError;
use crate::limits::MAX_ID;

/// A body that is not one acceptable JSON-RPC message. `Display` says why in one clause.
#[derive(Debug)]
pub struct ScanError {
    /// The message's id wherever one could be read, so that the answer can carry it. An id that
    /// is there twice, or whose end was not seen, does not count.
    pub id: Option<RequestId>,
    of_notification: bool,
    kind: Kind,
}

impl ScanError {
    /// Whether the body is not JSON at all (-32700), as against a JSON value that is no message
    /// (-32600).
    #[must_use]
    pub fn is_parse(&self) -> bool {
        matches!(self.kind, Kind::Utf8 { .. } | Kind::Syntax(_))
    }

    /// Whether the message would be a notification but for its parameters. JSON-RPC has no answer to one, whatever is
    /// wrong with it.
    #[must_use]
    pub const fn is_of_notification(&self) -> bool {
        self.of_notification
    }

    pub(super) fn new(id: Option<RequestId>, kind: impl Into<Kind>) -> Self {
        Self { id, of_notification: false, kind: kind.into() }
    }

    pub(super) const fn of_notification(mut self, it: bool) -> Self {
        self.of_notification = it;
        self
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Utf8 { at } => write!(f, "not UTF-8 at byte {at}"),
            Kind::Syntax(error) => error.fmt(f),
            Kind::RepeatedKey(key) => write!(f, "the key {key} is there twice"),
            Kind::LongId => write!(f, "the id is longer than {MAX_ID} bytes"),
            Kind::Shape(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ScanError {}

#[derive(Debug)]
pub(super) enum Kind {
    Utf8 {
        at: usize,
    },
    Syntax(SyntaxError),
    /// The key, quoted.
    RepeatedKey(Box<str>),
    LongId,
    Shape(&'static str),
}

impl From<SyntaxError> for Kind {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

impl From<&'static str> for Kind {
    fn from(why: &'static str) -> Self {
        Self::Shape(why)
    }
}
