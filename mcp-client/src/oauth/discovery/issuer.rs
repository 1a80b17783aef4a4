//! The metadata of an issuer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lenient::lenient;
use super::worse;
use crate::error::excerpt;
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::http::{Fetcher, told};
use crate::oauth::url::{issuer_urls, shown};

/// The metadata of an authorization server. RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3.
///
/// URLs are the strings that they came as. A member that is optional and of a wrong type counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationServerMetadata {
    /// What it calls itself.
    pub issuer: String,
    /// Where users sign in.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// Where tokens are given.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// Where clients register. RFC 7591.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// The scopes there are, not all perhaps.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The grants there are.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub grant_types_supported: Option<Vec<String>>,
    /// How clients may prove at the token endpoint who they are.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The algorithms of what they may sign for that.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// The methods of PKCE there are. RFC 7636.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether a URL of a document can be a client's identifier.
    #[serde(default, deserialize_with = "lenient")]
    pub client_id_metadata_document_supported: bool,
    /// Whether its answers to sign-ins say whose they are. RFC 9207.
    #[serde(default, deserialize_with = "lenient")]
    pub authorization_response_iss_parameter_supported: bool,
    /// The algorithms of proofs of the keys that tokens are bound to. RFC 9449.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl AuthorizationServerMetadata {
    /// Whether it says that it does PKCE by S256.
    pub(crate) fn has_pkce(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        methods.iter().any(|method| method == "S256")
    }

    /// Whether it offers this scope.
    pub(crate) fn offers(&self, scope: &str) -> bool {
        self.scopes_supported.as_deref().unwrap_or_default().iter().any(|found| found == scope)
    }
}

/// Looks for the metadata of `issuer` at all places where it may be, and nowhere else. Specification: Authorization
/// Server Metadata Discovery.
///
/// # Errors
/// When it is nowhere, or another's.
pub(crate) async fn find(
    fetcher: &Fetcher,
    issuer: &str,
) -> Result<AuthorizationServerMetadata, OAuthError> {
    let unusable = |why| OAuthError::new(Kind::Discovery, format!("{:?} {why}", shown(issuer)));
    let urls = issuer_urls(issuer).ok_or_else(|| unusable("can be no issuer"))?;
    let mut failed = None;
    for url in urls {
        match get(fetcher, &url).await {
            Ok(metadata) => return checked(fetcher, issuer, metadata),
            // Where one place must not be asked, none must.
            Err(error) if error.is_unsafe() => return Err(error),
            Err(error) => {
                tracing::debug!(%error, "metadata of the issuer is looked for elsewhere");
                failed = worse(failed, error);
            }
        }
    }
    Err(match failed {
        Some(error) if error.is_transport() => error,
        Some(error) => unusable("has no metadata of an authorization server").caused_by(error),
        None => unusable("has no metadata of an authorization server"),
    })
}

async fn get(fetcher: &Fetcher, url: &str) -> Result<AuthorizationServerMetadata, OAuthError> {
    let fetched = fetcher.get(url).await?;
    fetched.json().ok_or_else(|| {
        let kind = if fetched.may_pass() { Kind::Exchange } else { Kind::Discovery };
        OAuthError::new(kind, format!("{} has no metadata: {}", shown(url), told(&fetched)))
    })
}

/// Compares to the byte: whoever is let off with less can pretend to be another. RFC 8414, section 3.3.
fn checked(
    fetcher: &Fetcher,
    issuer: &str,
    metadata: AuthorizationServerMetadata,
) -> Result<AuthorizationServerMetadata, OAuthError> {
    let found = &metadata.issuer;
    let mut accepted = fetcher.policy().accepted_issuers.iter();
    if found == issuer || accepted.any(|(named, other)| named == issuer && other == found) {
        return Ok(metadata);
    }
    let text = format!(
        "the metadata of {:?} says that it is of {:?}. If that is as it should be, `danger_accept_issuer` accepts it",
        shown(issuer),
        excerpt(found.as_bytes())
    );
    Err(OAuthError::new(Kind::Mismatch, text))
}
