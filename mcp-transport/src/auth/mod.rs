//! What both sides of authorization say to each other over HTTP: challenges, scopes, and the document by which a
//! protected resource names its authorization servers.
//!
//! Specification: Authorization; RFC 6750, RFC 9110 (section 11) and RFC 9728.

mod challenge;
mod metadata;
mod scope;

pub use challenge::Challenge;
pub use metadata::{ProtectedResourceMetadata, metadata_urls};
pub use scope::Scopes;
