//! The suite itself, let loose on our server and our client.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by a panic, and says what it found"
)]

mod mutants;
mod ours;
mod support;
