//! Layers: what is done around calls.
//!
//! A layer stands around the handlers of a whole server ([`ServerBuilder::layer`]) or of one tool ([`Tool::layer`]) and
//! sees each [`Call`], with its method, target and caller, and the [`CallOutcome`] that it comes to. It is any
//! [`tower_layer::Layer`], so those of the crate `tower` fit as they are. One of your own is a function:
//!
//! ```
//! use std::time::Duration;
//!
//! use mcp_server::layer::{Call, CallOutcome, Next, RateLimit, from_fn};
//! use mcp_server::{Server, Tool};
//! use tower::limit::ConcurrencyLimitLayer;
//! use tower::timeout::TimeoutLayer;
//!
//! async fn known_callers(call: Call, next: Next) -> CallOutcome {
//!     match call.caller() {
//!         Some(_) => next.run(call).await,
//!         None => CallOutcome::tool_error("Log in first"),
//!     }
//! }
//!
//! async fn report() -> &'static str { "All is well" }
//!
//! Server::builder("reports", "1.0.0")
//!     .tool(Tool::new("report", report).layer(TimeoutLayer::new(Duration::from_secs(5))))
//!     .layer(ConcurrencyLimitLayer::new(100))
//!     .layer(RateLimit::default())
//!     .layer(from_fn(known_callers))
//!     .build()?;
//! # Ok::<_, mcp_server::BuildError>(())
//! ```
//!
//! # Which calls
//!
//! Those that have a handler: tools, prompts, reads of resources, completions, custom methods. They have passed every check but that of
//! the arguments against the tool's schema, which stands right before the handler. Lists, `server/discover` and
//! subscriptions have no handler, and what is refused never becomes a call; layers around the
//! [`McpService`](crate::McpService) see all of that, as HTTP.
//!
//! # Order
//!
//! A layer that is added later lies around those added before, and all layers of a server around those of its tools. A
//! `tower::ServiceBuilder` is one layer, and the first one in it lies outermost.
//!
//! The services are made once, when the layer is added, and cloned for each call, whose clone is made ready before it is
//! called: so a `ConcurrencyLimitLayer` counts the calls of the whole server, or of the one tool. What is added by
//! itself is always ready for what lies around it; a `LoadShedLayer` needs to be in one `ServiceBuilder` with the
//! limit whose overload it answers.
//!
//! # What becomes of a call
//!
//! - The handler's errors are data in the outcome. An error of a layer, such as a timeout, is logged, and the client
//!   gets -32603 without more words; so it does when a layer panics.
//! - A handler that asks the client ends its round with an outcome that
//!   [requires input](CallOutcome::is_input_required); the next round is another call.
//! - When the client leaves, or the call takes longer than [`Limits::call_time`](crate::Limits::call_time), the layers
//!   are dropped with the handler. One that [runs to completion](Tool::run_to_completion) goes on without them; its
//!   result goes to [`ServerBuilder::on_abandoned`] then, as it does when a layer drops it.
//! - A call that a layer lets go on in a task of its own is dropped with that task, not with the request: it has no
//!   deadline then, and does not count towards the [`Limits`](crate::Limits) once the request has ended.
//! - What a layer answers with in place of the handler is not held against the tool's output schema.
//!
//! Without layers a call costs nothing of this.

mod bucket;
mod call;
mod from_fn;
mod outcome;
mod rate;
mod stack;

pub use call::Call;
pub use from_fn::{FromFn, FromFnService, from_fn};
pub use outcome::CallOutcome;
pub(crate) use outcome::Refusal;
pub use rate::{RateLimit, RateLimited, RateLimitedFuture};
pub use stack::{CallFuture, CallLayer, CallService, Next};

use crate::builder::ServerBuilder;
use crate::tool::Tool;

impl ServerBuilder {
    /// Puts `layer` around every handler of the server, outside of the layers that were added before. See
    /// [the module](crate::layer) for what it sees.
    #[must_use]
    pub fn layer(mut self, layer: impl CallLayer) -> Self {
        self.hooks.layers = Some(layer.wrap(self.hooks.layers.unwrap_or_else(Next::target)));
        self
    }
}

impl Tool {
    /// Puts `layer` around the handler of this tool, outside of the layers that were added to it before and inside of
    /// those of the server. See [the module](crate::layer) for what it sees.
    #[must_use]
    pub fn layer(mut self, layer: impl CallLayer) -> Self {
        self.layers = Some(layer.wrap(self.layers.unwrap_or_else(Next::handler)));
        self
    }
}
