//! A Model Context Protocol client, revision 2026-07-28, over hyper.
//!
//! A client is an address; a call is awaited:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use mcp_client::Client;
//! use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct Add { a: f64, b: f64 }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_client::Error> {
//! let client = Client::http("http://127.0.0.1:8080/mcp")?;
//! for tool in client.list_tools().await?.tools {
//!     println!("{}", tool.display_name());
//! }
//! let sum = client
//!     .call_tool("add", Add { a: 2.0, b: 3.0 })
//!     .timeout(Duration::from_secs(5))
//!     .on_progress(|progress| println!("{}", progress.progress))
//!     .await?;
//! println!("{:?}", sum.content);
//! # Ok(())
//! # }
//! ```
//!
//! Each request is complete in itself: version, identity and capabilities travel with it, so there is no
//! handshake and no session. A [`Call`] is a builder: what is set on it counts for it alone, and it owns what
//! it needs, so that it can be spawned. [`Client::call`] makes calls of any method; [`HttpTransport`] sends
//! messages made elsewhere, and [`Call::raw`] gives results as they came, for those who pass them on.
//!
//! # Transports
//!
//! [`Client::http`] speaks HTTP, over TLS with the feature `tls`, and through proxies; `Client::unix` speaks it over a
//! Unix socket. [`Client::spawn`] starts a server as a process and speaks to it over its standard
//! streams, [`Client::over`] speaks over any other byte stream, and [`Client::in_process`] calls a server in the
//! same process, without a socket, for tests and embedding. Calls are the same over all of them.
//! A process that has died can be [started again](ClientBuilder::restart).
//!
//! What HTTP is spoken over, whom TLS trusts and which proxies are taken is told [in the manual](manual::connections).
//!
//! # Lists
//!
//! What cannot be read of a list, such as an entry without a name, is left out, with a warning in the log; the other
//! entries are there all the same.
//!
//! [`Client::list_tools`] and its like give one page; [`Call::all`] gives the whole list, and [`Call::pages`] the
//! pages as they are asked for. Lists that go round in circles or never end are errors.
//!
//! # Input
//!
//! A server may ask for something before it can finish a call: a form to be filled in, a page to be visited, a model
//! to be asked, roots. Functions set on the builder ([`on_elicit`](ClientBuilder::on_elicit) and its like) or an
//! [`InputHandler`] answer; the client declares exactly what they can, and repeats the call with the answers, in as
//! many rounds as it takes. [`Client::call`] leaves that to the caller, and gives an
//! [`Outcome`](types::Outcome). Specification: Multi Round-Trip Requests.
//!
//! # Changes and the cache
//!
//! [`Client::listen`] gives a stream of [`Change`]s, on demand opened again whenever it is lost. Results that say
//! how long they stay fresh are kept for that time in a [`Cache`], by authorization context where they are
//! private, and dropped when a change that is listened for concerns them; so a change is noticed when
//! [`Changes::next`] is. [`bypass_cache`](Call::bypass_cache) and [`refresh_cache`](Call::refresh_cache) are for
//! single calls, [`no_cache`](ClientBuilder::no_cache) is for all.
//! With [`stale_on_error`](ClientBuilder::stale_on_error) an old answer stands in while the server cannot be reached.
//!
//! # The way of a call
//!
//! `params → envelope → bytes → frames → envelope → outcome`. The *envelope* is one JSON-RPC message; the
//! standard headers repeat parts of it, and so do the arguments that a tool wants mirrored. The answer is one
//! JSON body or a stream of *frames*, whichever the server chooses, and what it says is an *outcome*: complete,
//! or a request for input. A call is repeated, under a new id and once each, in another version if the server
//! speaks another, and with fresh tool definitions if its headers were refused; and for each round of input. When
//! the network failed it is repeated where a [`Retry`] policy is set that says so.
//!
//! [Layers](ClientBuilder::layer) of tower go around calls, and others around single
//! [HTTP requests](ClientBuilder::service); [`max_in_flight`](ClientBuilder::max_in_flight) limits how many requests
//! there are at once.
//!
//! # Cancellation
//!
//! Dropping the future of a call cancels it: on HTTP/1.1 its connection is closed, on HTTP/2 its stream is
//! reset, and the server drops the work; no message is sent for it. Over a byte stream, which all calls share, a
//! message is. A future that is dropped has lost its answer: the server may have done the work. Timeouts do the
//! same.
//!
//! # Errors
//!
//! There is no wait without an end: a call has a [timeout](ClientBuilder::timeout) and a
//! [total timeout](ClientBuilder::total_timeout), and an answer that is lost or wrong is an error as soon as that
//! is known. An [`Error`] says who is to blame: the caller ([`is_usage`](Error::is_usage)), the network
//! ([`is_transport`](Error::is_transport)), whoever answered against the protocol
//! ([`is_protocol`](Error::is_protocol)), missing rights ([`is_auth`](Error::is_auth)), or a server that is older
//! ([`is_legacy`](Error::is_legacy)); and it has the server's
//! own error ([`rpc`](Error::rpc)), the status and the headers. A tool that fails is no error but a result
//! that [says so](types::CallToolResult::is_error).
//!
//! # Telemetry
//!
//! Each request has a span at INFO, up to its response or, for a subscription, its acknowledgment, with the names of OpenTelemetry's semantic conventions for MCP:
//! `mcp.method.name`, `gen_ai.tool.name`, `jsonrpc.request.id`, `error.type` and so on, and `otel.name` for
//! exporters. [`trace_context`](ClientBuilder::trace_context) sends the trace along.
//!
//! # Tests
//!
//! [`testing`] has a server that plays a script, with all that can go wrong, and a record of what passes.
//!
//! # Limits and secrets
//!
//! What a server could let grow has a ceiling in [`Limits`]. Redirects are followed within the origin, and only
//! those that keep the message. Headers, arguments and results are neither logged nor shown by `Debug`.
//!
//! # Features
//!
//! None is on by default.
//!
//! `tls`: `https://` URLs, by rustls, with the roots that the system trusts; includes `proxy`. To be built it wants a C
//! compiler.
//!
//! `proxy`: requests go through the proxy that the environment names, or one that is set.
//!
//! `oauth`: access tokens for servers that want them. To be built it wants a C compiler.
//!
//! `validation`, which brings as many crates as all the rest: structured results are checked against the output schemas of their tools, as far as lists have told of them. What is too large or too deep to be checked, such
//! as more than 16 MiB or 200,000 values, is refused, and so is what has a schema in an unknown dialect, or one that refers
//! to another document.
//!
//! # Runtime
//!
//! Tokio, with I/O and time enabled. Connections are pooled and kept alive, over HTTP/1.1 or HTTP/2: over TLS the server
//! chooses, else [`http2_prior_knowledge`](ClientBuilder::http2_prior_knowledge) does. Other kinds of connections come as a
//! [`connector`](ClientBuilder::connector), a whole HTTP stack as a [`service`](ClientBuilder::service).
//!
//! # More to read
//!
//! The [`manual`] has a page on calls, on connections, on input, on subscriptions, on caching and on errors.

