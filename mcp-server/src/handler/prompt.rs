//! Prompts: what their handlers are and return.

use std::borrow::Cow;
use std::future::Future;

use mcp_types::{ErrorObject, GetPromptResult, InputRequired, Outcome, PromptMessage};

use super::{
    ErasedHandler, Handled, HandlerError, Input, Raw, Reply, Signature, Work, WorkBox, handlers,
};
use crate::context::Context;

/// What the handler of a prompt may return: text, which is one message of the user, messages, a whole
/// [`GetPromptResult`], an [`Outcome`] of one, or a `Result` whose error becomes a [`HandlerError`].
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    note = "return text, `PromptMessage`s, `GetPromptResult`, `Outcome<GetPromptResult>`, or a `Result` of one of \
            these whose error converts into `HandlerError`"
)]
pub trait IntoPromptResult {
    /// Turns it into the result of the request, or into the error that answers it.
    ///
    /// # Errors
    /// The JSON-RPC error that a failed handler comes to.
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>, ErrorObject>;

    #[doc(hidden)]
    fn output_schema() -> Option<serde_json::Value> {
        None
    }
}

type PromptResult = Result<Outcome<GetPromptResult>, ErrorObject>;

impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> PromptResult {
        Ok(Outcome::Complete(self))
    }
}

impl IntoPromptResult for Outcome<GetPromptResult> {
    fn into_prompt_result(self) -> PromptResult {
        Ok(self)
    }
}

impl IntoPromptResult for InputRequired {
    fn into_prompt_result(self) -> PromptResult {
        Ok(Outcome::InputRequired(self))
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> PromptResult {
        GetPromptResult { messages: self, ..GetPromptResult::default() }.into_prompt_result()
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> PromptResult {
        vec![self].into_prompt_result()
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> PromptResult {
        PromptMessage::user(self).into_prompt_result()
    }
}

impl IntoPromptResult for &'static str {
    fn into_prompt_result(self) -> PromptResult {
        PromptMessage::user(self).into_prompt_result()
    }
}

impl IntoPromptResult for Cow<'static, str> {
    fn into_prompt_result(self) -> PromptResult {
        self.into_owned().into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: Into<HandlerError>> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> PromptResult {
        match self {
            Ok(result) => result.into_prompt_result(),
            Err(error) => Err(error.into().into_error()),
        }
    }
}

/// A function that can be a prompt. Implemented for `async` functions and closures of the form that
/// [the module](super) describes; `M` only tells them apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prompt handler",
    note = "a handler is an async function; its arguments are up to eight that implement `FromContext` and then at \
            most one `Args<T>`; it returns what implements `IntoPromptResult`"
)]
pub trait PromptHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn signature() -> Signature;
    #[doc(hidden)]
    fn start(&self, context: &Context, input: Raw<'_>) -> Result<WorkBox, HandlerError>;
}

handlers!(PromptHandler, IntoPromptResult, work);

fn work<F, R>(_: &Context, future: F) -> WorkBox
where
    F: Future<Output = R> + Send + 'static,
    R: IntoPromptResult,
{
    WorkBox(Box::pin(async move {
        future.await.into_prompt_result().map(|outcome| outcome.map(Handled::Prompt))
    }))
}

pub(crate) struct ErasedPrompt<H, M>(pub(crate) H, pub(crate) std::marker::PhantomData<fn() -> M>);

impl<M: 'static, H: PromptHandler<M>> ErasedHandler for ErasedPrompt<H, M> {
    fn start(&self, context: &Context, input: Input<'_>) -> Result<Work, HandlerError> {
        self.0.start(context, Raw(input)).map(|work| work.0)
    }

    fn refuse(&self, error: HandlerError) -> Reply {
        Err(error.into_error())
    }
}
