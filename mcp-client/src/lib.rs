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
//! messages made elsewhere.
//!
//! # The way of a call
//!
//! `params → envelope → bytes → frames → envelope → outcome`. The *envelope* is one JSON-RPC message; the
//! standard headers repeat parts of it, and so do the arguments that a tool wants mirrored. The answer is one
//! JSON body or a stream of *frames*, whichever the server chooses, and what it says is an *outcome*: complete,
//! or a request for input. A call is repeated, under a new id and once each, in another version if the server
//! speaks another, and with fresh tool definitions if its headers were refused. It is never repeated because
//! the network failed.
//!
//! # Cancellation
//!
//! Dropping the future of a call cancels it: on HTTP/1.1 its connection is closed, on HTTP/2 its stream is
//! reset, and the server drops the work. No message is sent for it. A future that is dropped has lost its
//! answer: the server may have done the work. Timeouts do the same.
//!
//! # Errors
//!
//! There is no wait without an end: a call has a [timeout](ClientBuilder::timeout) and a
//! [total timeout](ClientBuilder::total_timeout), and an answer that is lost or wrong is an error as soon as that
//! is known. An [`Error`] says who is to blame: the caller ([`is_usage`](Error::is_usage)), the network
//! ([`is_transport`](Error::is_transport)), whoever answered against the protocol
//! ([`is_protocol`](Error::is_protocol)), missing rights ([`is_auth`](Error::is_auth)); and it has the server's
//! own error ([`rpc`](Error::rpc)), the status and the headers. A tool that fails is no error but a result
//! that [says so](types::CallToolResult::is_error).
//!
//! # Limits and secrets
//!
//! What a server could let grow has a ceiling in [`Limits`]. Redirects are followed within the origin, and only
//! those that keep the message. Headers, arguments and results are neither logged nor shown by `Debug`.
//!
//! # Runtime
//!
//! Tokio, with I/O and time enabled. Connections are pooled and kept alive, over HTTP/1.1 or, by
//! [`http2_prior_knowledge`](ClientBuilder::http2_prior_knowledge), HTTP/2. TLS and the like come as a
//! [`connector`](ClientBuilder::connector), a whole HTTP stack as a [`service`](ClientBuilder::service).

mod body;
mod builder;
mod call;
mod catalog;
mod client;
mod deadline;
mod endpoint;
mod error;
mod exchange;
mod headers;
mod limits;
mod outgoing;
mod receive;
mod transport;

pub use builder::ClientBuilder;
pub use call::{Call, CallFuture};
pub use client::Client;
pub use error::{BoxError, Error};
pub use limits::Limits;
pub use mcp_transport::header::encode_value;
pub use mcp_transport::json::scan;
pub use mcp_types as types;
pub use transport::{HttpTransport, SendMessage, Subscription};
