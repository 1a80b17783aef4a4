//! `CallOutcome`: what a call came to, as layers see it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use mcp_types::{CallToolResult, ErrorObject, GetPromptResult, Outcome, ReadResourceResult};

use crate::context::Context;
use crate::detached::Unheard;
use crate::handler::{Handled, HandlerError, Reply};
#[cfg(feature = "asking")]
use crate::rejection::Reason;

/// What a call came to: a result, a request for input, or an error object.
///
/// A [layer](super) asks it what it is, or makes one to answer in place of the handler: from an [`ErrorObject`], a
/// [`HandlerError`], a [`CallToolResult`], a [`GetPromptResult`] or a [`ReadResourceResult`], or as
/// [`tool_error`](Self::tool_error) or [`busy`](Self::busy).
///
/// A tool result that says that the tool failed becomes -32603 with the same text for other methods, so that a layer
/// around the whole server needs no cases. Any other result that is not one of the method called is a fault of the
/// layer, which is logged, and the client gets -32603.
pub struct CallOutcome {
    pub(crate) reply: Reply,
    /// Why the handler was not called, where that has a status of its own.
    pub(crate) refusal: Option<Refusal>,
    /// Where somebody has to be told what it is if it is dropped.
    pub(crate) unheard: Option<Box<Unheard>>,
}

/// What is no fault of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is too early by these seconds.
    Busy(u64),
    /// The request state was used before.
    #[cfg(feature = "asking")]
    State,
}

impl CallOutcome {
    /// A tool result that says that the tool failed, and why, for the model to read.
    pub fn tool_error(message: impl Into<Cow<'static, str>>) -> Self {
        HandlerError::new(message).into()
    }

    /// Not now: a repetition may do better in `retry_after`, which is rounded up to whole seconds, at least one.
    ///
    /// Over HTTP that is 429 with `Retry-After`, unless events were sent before: then, and on other transports, it
    /// is -32603 alone, whose message names the seconds as well.
    pub fn busy(retry_after: Duration) -> Self {
        let seconds = retry_after.as_secs().saturating_add((retry_after.subsec_nanos() > 0).into());
        let seconds = seconds.max(1);
        let message = format!("Too many calls; try again in {seconds} s");
        let refusal = Some(Refusal::Busy(seconds));
        Self { refusal, ..ErrorObject::internal_error(message).into() }
    }

    /// The request is one that the ladder would have refused, had it known `why`.
    #[cfg(feature = "asking")]
    pub(crate) fn refused(why: &'static str) -> Self {
        let error = Reason::Params(why).error();
        Self { refusal: Some(Refusal::State), ..error.into() }
    }

    /// Whether it is a result; one that says that the tool failed is one too.
    pub const fn is_complete(&self) -> bool {
        matches!(self.reply, Ok(Outcome::Complete(_)))
    }

    /// Whether the handler asks the client for input, to be called again with the answers.
    pub const fn is_input_required(&self) -> bool {
        matches!(self.reply, Ok(Outcome::InputRequired(_)))
    }

    /// Whether it is a tool result that says that the tool failed.
    pub fn is_tool_error(&self) -> bool {
        self.tool_result().is_some_and(|result| result.is_error == Some(true))
    }

    /// Whether it failed in one way or the other: [`error`](Self::error) or [`is_tool_error`](Self::is_tool_error).
    pub fn is_failure(&self) -> bool {
        self.reply.is_err() || self.is_tool_error()
    }

    /// The error object, if it is that.
    pub const fn error(&self) -> Option<&ErrorObject> {
        match &self.reply {
            Ok(_) => None,
            Err(error) => Some(error),
        }
    }

    /// The result of a tool, if it is that.
    pub const fn tool_result(&self) -> Option<&CallToolResult> {
        match &self.reply {
            Ok(Outcome::Complete(Handled::Tool(result))) => Some(result),
            _ => None,
        }
    }

