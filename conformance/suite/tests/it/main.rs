//! The suite itself, let loose on our server and our client.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by a panic, and says what it found"
)]

mod hostile;
mod mutants;
mod options;
mod ours;
mod processes;
mod reports;
mod support;
