//! The crate against the revision's schema and its examples, and properties of all values.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by a panic and says what it skips"
)]

mod bindings;
mod coverage;
mod examples;
mod null;
mod properties;
mod sample;
mod spec;
