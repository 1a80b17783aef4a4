//! Authorization: which callers there are, and what each of them may do.

mod access;
mod authorization;
mod credentials;
mod denied;
mod document;
mod error;
mod required;
mod resource_server;
mod static_tokens;
mod verifier;

pub use access::Access;
pub(crate) use authorization::Authorization;
use credentials::MAX_TOKEN;
pub(crate) use denied::Denied;
pub use document::MetadataService;
pub use error::TokenError;
pub use mcp_transport::auth::{ProtectedResourceMetadata, Scopes};
pub use required::Operation;
pub(crate) use required::Required;
pub use resource_server::ResourceServer;
pub use static_tokens::StaticTokens;
pub use verifier::{Presented, Scheme, Token, TokenVerifier, Verifying};
