//! Handlers are functions.
//!
//! A handler of a tool, a prompt, a resource or a [method of your own](crate::Method) is an `async` function or
//! closure. Its arguments are any number (up to eight) of *context arguments*, things that implement
//! [`FromContext`], and then at most one [`Args<T>`], the arguments decoded into `T`: those of a tool call, those of a
//! prompt, the variables of a resource template, or the parameters of the method.
//!
//! ```
//! use mcp_server::{Args, Progress};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Copy { from: String, to: String }
//!
//! async fn copy(progress: Progress, Args(Copy { from, to }): Args<Copy>) -> std::io::Result<String> {
//!     progress.report_of(1, 2);
//!     Ok(format!("copied {from} to {to}"))
//! }
//! # mcp_server::Tool::new("copy", copy);
//! ```
//!
//! A closure that shares what it captures with its future makes the clone first, in front of an `async move` block; an
//! `async` closure lends what it captured, and is a handler only where it captures nothing.
//!
//! What it returns implements [`IntoToolResult`] (text, content, [`Structured`] values), [`IntoPromptResult`]
//! (text, messages), [`IntoResourceResult`] (text, bytes, contents) or [`IntoMethodResult`] ([`Structured`] values),
//! or is a `Result` of one of them, whose error becomes a [`HandlerError`]. A tool's
//! input schema comes from `T`, its output schema from what is returned, a prompt's arguments from `T`; all are
//! computed once, when the tool or prompt is made. So a tool whose schema differs from what it parses cannot be
//! written.
//!
//! A handler must not block its thread: what takes long without an `.await` belongs into
//! `tokio::task::spawn_blocking`. Nothing can cancel it before it goes on, and what it said just before may wait as
//! long, together with the connection that was about to send it.
//!
//! Values that handlers share are given to [`ServerBuilder::state`](crate::ServerBuilder::state) and
//! arrive as `Arc<T>`. That makes a method of a shared value a handler as well: `async fn
//! add(self: Arc<Self>, args: Args<Add>)` is `Tool::new("add", Calculator::add)`.

mod args;
mod context;
mod error;
mod method;
mod prompt;
mod resource;
mod tool;

use std::future::Future;
use std::pin::Pin;

use mcp_types::{
    CallToolResult, CompleteResult, ErrorObject, GetPromptResult, HasMeta, Outcome,
    ReadResourceResult, ResultMeta,
};
use serde::Serialize;

pub use args::Args;
pub use context::{Answers, Extension, FromContext, Needs, ResourceUri};
pub use error::HandlerError;
pub(crate) use method::{ErasedMethod, MethodResult};
pub use method::{IntoMethodResult, MethodHandler, Takes};
pub(crate) use prompt::ErasedPrompt;
pub use prompt::{IntoPromptResult, PromptHandler};
pub(crate) use resource::ErasedResource;
pub use resource::{IntoResourceResult, ResourceHandler, ResourceInfo};
pub(crate) use tool::ErasedTool;
pub use tool::{IntoToolResult, Structured, ToolHandler};

use crate::context::Context;
use crate::template::Variables;

/// What a handler comes to, whatever it handles.
pub(crate) type Reply = Result<Outcome<Handled>, ErrorObject>;

/// A handler's work, in a box so that nothing else is compiled once per handler.
pub(crate) type Work = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// The result of a request that has a handler.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Handled {
    Tool(CallToolResult),
    Prompt(GetPromptResult),
    Resource(ReadResourceResult),
    Completion(CompleteResult),
    Method(MethodResult),
}

impl Handled {
    pub(crate) fn meta_mut(&mut self) -> &mut ResultMeta {
        match self {
            Self::Tool(result) => result.meta_mut(),
            Self::Prompt(result) => result.meta_mut(),
            Self::Resource(result) => result.meta_mut(),
            Self::Completion(result) => result.meta_mut(),
            Self::Method(result) => &mut result.meta,
        }
    }
}

/// What a handler is called with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// The JSON text of an object.
    Json(&'a str),
    /// The same, of a method's own parameters.
    Params(&'a str),
    /// Named texts.
    Texts(&'a Variables),
}

/// What registration learns from a handler's type.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Signature {
    pub(crate) input: Option<serde_json::Value>,
    pub(crate) output: Option<serde_json::Value>,
    pub(crate) needs: Needs,
}

/// [`Work`], sealed.
#[doc(hidden)]
pub struct WorkBox(pub(crate) Work);

impl std::fmt::Debug for WorkBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkBox(..)")
    }
}

