//! Our server and client against each other, and against other implementations, each in a process of its own.
//!
//! What `peers/README.md` describes has to be installed. Where it is not, these tests say that they
//! were skipped; with `CI` set they fail.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by a panic, and says what it found"
)]

mod drain;
mod interop;
mod legacy;
mod oauth;
mod oauth_clients;
mod oauth_extensions;
mod oauth_listen;
mod oauth_peers;
mod oauth_sign_in;
mod oauth_tokens;
mod official;
mod rounds;
mod stdio;
mod steps;
mod support;