    /// The result of a tool, to be changed; what is changed is not held against the output schema again.
    pub const fn tool_result_mut(&mut self) -> Option<&mut CallToolResult> {
        match &mut self.reply {
            Ok(Outcome::Complete(Handled::Tool(result))) => Some(result),
            _ => None,
        }
    }

    /// The result of a prompt, if it is that.
    pub const fn prompt_result(&self) -> Option<&GetPromptResult> {
        match &self.reply {
            Ok(Outcome::Complete(Handled::Prompt(result))) => Some(result),
            _ => None,
        }
    }

    /// The result of a prompt, to be changed.
    pub const fn prompt_result_mut(&mut self) -> Option<&mut GetPromptResult> {
        match &mut self.reply {
            Ok(Outcome::Complete(Handled::Prompt(result))) => Some(result),
            _ => None,
        }
    }

    /// What was read of a resource, if it is that.
    pub const fn resource_result(&self) -> Option<&ReadResourceResult> {
        match &self.reply {
            Ok(Outcome::Complete(Handled::Resource(result))) => Some(result),
            _ => None,
        }
    }

    /// What was read of a resource, to be changed.
    pub const fn resource_result_mut(&mut self) -> Option<&mut ReadResourceResult> {
        match &mut self.reply {
            Ok(Outcome::Complete(Handled::Resource(result))) => Some(result),
            _ => None,
        }
    }

    /// This as far as it can answer the call of `context`.
    pub(crate) fn fitting(self, context: &Context) -> Self {
        let Self { reply, refusal, unheard } = self;
        let reply = match reply {
            Ok(Outcome::Complete(handled)) if !context.subject().comes_to(&handled) => {
                Err(misfit(context, &handled))
            }
            reply => reply,
        };
        Self { reply, refusal, unheard }
    }
}

#[cold]
fn misfit(context: &Context, handled: &Handled) -> ErrorObject {
    if let Handled::Tool(result) = handled
        && result.is_error == Some(true)
    {
        let text = result.content.first().and_then(|block| block.as_text());
        return ErrorObject::internal_error(text.unwrap_or("The request failed").to_owned());
    }
    let method = context.subject().method();
    tracing::error!(method, "a layer answered with the result of another method");
    ErrorObject::internal_error("Internal error")
}

impl From<Reply> for CallOutcome {
    fn from(reply: Reply) -> Self {
        Self { reply, refusal: None, unheard: None }
    }
}

impl From<Handled> for CallOutcome {
    fn from(handled: Handled) -> Self {
        Ok(Outcome::Complete(handled)).into()
    }
}

impl From<ErrorObject> for CallOutcome {
    fn from(error: ErrorObject) -> Self {
        Err(error).into()
    }
}

/// As for a tool; see there what becomes of it elsewhere.
impl From<HandlerError> for CallOutcome {
    fn from(error: HandlerError) -> Self {
        error.into_tool_result().map_or_else(Self::from, Self::from)
    }
}

impl From<CallToolResult> for CallOutcome {
    fn from(result: CallToolResult) -> Self {
        Handled::Tool(result).into()
    }
}

impl From<GetPromptResult> for CallOutcome {
    fn from(result: GetPromptResult) -> Self {
        Handled::Prompt(result).into()
    }
}

impl From<ReadResourceResult> for CallOutcome {
    fn from(result: ReadResourceResult) -> Self {
        Handled::Resource(result).into()
    }
}

impl fmt::Debug for CallOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No content: it is the caller's.
        let what = match &self.reply {
            Ok(Outcome::Complete(_)) if self.is_tool_error() => "a tool error",
            Ok(Outcome::Complete(_)) => "complete",
            Ok(Outcome::InputRequired(_)) => "input required",
            Err(_) if matches!(self.refusal, Some(Refusal::Busy(_))) => "busy",
            Err(error) => return write!(f, "CallOutcome(error {})", error.code),
        };
        write!(f, "CallOutcome({what})")
    }
}