/// A handler behind a pointer.
pub(crate) trait ErasedHandler: Send + Sync {
    fn start(&self, context: &Context, input: Input<'_>) -> Result<Work, HandlerError>;

    /// What its error makes of the request: the kinds differ.
    fn refuse(&self, error: HandlerError) -> Reply;
}

/// Marks handlers without [`Args`].
#[doc(hidden)]
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "has no values and never will")]
pub enum NoArgs {}

/// Implements one of the handler traits for functions of up to eight context arguments, with and without
/// arguments of their own. With `types` they have no schemas, and the trait tells what they take and return.
macro_rules! handlers {
    ($handler:ident, $into:ident, $work:path) => {
        $crate::handler::handlers! { @arities $handler, $into, $work, schemas, schemars::JsonSchema }
    };
    ($handler:ident, $into:ident, $work:path, types) => {
        $crate::handler::handlers! { @arities $handler, $into, $work, types, Sized }
    };
    (@types schemas, $taken:ty, $returned:ty) => {};
    (@types types, $taken:ty, $returned:ty) => {
        type Taken = $taken;
        type Returned = $returned;
    };
    (@input schemas, $arg:ty) => { Some($crate::schema::input::<$arg>()) };
    (@input types, $arg:ty) => { None };
    (@arities $($how:tt)*) => {
        $crate::handler::handlers! { @all $($how)*,
            [] [C1] [C1 C2] [C1 C2 C3] [C1 C2 C3 C4] [C1 C2 C3 C4 C5] [C1 C2 C3 C4 C5 C6]
            [C1 C2 C3 C4 C5 C6 C7] [C1 C2 C3 C4 C5 C6 C7 C8]
        }
    };
    (
        @all $handler:ident, $into:ident, $work:path, $kind:ident, $bound:path,
        $([$($context:ident)*])*
    ) => {$(
        impl<Func, Fut, Ret, $($context,)*> $handler<($crate::handler::NoArgs, $($context,)*)> for Func
        where
            Func: Fn($($context),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Ret> + Send + 'static,
            Ret: $into,
            $($context: $crate::handler::FromContext,)*
        {
            $crate::handler::handlers! { @types $kind, $crate::handler::NoArgs, Ret }

            fn signature() -> $crate::handler::Signature {
                #[allow(unused_mut, reason = "unused without context arguments")]
                let mut needs = $crate::handler::Needs::default();
                $( $context::needs(&mut needs); )*
                $crate::handler::Signature { input: None, output: Ret::output_schema(), needs }
            }

            fn start(
                &self,
                context: &$crate::Context,
                _: $crate::handler::Raw<'_>,
            ) -> Result<$crate::handler::WorkBox, $crate::HandlerError> {
                Ok($work(context, self($($context::from_context(context)?),*)))
            }
        }

        impl<Func, Fut, Ret, Arg, $($context,)*> $handler<($crate::Args<Arg>, $($context,)*)> for Func
        where
            Func: Fn($($context,)* $crate::Args<Arg>) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Ret> + Send + 'static,
            Ret: $into,
            Arg: serde::de::DeserializeOwned + $bound + Send + 'static,
            $($context: $crate::handler::FromContext,)*
        {
            $crate::handler::handlers! { @types $kind, $crate::Args<Arg>, Ret }

            fn signature() -> $crate::handler::Signature {
                #[allow(unused_mut, reason = "unused without context arguments")]
                let mut needs = $crate::handler::Needs::default();
                $( $context::needs(&mut needs); )*
                $crate::handler::Signature {
                    input: $crate::handler::handlers!(@input $kind, Arg),
                    output: Ret::output_schema(),
                    needs,
                }
            }

            fn start(
                &self,
                context: &$crate::Context,
                input: $crate::handler::Raw<'_>,
            ) -> Result<$crate::handler::WorkBox, $crate::HandlerError> {
                // Arguments first: what the model can mend is worth more to it than our own fault.
                let args = $crate::Args::<Arg>::decode(input.0)?;
                Ok($work(context, self($($context::from_context(context)?,)* args)))
            }
        }
    )*};
}
pub(crate) use handlers;

/// [`Input`], sealed.
#[doc(hidden)]
#[derive(Debug)]
pub struct Raw<'a>(pub(crate) Input<'a>);
