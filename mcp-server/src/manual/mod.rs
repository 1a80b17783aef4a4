//! How to, a page for each question. There is nothing here but text.
//!
//! - Handlers, what they take and return: [`handler`](crate::handler).
//! - Asking the client in the middle of a handler: the module `ask`, with the feature of that name.
//! - What goes around calls, time-outs, rate limits, metrics: [`layer`](crate::layer).
//! - [Composing](composing) a server, changing it while it serves, showing each caller their own.
//! - [Subscriptions](subscriptions): telling clients what has changed.
//! - Authorization: tokens, scopes and providers, for those who have not met OAuth before: the page `authorization`, with the
//!   feature `auth`.
//! - [Deployment](deployment): hosts and origins, proxies, several instances, limits, shutting down.

#[cfg(feature = "auth")]
pub mod authorization;
pub mod composing;
pub mod deployment;
pub mod subscriptions;
