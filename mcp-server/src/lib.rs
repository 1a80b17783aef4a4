//! Model Context Protocol servers, revision 2026-07-28, over hyper and over byte streams.
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
//! What goes over the wire is in [`types`], where some names are the same as here: a [`Tool`] has a handler, and a
//! [`types::Tool`] is what clients see of it. So import from both by name.
//!
//! # The way of a message
//!
//! `bytes → envelope → call → handler → outcome → reply → bytes`. An *envelope* is one JSON-RPC message with
//! its parameters still raw; a *call* is one that has passed every check; a *rejection* says why one did
//! not. The handler's *outcome* travels as a *reply*, one JSON body, an SSE stream, or lines. All of it for one
//! request is an *exchange*.
//!
//! # Cancellation
//!
//! A client cancels by closing the response, and then the handler's future is dropped where it waits, as soon
//! as the disconnect is noticed: on HTTP/2 always at once, on HTTP/1.1 unless the client has sent more
//! bytes behind the request. On a byte stream it says so in a message. So every handler must bear being dropped
//! at any `.await`; one that must not be is declared [`run_to_completion`](Tool::run_to_completion). Every call
//! has a deadline besides, [`Limits::call_time`]. A handler that panics answers -32603, and others go on.
//!
//! # Schemas
//!
//! A tool's schemas come from its handler's types or are given raw. With the default feature `validation` they
//! are kept. Arguments that break the input schema never reach the handler: the model gets a tool error that lists
//! every fault with its path. A result that breaks the output schema, or lacks the structured content that
//! the schema promises, never leaves: the client gets -32603, and the log says which rules were broken. Results
//! that say that the tool failed are exempt.
//!
//! What has a type of its own is a reference into the schema's `$defs`, unless the type is declared
//! `#[schemars(inline)]`, for clients that follow no references.
//!
//! Schemas are compiled when the server is built, and one that cannot be used is a [`BuildError::Schema`]:
//!
//! - in another dialect than 2020-12, which one without `$schema` is in, 2019-09, draft-07, draft-06 or draft-04;
//! - with a reference out of it: nothing is ever fetched;
//! - with a regular expression that has look-around or back-references: all run in linear time;
//! - larger than 256 KiB, deeper than 64 levels, of more than 4,096 subschemas, or with more than 64 in a row for
//!   one value.
//!
//! Arguments and results may have 16 MiB and 200,000 values, and the work of judging them is bounded. A gateway
//! whose tools are checked elsewhere leaves all this out with `Tool::danger_skip_validation`.
//!
//! # Layers
//!
//! What is to be done around calls, from time-outs and rate limits to metrics and authorization, is a
//! [layer](ServerBuilder::layer) of the server or of [one tool](Tool::layer): any `tower` layer, a
//! [function](layer::from_fn), or a ready-made [`RateLimit`](layer::RateLimit). [`layer`] tells what they see. HTTP
//! layers go around the [`McpService`] and see everything, as HTTP.
//!
//! # Tracing
//!
//! Each request has a span `mcp.request` at INFO, with the fields that OpenTelemetry's semantic conventions for MCP name
//! (method, tool, version, id, peer, error). It is current in layers and handlers, and ends with the answer; that of a
//! subscription ends when it is open. The trace of the client is recorded with it, is there for handlers
//! ([`Context::trace_context`]), and becomes the parent of the span with [`ServerBuilder::trace_parent`]. Where
//! nobody is interested in the span it costs a few instructions.
//!
//! # Extensions
//!
//! None is built in. A server declares one with [`ServerBuilder::extension`], and a handler asks
//! [`Context::extension`] whether the client of this request declared it too, and with which settings: only then is
//! it active, and a handler otherwise does without it or refuses.
//!
//! A [`Method`] is what the specification does not have, with a handler like every other; it may belong to an
//! extension, and is then refused (-32021) to clients that do not declare that. One type that implements
//! [`Request`](types::Request) ties its name, parameters and result together for servers and clients:
//! `Method::of::<Search, _>(search)` here, `client.call::<Search>(query)` there.
//!
//! # Web pages
//!
//! Pages of allowed [origins](ServerBuilder::origins) can call a server from a browser, and read what it answers, once
//! it is told to say so to them with [`ServerBuilder::cors`]. Default is not to.
//!
//! # Byte streams
//!
//! `Server::serve_stdio` serves the client that started the process, and [`Server::serve_stream`] whoever is at the
//! other end of a Unix socket, a TCP connection or a buffer in memory: each message is a line, requests are handled at
//! once, and everything else is as over HTTP. Standard output belongs to the protocol then. On Unix it is taken away
//! from `println!` and from child processes, which write to standard error instead; elsewhere that is up to you. Logs
//! go to standard error, so tell `tracing_subscriber` with `.with_writer(std::io::stderr)`.
//!
//! # Features
//!
//! On by default; without them a server is smaller by three fifths of its dependencies:
//!
//! - `stdio`: `Server::serve_stdio`. Other byte streams need no feature.
//! - `validation`: arguments and results are held against their schemas, as above.
//! - `asking`: handlers may ask the client, see the module `ask`. What is built by hand works without.
//!
//! To be turned on:
//!
//! - `auth`: who may call, and what: tokens, scopes and the document that clients find their way by. See the module `auth`.
//! - `http2`: cleartext HTTP/2 besides HTTP/1.1, recognised by its first bytes. Worth it where clients or a proxy open many
//!   streams: a subscription is a stream of a connection then, rather than a connection.
//! - `verifiers`: what verifies tokens is ready-made: JWTs by the keys of their issuer, introspection, and proofs of
//!   possession. It brings rustls and ring, for HTTPS and signatures; `auth`, a part of it, brings neither.
//!
//! # Safe by default
//!
//! The server listens on loopback, answers only to hosts and origins of the loopback interface, and has a
//! ceiling, in [`Limits`], for everything that a peer can let grow. What loosens this is called
//! `danger_...`. Headers, arguments and results are not logged; URIs of resources that are read are in spans.
//!
//! # More to read
//!
//! [`handler`] on handlers, the module `ask` on asking the client, [`layer`] on what goes around calls, the module `auth` on
//! authorization, and the [`manual`] on composing servers, on subscriptions, on authorization and on deployment.

