//! `HandlerError`: why a handler failed, and whom that concerns.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use mcp_types::{CallToolResult, ContentBlock, ErrorCode, ErrorObject};

/// Why a handler failed.
///
/// Most failures of a tool are for the model: a result with `isError` and a text that it can act on, made with
/// [`HandlerError::new`]. Prompts and resources have no such result; there the same text is the message of a
/// JSON-RPC error. Any [`Error`] converts with `?`, but its text may tell more than a stranger
/// should know, so it is logged, and the model gets a generic one. An [`ErrorObject`] is for the client instead:
/// it answers the request as a JSON-RPC error.
///
/// It is itself no [`Error`], so that every error can convert into it.
#[derive(Debug)]
pub struct HandlerError(Kind);

#[derive(Debug)]
enum Kind {
    Visible(Cow<'static, str>),
    /// The arguments do not decode.
    Input(Cow<'static, str>),
    Hidden(Box<dyn Error + Send + Sync>),
    Generic,
    Protocol(Box<ErrorObject>),
}

impl HandlerError {
    /// A failure that the model is told about in these words.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(Kind::Visible(message.into()))
    }

    /// A failure that the model is told about in the words of `error`.
    pub fn visible(error: impl fmt::Display) -> Self {
        Self::new(error.to_string())
    }

    /// An error that answers the request itself, in place of a result.
    ///
    /// A code that the specification does not let an implementation send becomes -32603 on the wire.
    pub fn protocol(error: ErrorObject) -> Self {
        Self(Kind::Protocol(Box::new(error)))
    }

    /// What was given cannot be decoded.
    pub(crate) fn input(message: String) -> Self {
        Self(Kind::Input(message.into()))
    }

    /// A failure that was logged already and concerns nobody else.
    pub(crate) const fn generic() -> Self {
        Self(Kind::Generic)
    }

    /// As the result of a tool: the model is told.
    pub(crate) fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        self.text("The tool failed").map(|text| CallToolResult {
            content: vec![ContentBlock::text(text)],
            is_error: Some(true),
            ..CallToolResult::default()
        })
    }

    /// As the error that answers the request, where a result cannot say that it failed.
    pub(crate) fn into_error(self) -> ErrorObject {
        let code = match self.0 {
            Kind::Input(_) => ErrorCode::INVALID_PARAMS,
            Kind::Visible(_) | Kind::Hidden(_) | Kind::Generic | Kind::Protocol(_) => {
                ErrorCode::INTERNAL_ERROR
            }
        };
        match self.text("The request failed") {
            Ok(text) => ErrorObject::new(code, text),
            Err(error) => error,
        }
    }

    /// What the peer is told, `generic` where it must not know more, or else the error that it gets.
    fn text(self, generic: &'static str) -> Result<Cow<'static, str>, ErrorObject> {
        match self.0 {
            Kind::Visible(text) | Kind::Input(text) => Ok(text),
            Kind::Generic => Ok(generic.into()),
            Kind::Hidden(error) => {
                tracing::warn!(error = &*error, "a handler failed");
                Ok(generic.into())
            }
            Kind::Protocol(error) => Err(*error),
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let error: Box<dyn Error + Send + Sync> = Box::new(error);
        match error.downcast::<ErrorObject>() {
            Ok(error) => Self(Kind::Protocol(error)),
            Err(error) => Self(Kind::Hidden(error)),
        }
    }
}
