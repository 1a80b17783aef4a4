//! Deployment: hosts and origins, proxies, several instances, limits, shutting down.
//!
//! # Hosts and origins
//!
//! As it is built, a server answers on loopback, to names of the loopback interface, and to pages of that origin. A
//! page of somebody else that has its own name resolve to 127.0.0.1 gets 403. To serve others, say under which names:
//!
//! ```no_run
//! # async fn example(server: mcp_server::ServerBuilder) -> Result<(), Box<dyn std::error::Error>> {
//! server
//!     .hosts(["mcp.example.com"])
//!     .origins(["https://app.example.com"])
//!     .build()?
//!     .serve("0.0.0.0:8080")
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! Without `hosts` a public address is an error at the start, rather than a stream of 403s. `Host` is what the client
//! used, so behind a proxy that rewrites it, name what the proxy sends. Requests without `Origin` come from no page and pass.
//!
//! # Behind a proxy
//!
//! - TLS ends in the proxy, or in a stack of your own around [`Server::service`](crate::Server::service).
//! - The proxy must pass `MCP-Protocol-Version` and `Mcp-*` on, and must not buffer `text/event-stream`; the
//!   server says so by `X-Accel-Buffering: no` and `Cache-Control`. A comment every
//!   [15 s](crate::ServerBuilder::keep_alive) keeps quiet streams open; be below the proxy's read time-out.
//! - To the server all callers have the proxy's address. Authenticate, so that each [`Caller`](crate::Caller) has limits of their
//!   own, or set [`exchanges_per_caller`](crate::Limits::exchanges_per_caller) and
//!   [`listens_per_caller`](crate::Limits::listens_per_caller) to the limits for all. No header is believed to say who calls.
//! - A path other than `/mcp` is set by [`path`](crate::ServerBuilder::path). In a router of your own the router decides.
//! - When a client goes away, a proxy may keep the connection to the server; then the call ends at its deadline,
//!   [`call_time`](crate::Limits::call_time), rather than at once.
//!
//! # Several instances
//!
//! Every request carries all that it needs, so any instance can answer any of them, without sticky sessions:
//!
//! - The states of handlers that ask are sealed by a key: give all instances the same
//!   `state_keys`, and replace them one after the other, as the key ring describes. Where states are good for one use
//!   (`single_use_states`), all instances ask one store which were used.
//! - Cursors are good on every instance that lists the same in the same order.
//! - Subscriptions hear of changes in other instances through a shared [`Bus`](crate::Bus).
//! - [Edits](crate::Server::edit) are made in each instance.
//!
//! # Limits
//!
//! Everything that a peer can let grow has a ceiling in [`Limits`](crate::Limits), with its reason beside it. The ones to look at
//! before going public: `body` (4 MiB), `call_time` (10 min), `exchanges` and `exchanges_per_caller`, `listens`, `connections` (keep it
//! below the limit of open files). Over HTTP/1.1 each subscription holds a connection.
//!
//! How often callers may call is for a [`RateLimit`](crate::layer::RateLimit) to say, which is a layer. Its default, 120 calls
//! a minute and 30 at once for each caller, is more than a model makes and less than a loop does; who is over it gets 429 with
//! `Retry-After`.
//!
//! # Web pages
//!
//! A page of another origin can send requests only if its origin is among [`origins`](crate::ServerBuilder::origins), and
//! read answers only once [`cors`](crate::ServerBuilder::cors) is on. Credentials of the browser, such as cookies, are never
//! asked for: a page authenticates with an `Authorization` header of its own.
//!
//! # Standard input and output
//!
//! A server that a client starts as a process, [`serve_stdio`](crate::Server::serve_stdio), needs nothing of the above. Whoever
//! started it is trusted; log to standard error, and end when the input ends, which it does by itself.
//!
//! # Shutting down
//!
//! [`shutdown_on`](crate::Serve::shutdown_on) takes a future, such as that of a signal: the listener closes, subscriptions end
//! with their result, calls under way may end within [`drain_time`](crate::Serve::drain_time), tools that run to
//! completion included; then what is left is cut off.
//!
//! # Logging
//!
//! The library logs through `tracing`: refused requests at DEBUG, panics and broken schemas at ERROR. Bodies, arguments, headers and
//! who calls are not logged above TRACE.
