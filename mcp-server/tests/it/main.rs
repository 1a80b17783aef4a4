//! The server from the outside: bytes in over a `TcpStream`, exact answers out.
//!
//! What is right comes from the specification and from the order of checks in `CONTRIBUTING.md`. Names
//! like T3 or J8 are those of the field reports that a test answers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by a panic"
)]
#![expect(clippy::needless_pass_by_value, reason = "a request reads best with its JSON in place")]
#![expect(clippy::unused_async, reason = "handlers are async, whether they wait or not")]

#[cfg(feature = "asking")]
mod ask;
mod astray;
#[cfg(feature = "auth")]
mod auth;
#[cfg(feature = "verifiers")]
mod auth_dpop;
#[cfg(feature = "verifiers")]
mod auth_fetch;
#[cfg(feature = "verifiers")]
mod auth_introspection;
#[cfg(feature = "verifiers")]
mod auth_jwt;
mod body;
mod build;
mod cancel;
mod completion;
mod compose;
mod cors;
mod edit;
mod emit;
mod envelope;
mod exchange;
mod handlers;
mod head;
mod ladder;
mod layers;
mod limits;
mod listen;
mod lists;
mod load;
mod logs;
mod methods;
#[cfg(feature = "asking")]
mod once;
mod pipe;
mod prompts;
mod rate_limit;
mod reply;
mod resources;
#[cfg(feature = "asking")]
mod rounds;
mod serve;
mod service;
mod spans;
mod stall;
mod support;
#[cfg(feature = "validation")]
mod validation;
mod visible;
