//! Subscriptions: telling clients what has changed.
//!
//! A client that wants to hear of changes opens a stream with `subscriptions/listen` and says what it is interested in:
//! changes to the list of tools, of prompts, of resources, or to single resources by their URIs. The server first says what of
//! that it grants, then sends a notification for each change, and ends the stream with a result when it has to.
//!
//! # What a server does for it
//!
//! It [announces](crate::ServerBuilder::announces) what it will tell, and tells it by a [`Notify`](crate::Notify), in a handler
//! or anywhere else:
//!
//! ```
//! use mcp_server::{Announces, Notify, Resource, Server, Tool};
//!
//! async fn heat(notify: Notify) -> &'static str {
//!     notify.resource_updated("plant:///boiler");
//!     "warmer"
//! }
//!
//! # fn example() -> Result<(), mcp_server::BuildError> {
//! let server = Server::builder("plant", "1.0.0")
//!     .resource(Resource::new("plant:///boiler", "boiler", async || "80 degrees"))
//!     .tool(Tool::new("heat", heat))
//!     .announces(Announces::new().resource_updates())
//!     .build()?;
//! server.notify().resource_updated("plant:///boiler");
//! # Ok(())
//! # }
//! # example().unwrap();
//! ```
//!
//! [Edits](crate::Server::edit) tell of themselves.
//!
//! # What is promised
//!
//! - The acknowledgment is the first frame, and is sent at once. What is published from the moment at which the request has
//!   passed its checks is not lost, be the acknowledgment written or not.
//! - A filter is narrowed to what the server announces and, with a [visibility](crate::ServerBuilder::visible) filter, to
//!   resources that the caller may read. When nothing is left the stream ends at once, with its result.
//! - Every frame carries the id of the request, as the client wrote it. Nothing else is ever sent on the stream but comments
//!   that keep it open.
//! - Notifying never waits for a reader. Changes that are alike and wait for a slow one are told once. When more than
//!   [`Limits::queued_events`](crate::Limits::queued_events) different ones wait, the stream breaks off without a result, so that the client
//!   listens and reads again.
//! - There are at most [`Limits::listens`](crate::Limits::listens) streams, and
//!   [`Limits::listens_per_caller`](crate::Limits::listens_per_caller) of one caller; over it the answer is 503 or 429.
//! - When serving ends, subscriptions end first, each with its result. In another HTTP stack call
//!   [`McpService::end_subscriptions`](crate::McpService::end_subscriptions) when it begins to shut down.
//!
//! An open stream costs some 13 KiB on HTTP/1.1, most of it the connection's buffers, and less than 2 KiB on
//! HTTP/2 (feature `http2`).
//!
//! # Several instances
//!
//! A client listens to one instance, and the change may happen in another. Give all of them a [`Bus`](crate::Bus) that
//! spans them. What travels is only *that* something has changed; clients read what it is now.
//!
//! Specification: Subscriptions.
