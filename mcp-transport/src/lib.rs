//! How Model Context Protocol messages are framed, without I/O and without a runtime: synchronous
//! functions over bytes that server and client share, over HTTP and over pipes.
//!
//! - [`json`] reads the envelope of a message in one pass and proves that the rest can be decoded.
//! - [`header`] mirrors parts of a request into headers, and compares them with the body.
//! - [`sse`] carries many messages in one HTTP reply, [`mod@line`] one message a line.
//! - [`media`] reads `Content-Type` and `Accept`; [`host`] judges `Host` and `Origin`.
//! - With the feature `auth`, the module of that name has the challenges, scopes and documents of authorization.
//! - [`tape`] takes a JSON text apart without decoding it; with the feature `schema`, the module of that name judges
//!   JSON by JSON Schemas.
//! - With the feature `jose`, the modules `jose` and `dpop` sign and verify the tokens of authorization.
//! - [`limits`] has every ceiling on what a peer can make these hold.
//!
//! What a peer sends never panics here, and every decoder takes time linear in its input, however
//! that is cut into chunks.
//!
//! A client's request on its way, and what a server does with it:
//!
//! ```
//! use http::HeaderMap;
//! use mcp_transport::header::{self, StandardHeaders};
//! use mcp_transport::json::{Message, decode_string, scan};
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
//! let mut headers = HeaderMap::new();
//! let (version, method) = ("2026-07-28", "tools/call");
//! StandardHeaders { version, method, name: Some("add") }.apply(&mut headers)?;
//!
//! let Message::Request(request) = scan(body)? else { panic!("it has a method and an id") };
//! header::verify_method(&headers, &request.method)?;
//! let name = request.params.get("name").and_then(decode_string);
//! header::verify_name(&headers, &name.unwrap_or_default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "auth")]
pub mod auth;
#[cfg(feature = "jose")]
pub mod dpop;
pub mod header;
pub mod host;
#[cfg(feature = "jose")]
pub mod jose;
pub mod json;
pub mod limits;
pub mod line;
pub mod media;
#[cfg(feature = "schema")]
pub mod schema;
pub mod sse;
pub mod tape;

mod one_line;
mod pending;
mod quote;

use one_line::one_line;
use quote::quote;