mod backoff;
mod body;
mod builder;
mod cache;
mod call;
mod catalog;
mod child;
mod client;
mod deadline;
mod endpoint;
mod error;
mod exchange;
mod future;
mod headers;
mod input;
mod layer;
mod legacy;
mod limits;
mod link;
mod listen;
mod listener;
pub mod manual;
mod messages;
#[cfg(feature = "oauth")]
pub mod oauth;
mod outgoing;
mod pages;
mod pipe;
mod probe;
mod promise;
mod receive;
mod retry;
mod salvage;
mod span;
pub mod testing;
mod transport;

pub use backoff::Backoff;
pub use builder::ClientBuilder;
pub use cache::{Cache, CacheKey, CacheStore, CachedAnswer, MemoryStore};
pub use call::{Call, CallFuture};
pub use child::Restart;
pub use client::Client;
pub use error::{BoxError, Error};
pub use future::BoxFuture;
pub use input::{InputHandler, IntoAnswer};
pub use layer::{CallRequest, CallResponse, CallService};
pub use limits::Limits;
pub use listen::{Change, Changes, End, Listen};
pub use mcp_transport::header::encode_value;
pub use mcp_transport::json::scan;
#[cfg(feature = "validation")]
pub use mcp_transport::schema::{Fault, Faults};
pub use mcp_types as types;
pub use pages::{Collecting, Pages};
pub use retry::Retry;
#[cfg(feature = "tls")]
pub use rustls;
pub use transport::{HttpTransport, SendMessage, Subscription};
