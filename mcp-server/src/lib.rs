//! Model Context Protocol servers, revision 2026-07-28, over hyper.
//!
//! A server is a name and some tools; a tool is a function:
//!
//! ```no_run
//! use mcp_server::{Args, Server, Tool};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Add { a: f64, b: f64 }
//!
//! async fn add(Args(Add { a, b }): Args<Add>) -> String {
//!     (a + b).to_string()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! Server::builder("calculator", "1.0.0")
//!     .tool(Tool::new("add", add).description("Add two numbers"))
//!     .build()?
//!     .serve("127.0.0.1:8080")
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! That serves `http://127.0.0.1:8080/mcp`. What a handler may take and return is told in [`handler`].
//!
//! # The way of a message
//!
//! `bytes → envelope → call → handler → outcome → reply → bytes`. An *envelope* is one JSON-RPC message with
//! its parameters still raw; a *call* is one that has passed every check; a *rejection* says why one did
//! not. The handler's *outcome* travels as a *reply*, one JSON body or an SSE stream. All of it for one
//! request is an *exchange*.
//!
//! # Cancellation
//!
//! A client cancels by closing the response, and then the handler's future is dropped where it waits, as soon
//! as the disconnect is noticed: on HTTP/2 always at once, on HTTP/1.1 unless the client has sent more
//! bytes behind the request. So every handler must bear being dropped at any `.await`; one that must
//! not be is declared [`run_to_completion`](Tool::run_to_completion). Every call has a deadline besides,
//! [`Limits::call_time`]. A handler that panics answers -32603, and others go on.
//!
//! # Safe by default
//!
//! The server listens on loopback, answers only to hosts and origins of the loopback interface, and has a
//! ceiling, in [`Limits`], for everything that a peer can let grow. What loosens this is called
//! `danger_...`. Headers, arguments and results are not logged.

mod caller;
mod completion;
mod context;
mod dispatch;
mod error;
mod exchange;
pub mod handler;
mod ladder;
mod limits;
mod metadata;
mod permit;
mod prompt;
mod registry;
mod rejection;
mod reply;
mod resource;
mod schema;
mod serve;
mod server;
mod service;
mod state;
mod template;
mod tool;
mod work;

pub use caller::{Caller, PeerAddr, RequestParts};
pub use completion::{Completing, IntoCompletion};
pub use context::{Context, Log, Progress};
pub use error::{BuildError, ServeError};
pub use exchange::{Exchange, ExchangeError, ExchangeOptions};
#[doc(inline)]
pub use handler::{
    Args, Extension, FromContext, HandlerError, IntoPromptResult, IntoResourceResult,
    IntoToolResult, PromptHandler, ResourceHandler, ResourceInfo, ResourceUri, Structured,
    ToolHandler,
};
pub use limits::Limits;
pub use mcp_transport::json::scan;
pub use mcp_types as types;
pub use prompt::Prompt;
pub use rejection::Rejection;
pub use reply::{Body, ResponseMode, StreamLost};
pub use resource::{Resource, ResourceTemplate};
pub use serve::Serve;
pub use server::{Server, ServerBuilder};
pub use service::{McpService, ResponseFuture};
pub use template::{InvalidTemplate, InvalidVariables, UriTemplate, Variables};
pub use tool::Tool;
pub use work::Abandoned;