#[cfg(feature = "asking")]
pub mod ask;
#[cfg(feature = "auth")]
pub mod auth;
mod builder;
mod caller;
mod completion;
mod context;
mod cors;
mod detached;
mod dispatch;
mod error;
mod exchange;
pub mod handler;
mod integers;
mod ladder;
pub mod layer;
mod limits;
pub mod manual;
mod metadata;
mod method;
mod permit;
mod pipe;
mod prompt;
mod registry;
mod rejection;
mod reply;
mod resource;
mod schema;
mod serve;
mod server;
mod service;
mod span;
mod state;
mod subscription;
mod template;
mod tool;
mod work;

#[cfg(feature = "asking")]
#[doc(inline)]
pub use ask::{Ask, Elicited, Key, KeyRing};
pub use builder::ServerBuilder;
pub use caller::{Caller, PeerAddr, RequestParts};
pub use completion::{Completing, IntoCompletion};
pub use context::{Context, Log, Progress};
pub use cors::Cors;
pub use detached::Abandoned;
pub use error::{BuildError, ServeError};
pub use exchange::{Exchange, ExchangeError, ExchangeOptions};
#[doc(inline)]
pub use handler::{
    Answers, Args, Extension, FromContext, HandlerError, IntoMethodResult, IntoPromptResult,
    IntoResourceResult, IntoToolResult, MethodHandler, PromptHandler, ResourceHandler,
    ResourceInfo, ResourceUri, Structured, ToolHandler,
};
pub use limits::Limits;
pub use mcp_transport::json::scan;
pub use mcp_types as types;
pub use method::Method;
pub use pipe::ServeStream;
pub use prompt::Prompt;
pub use registry::{Edit, Item, Registry};
pub use rejection::Rejection;
pub use reply::{Body, ResponseMode, StreamLost};
pub use resource::{Resource, ResourceTemplate};
pub use serve::Serve;
pub use server::Server;
pub use service::{McpService, ResponseFuture};
pub use subscription::{Announces, Bus, Change, Feed, LocalBus, Notify};
pub use template::{InvalidTemplate, InvalidVariables, UriTemplate, Variables};
pub use tool::Tool;
