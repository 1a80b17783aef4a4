//! Authorization: which callers there are, and what each of them may do.

mod access;
mod error;
mod verifier;

pub use access::Access;
pub use error::TokenError;
pub use mcp_transport::auth::{ProtectedResourceMetadata, Scopes};
pub use verifier::{Presented, Scheme, Token, TokenVerifier, Verifying};
