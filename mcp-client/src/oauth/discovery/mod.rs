//! Who gives tokens for a server: its metadata, and the metadata of the issuers that it names.

mod issuer;
mod lenient;
mod resource;

pub use issuer::AuthorizationServerMetadata;
pub(crate) use issuer::find as find_issuer;
pub(crate) use resource::find as find_resource;

use super::error::{Kind, OAuthError};

/// Keeps the failure that says most, of all candidates of one document.
fn worse(one: Option<OAuthError>, other: OAuthError) -> Option<OAuthError> {
    let rank = |error: &OAuthError| match error.kind() {
        Kind::Unsafe => 2,
        Kind::Exchange => 1,
        _ => 0,
    };
    match one {
        Some(one) if rank(&one) >= rank(&other) => Some(one),
        _ => Some(other),
    }
}
