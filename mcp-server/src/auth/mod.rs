//! Authorization: which callers there are, and what each of them may do.

mod access;
mod authorization;
#[cfg(feature = "verifiers")]
mod claims;
mod credentials;
mod denied;
mod document;
#[cfg(feature = "verifiers")]
mod dpop;
mod error;
#[cfg(feature = "verifiers")]
mod fetch;
#[cfg(feature = "verifiers")]
mod introspection;
#[cfg(feature = "verifiers")]
mod jwt;
mod required;
mod resource_server;
mod static_tokens;
mod verifier;

pub use access::Access;
pub(crate) use authorization::Authorization;
use credentials::MAX_TOKEN;
pub(crate) use denied::Denied;
pub use document::MetadataService;
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
pub use required::Operation;
pub(crate) use required::Required;
pub use resource_server::ResourceServer;
pub use static_tokens::StaticTokens;
pub use verifier::{Presented, Scheme, Token, TokenVerifier, Verifying};
