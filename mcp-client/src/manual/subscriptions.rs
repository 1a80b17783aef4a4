//! Subscriptions: hearing of changes.
//!
//! ```no_run
//! # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
//! use std::time::Duration;
//! use mcp_client::types::SubscriptionFilter;
//! use mcp_client::{Backoff, Change};
//!
//! let wanted = SubscriptionFilter::new().tools().resource("file:///config.json");
//! let mut changes = client
//!     .listen(wanted)
//!     .lost_after(Duration::from_secs(60))
//!     .relisten(Backoff::new())
//!     .await?;
//! while let Some(change) = changes.next().await {
//!     match change {
//!         Change::Tools => { /* list them again */ }
//!         Change::Resource(update) => { /* read update.uri again */ }
//!         Change::Stale => { /* anything may have changed meanwhile */ }
//!         _ => {}
//!     }
//! }
//! println!("it ended: {:?}", changes.end());
//! # Ok(())
//! # }
//! ```
//!
//! - Awaiting a [`Listen`](crate::Listen) opens it, and gives [`Changes`](crate::Changes) once the server has
//!   [acknowledged](crate::Changes::acknowledged) it: what it grants may be less than was asked for.
//! - It ends by [`close`](crate::Changes::close) or by dropping it here, by the server in good order, or because the connection was
//!   lost; [`end`](crate::Changes::end) tells which.
//! - Nothing arrives for long where nothing changes. A connection that is dead without saying so is noticed only with
//!   [`lost_after`](crate::Listen::lost_after), which counts the comments as well by which servers keep streams open.
//! - With [`relisten`](crate::Listen::relisten) it is opened again, with pauses, whenever it ends otherwise than by `close`, and
//!   then [`Change::Stale`](crate::Change::Stale) comes first: what happened in between nobody tells.
//! - [`Changes`](crate::Changes) is a `Stream` as well. Whoever does not read them for long loses the subscription rather than
//!   memory.
//! - Over a byte stream all subscriptions share it, told apart by the ids of their requests.
//!
//! What is heard also [drops what is cached](super::caching).
//!
//! Specification: Subscriptions.
