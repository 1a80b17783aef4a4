//! Authorization: which callers there are, and what each of them may do.

mod access;
#[cfg(feature = "verifiers")]
mod claims;
#[cfg(feature = "verifiers")]
mod dpop;
mod error;
#[cfg(feature = "verifiers")]
mod fetch;
#[cfg(feature = "verifiers")]
mod introspection;
#[cfg(feature = "verifiers")]
mod jwt;
mod verifier;

pub use access::Access;
#[cfg(feature = "verifiers")]
pub use dpop::{Dpop, NonceKey};
pub use error::TokenError;
#[cfg(feature = "verifiers")]
pub use fetch::{Fetch, FetchError, Fetching, HttpsFetch};
#[cfg(feature = "verifiers")]
pub use introspection::Introspection;
#[cfg(feature = "verifiers")]
pub use jwt::{Issuer, JwtVerifier};
pub use mcp_transport::auth::{ProtectedResourceMetadata, Scopes};
#[cfg(feature = "verifiers")]
pub use mcp_transport::jose;
pub use verifier::{Presented, Scheme, Token, TokenVerifier, Verifying};
