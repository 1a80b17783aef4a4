//! Handlers are functions.
//!
//! A tool's handler is an `async` function or closure. Its arguments are any number (up to
//! eight) of *context arguments*, things that implement [`FromContext`], and then at most one [`Args<T>`],
//! the arguments of the call decoded into `T`:
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
//!     progress.report_of(1.0, 2.0);
//!     Ok(format!("copied {from} to {to}"))
//! }
//! # mcp_server::Tool::new("copy", copy);
//! ```
//!
//! What it returns implements [`IntoToolResult`]: text, content, [`Structured`] values, or a `Result`
//! of one of them. The tool's input schema comes from `T`, its output schema from what is returned; both
//! are computed once, when the tool is made. So a tool whose schema differs from what it parses
//! cannot be written.
//!
//! Values that handlers share are given to [`ServerBuilder::state`](crate::ServerBuilder::state) and
//! arrive as `Arc<T>`. That makes a method of a shared value a handler as well: `async fn
//! add(self: Arc<Self>, args: Args<Add>)` is `Tool::new("add", Calculator::add)`.

mod args;
mod context;
mod result;

use std::future::Future;
use std::pin::Pin;

use mcp_types::{CallToolResult, ErrorObject, Outcome};

pub use args::Args;
pub use context::{Extension, FromContext, Needs};
pub use result::{IntoToolResult, Structured, ToolError};

use crate::context::Context;

/// What a handler comes to.
pub(crate) type ToolReply = Result<Outcome<CallToolResult>, ErrorObject>;

/// A handler's work, in a box so that nothing else is compiled once per handler.
pub(crate) type Work = Pin<Box<dyn Future<Output = ToolReply> + Send>>;

/// A function that can be a tool. Implemented for `async` functions and closures of the form that
/// [the module](self) describes; `M` only tells them apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool handler",
    note = "a handler is an async function; its arguments are up to eight that implement `FromContext` \
            (Context, Progress, Log, Arc<State>, Extension<T>, ...) and then at most one `Args<T>`",
    note = "it returns what implements `IntoToolResult`: text, content, `Structured<T>`, or a `Result` of one",
    note = "`T` of `Args<T>` must be `DeserializeOwned + JsonSchema + Send + 'static`"
)]
pub trait ToolHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn signature() -> Signature;
    #[doc(hidden)]
    fn start(&self, context: &Context, arguments: &str) -> Result<WorkBox, ToolError>;
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
    fn start(&self, context: &Context, arguments: &str) -> Result<Work, ToolError>;
}

pub(crate) struct Erased<H, M>(pub(crate) H, pub(crate) std::marker::PhantomData<fn() -> M>);

impl<M: 'static, H: ToolHandler<M>> ErasedHandler for Erased<H, M> {
    fn start(&self, context: &Context, arguments: &str) -> Result<Work, ToolError> {
        self.0.start(context, arguments).map(|work| work.0)
    }
}

/// Marks handlers without [`Args`].
#[doc(hidden)]
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "has no values and never will")]
pub enum NoArgs {}

fn boxed<F, R>(future: F) -> WorkBox
where
    F: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    WorkBox(Box::pin(async move { future.await.into_tool_result() }))
}

macro_rules! handlers {
    ($([$($context:ident)*])*) => {$(
        impl<Func, Fut, Ret, $($context,)*> ToolHandler<(NoArgs, $($context,)*)> for Func
        where
            Func: Fn($($context),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Ret> + Send + 'static,
            Ret: IntoToolResult,
            $($context: FromContext,)*
        {
            fn signature() -> Signature {
                #[allow(unused_mut, reason = "unused without context arguments")]
                let mut needs = Needs::default();
                $( $context::needs(&mut needs); )*
                Signature { input: None, output: Ret::output_schema(), needs }
            }

            #[allow(unused_variables, reason = "unused without context arguments")]
            fn start(&self, context: &Context, _: &str) -> Result<WorkBox, ToolError> {
                Ok(boxed(self($($context::from_context(context)?),*)))
            }
        }

        impl<Func, Fut, Ret, Arg, $($context,)*> ToolHandler<(Args<Arg>, $($context,)*)> for Func
        where
            Func: Fn($($context,)* Args<Arg>) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Ret> + Send + 'static,
            Ret: IntoToolResult,
            Arg: serde::de::DeserializeOwned + schemars::JsonSchema + Send + 'static,
            $($context: FromContext,)*
        {
            fn signature() -> Signature {
                #[allow(unused_mut, reason = "unused without context arguments")]
                let mut needs = Needs::default();
                $( $context::needs(&mut needs); )*
                Signature {
                    input: Some(crate::schema::input::<Arg>()),
                    output: Ret::output_schema(),
                    needs,
                }
            }

            #[allow(unused_variables, reason = "unused without context arguments")]
            fn start(&self, context: &Context, arguments: &str) -> Result<WorkBox, ToolError> {
                // Arguments first: what the model can mend is worth more to it than our own fault.
                let args = Args::<Arg>::decode(arguments)?;
                Ok(boxed(self($($context::from_context(context)?,)* args)))
            }
        }
    )*};
}

handlers! {
    [] [C1] [C1 C2] [C1 C2 C3] [C1 C2 C3 C4] [C1 C2 C3 C4 C5] [C1 C2 C3 C4 C5 C6]
    [C1 C2 C3 C4 C5 C6 C7] [C1 C2 C3 C4 C5 C6 C7 C8]
}
