//! Tools: what their handlers are and return.

use std::borrow::Cow;
use std::future::Future;

use mcp_types::{CallToolResult, ContentBlock, ErrorObject, InputRequired, Outcome, RawJson};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ErasedHandler, Handled, HandlerError, Input, Raw, Reply, Signature, Work, WorkBox, handlers,
};
use crate::context::Context;

/// What a handler may return: text, content blocks, a [`Structured`] value, a whole [`CallToolResult`], an
/// [`Outcome`] of one, nothing, or a `Result` whose error becomes a [`HandlerError`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return text, content blocks, `Structured<T>`, `CallToolResult`, `Outcome<CallToolResult>`, `()`, or a \
            `Result` of one of these whose error converts into `HandlerError`"
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

/// A value returned as structured content, which gives the tool its output schema; of a custom method it is the
/// result itself.
///
/// The same JSON goes along as text, for clients that look at content alone. Specification: Tools,
/// Structured Content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> ToolResult {
        match RawJson::new(&self.0) {
            Ok(json) => Ok(structured(json)),
            Err(error) => failed(error.into()),
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
    fn into_tool_result(self) -> ToolResult {
        Ok(Outcome::Complete(self))
    }
}

impl IntoToolResult for Outcome<CallToolResult> {
    fn into_tool_result(self) -> ToolResult {
        Ok(self)
    }
}

impl IntoToolResult for InputRequired {
    fn into_tool_result(self) -> ToolResult {
        Ok(Outcome::InputRequired(self))
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> ToolResult {
        Ok(Outcome::Complete(CallToolResult { content: self, ..CallToolResult::default() }))
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> ToolResult {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> ToolResult {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> ToolResult {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for Cow<'static, str> {
    fn into_tool_result(self) -> ToolResult {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> ToolResult {
        Vec::new().into_tool_result()
    }
}

impl<T: IntoToolResult, E: Into<HandlerError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> ToolResult {
        match self {
            Ok(result) => result.into_tool_result(),
            Err(error) => failed(error.into()),
        }
    }

    fn output_schema() -> Option<serde_json::Value> {
        T::output_schema()
    }
}

/// A function that can be a tool. Implemented for `async` functions and closures of the form that
/// [the module](super) describes; `M` only tells them apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool handler",
    note = "a handler is an async function; its arguments are up to eight that implement `FromContext` \
            (Context, Progress, Log, Arc<State>, Extension<T>, ...) and then at most one `Args<T>`",
    note = "it returns what implements `IntoToolResult`: text, content, `Structured<T>`, or a `Result` of one whose \
            error is a `std::error::Error` or a `HandlerError`, which `HandlerError::new` makes of a text",
    note = "`T` of `Args<T>` must be `DeserializeOwned + JsonSchema + Send + 'static`",
    note = "its future must be `Send`: it holds nothing across an `.await` that is not"
)]
pub trait ToolHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn signature() -> Signature;
    #[doc(hidden)]
    fn start(&self, context: &Context, input: Raw<'_>) -> Result<WorkBox, HandlerError>;
}

handlers!(ToolHandler, IntoToolResult, work);

fn work<F, R>(_: &Context, future: F) -> WorkBox
where
    F: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    WorkBox(Box::pin(async move {
        future.await.into_tool_result().map(|outcome| outcome.map(Handled::Tool))
    }))
}

pub(crate) struct ErasedTool<H, M>(pub(crate) H, pub(crate) std::marker::PhantomData<fn() -> M>);

impl<M: 'static, H: ToolHandler<M>> ErasedHandler for ErasedTool<H, M> {
    fn start(&self, context: &Context, input: Input<'_>) -> Result<Work, HandlerError> {
        self.0.start(context, Raw(input)).map(|work| work.0)
    }

    fn refuse(&self, error: HandlerError) -> Reply {
        failed(error).map(|outcome| outcome.map(Handled::Tool))
    }
}

type ToolResult = Result<Outcome<CallToolResult>, ErrorObject>;

/// The result of a tool that failed.
fn failed(error: HandlerError) -> ToolResult {
    error.into_tool_result().map(Outcome::Complete)
}
