//! Caching: what is remembered, and for how long.
//!
//! Lists, resources and the answer of `server/discover` say for how long they stay fresh, and whether others may share
//! them. A client remembers them for that time, from the moment at which they arrived, and answers from memory; nothing
//! that says nothing is remembered. Pages are remembered each by itself, and a whole list read by
//! [`all`](crate::Call::all) stays fresh as long as its shortest page.
//!
//! - What is private belongs to the [`cache_context`](crate::ClientBuilder::cache_context) of the client, whatever tells its
//!   user from others. Clients that share a [`Cache`](crate::Cache) with other contexts never see it.
//! - Results that took [input](super::input) are not remembered, nor are errors.
//! - A change that a [subscription](super::subscriptions) tells of drops what it concerns, also when it overtakes an answer on
//!   its way. So keep reading [`Changes`](crate::Changes): what nobody reads drops nothing.
//! - One call goes by it with [`bypass_cache`](crate::Call::bypass_cache), or renews it with
//!   [`refresh_cache`](crate::Call::refresh_cache); [`no_cache`](crate::ClientBuilder::no_cache) is for all calls.
//! - [`stale_on_error`](crate::ClientBuilder::stale_on_error) lets an old answer stand in while the server cannot be reached.
//!   It is off by default.
//! - It is bounded in entries and bytes, see [`Limits`](crate::Limits). A [`CacheStore`](crate::CacheStore) keeps answers somewhere
//!   else.
//!
//! The definitions of tools, by which headers are mirrored, are remembered apart from this, however short they stay fresh.
//!
//! Specification: Caching.
