//! How to, a page for each question. There is nothing here but text.
//!
//! - [Calls](calls): what is set on one, how it ends, lists, structured results, layers, repetitions.
//! - [Connections](connections): TLS, proxies, Unix sockets, versions of HTTP.
//! - [Signing in](oauth): servers that want an access token (feature `oauth`).
//! - [Input](input): servers that ask before they can finish.
//! - [Subscriptions](subscriptions): hearing of changes.
//! - [Caching](caching): what is remembered, and for how long.
//! - [Errors](errors): whose fault it is, and what to do.
//! - [Tests](crate::testing): a server that plays a script, with all that can go wrong.

pub mod caching;
pub mod calls;
pub mod connections;
pub mod errors;
pub mod input;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod subscriptions;
