//! The client against scripted servers. Ids in comments are those of the field reports that a test answers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests as well"
)]

mod answers;
mod catalog;
mod connections;
mod headers;
mod layers;
mod limits;
mod redirects;
mod streams;
mod support;
mod time;
mod transport;
mod version;
mod wire;
