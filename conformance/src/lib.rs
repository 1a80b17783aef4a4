//! Checks this workspace's server and client against other implementations.
//!
//! The implementations live in `peers/` next to this crate and are installed by `peers/setup.sh`;
//! `peers/README.md` says what they are. Here are the two programs of ours that they are let loose on,
//! `everything-server` and `everything-client`, a server that wants tokens, a user who signs in without a browser, and what
//! runs the official suite and judges its results.

pub mod client;
pub mod official;
pub mod server;
