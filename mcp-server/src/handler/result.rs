//! What a handler may return.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use mcp_types::{CallToolResult, ContentBlock, ErrorObject, InputRequired, Outcome, RawJson};
use schemars::JsonSchema;
use serde::Serialize;

use super::ToolReply;

/// What a handler may return: text, content blocks, a [`Structured`] value, a whole [`CallToolResult`], an
/// [`Outcome`] of one, nothing, or a `Result` whose error becomes a [`ToolError`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return text, content blocks, `Structured<T>`, `CallToolResult`, `Outcome<CallToolResult>`, `()`, or a \
            `Result` of one of these whose error converts into `ToolError`"
)]
pub trait IntoToolResult {
    /// Turns it into the result of the call, or into the error that answers it.
    ///
    /// # Errors
    /// An error that is not for the model but for the client: a JSON-RPC error.
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>, ErrorObject>;

    /// The schema of the structured content, where there is one.
    fn output_schema() -> Option<serde_json::Value> {
        None
    }
}

/// A value returned as structured content, which gives the tool its output schema.
///
/// The same JSON goes along as text, for clients that look at content alone. Specification: Tools,
/// Structured Content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> ToolReply {
        match RawJson::new(&self.0) {
            Ok(json) => Ok(structured(json)),
            Err(error) => ToolError::from(error).into_reply(),
        }
    }

    fn output_schema() -> Option<serde_json::Value> {
        Some(crate::schema::output::<T>())
    }
}

// Not generic, so compiled once.
fn structured(json: RawJson) -> Outcome<CallToolResult> {
    Outcome::Complete(CallToolResult {
        content: vec![ContentBlock::text(json.get())],
        structured_content: Some(json),
        ..CallToolResult::default()
    })
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> ToolReply {
        Ok(Outcome::Complete(self))
    }
}

impl IntoToolResult for Outcome<CallToolResult> {
    fn into_tool_result(self) -> ToolReply {
        Ok(self)
    }
}

impl IntoToolResult for InputRequired {
    fn into_tool_result(self) -> ToolReply {
        Ok(Outcome::InputRequired(self))
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> ToolReply {
        Ok(Outcome::Complete(CallToolResult { content: self, ..CallToolResult::default() }))
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> ToolReply {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> ToolReply {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> ToolReply {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for Cow<'static, str> {
    fn into_tool_result(self) -> ToolReply {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> ToolReply {
        Vec::new().into_tool_result()
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> ToolReply {
        match self {
            Ok(result) => result.into_tool_result(),
            Err(error) => error.into().into_reply(),
        }
    }

    fn output_schema() -> Option<serde_json::Value> {
        T::output_schema()
    }
}

/// Why a tool failed.
///
/// Most failures are for the model: a result with `isError` and a text that it can act on, made with
/// [`ToolError::new`]. Any [`Error`] converts with `?`, but its text may tell more than a stranger
/// should know, so it is logged, and the model gets a generic one. An [`ErrorObject`] is for the client instead:
/// it answers the request as a JSON-RPC error.
///
/// It is itself no [`Error`], so that every error can convert into it.
#[derive(Debug)]
pub struct ToolError(Kind);

#[derive(Debug)]
enum Kind {
    Visible(Cow<'static, str>),
    Hidden(Box<dyn Error + Send + Sync>),
    Protocol(Box<ErrorObject>),
}

impl ToolError {
    const GENERIC: &'static str = "The tool failed";

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

    pub(crate) const fn generic() -> Self {
        Self(Kind::Visible(Cow::Borrowed(Self::GENERIC)))
    }

    pub(crate) fn into_reply(self) -> ToolReply {
        let text = match self.0 {
            Kind::Visible(text) => text,
            Kind::Hidden(error) => {
                tracing::warn!(error = &*error, "a tool failed");
                Self::GENERIC.into()
            }
            Kind::Protocol(error) => return Err(*error),
        };
        Ok(Outcome::Complete(CallToolResult {
            content: vec![ContentBlock::text(text)],
            is_error: Some(true),
            ..CallToolResult::default()
        }))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error: Box<dyn Error + Send + Sync> = Box::new(error);
        match error.downcast::<ErrorObject>() {
            Ok(error) => Self(Kind::Protocol(error)),
            Err(error) => Self(Kind::Hidden(error)),
        }
    }
}
