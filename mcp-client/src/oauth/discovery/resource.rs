//! The metadata of the server.

use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, metadata_urls};

use super::worse;
use crate::error::excerpt;
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::http::{Fetcher, told};
use crate::oauth::url::{covers, shown};

/// Looks for the metadata of the server: where a challenge says that it is, then at the places that are known. What
/// cannot be read at one of them is looked for at the next. Specification: Protected Resource Metadata Discovery
/// Requirements; RFC 9728, sections 3 and 5.
///
/// # Errors
/// When it is nowhere, is another's, or names no issuer. No issuer has been asked anything then.
pub(crate) async fn find(
    fetcher: &Fetcher,
    challenges: &[Challenge],
) -> Result<ProtectedResourceMetadata, OAuthError> {
    let server = fetcher.server();
    let named = challenges.iter().filter(|challenge| is_ours(challenge));
    let named = named.filter_map(Challenge::resource_metadata).take(1).map(str::to_owned);
    let known = metadata_urls(server).unwrap_or_default();
    let mut failed = None;
    for url in named.chain(known) {
        match get(fetcher, &url).await {
            Ok(metadata) => return checked(fetcher, metadata, &url),
            Err(error) => {
                tracing::debug!(%error, "metadata of the resource is looked for elsewhere");
                failed = worse(failed, error);
            }
        }
    }
    match (&fetcher.policy().fallback_issuer, failed) {
        (Some(issuer), failed) => {
            tracing::debug!(?failed, issuer, "the issuer is the one that was set");
            Ok(ProtectedResourceMetadata::new(server, [issuer]))
        }
        (None, Some(error)) if error.is_unsafe() || error.is_transport() => Err(error),
        (None, failed) => {
            let text = format!(
                "{} does not say who gives tokens for it: it has no metadata of a protected resource. If its issuer is \
                 known, `fallback_issuer` can name it",
                shown(server)
            );
            let error = OAuthError::new(Kind::Discovery, text);
            Err(match failed {
                Some(failed) => error.caused_by(failed),
                None => error,
            })
        }
    }
}

/// Whether a challenge is of a scheme that tokens are for.
fn is_ours(challenge: &Challenge) -> bool {
    challenge.is("Bearer") || challenge.is("DPoP")
}

async fn get(fetcher: &Fetcher, url: &str) -> Result<ProtectedResourceMetadata, OAuthError> {
    let fetched = fetcher.get(url).await?;
    fetched.json().ok_or_else(|| {
        let kind = if fetched.may_pass() { Kind::Exchange } else { Kind::Discovery };
        let text = format!("{} has no metadata of a resource: {}", shown(url), told(&fetched));
        OAuthError::new(kind, text)
    })
}

/// A document that anybody may have written is good for the server that it is about, and no other.
fn checked(
    fetcher: &Fetcher,
    mut metadata: ProtectedResourceMetadata,
    url: &str,
) -> Result<ProtectedResourceMetadata, OAuthError> {
    let server = fetcher.server();
    if !covers(&metadata.resource, server) {
        let text = format!(
            "the metadata at {} is of {:?}, which does not cover {:?}",
            shown(url),
            excerpt(metadata.resource.as_bytes()),
            shown(server)
        );
        return Err(OAuthError::new(Kind::Mismatch, text));
    }
    if metadata.authorization_servers.is_empty() {
        let fallback = fetcher.policy().fallback_issuer.clone();
        let none = || {
            let text = format!("the metadata at {} names no authorization server", shown(url));
            OAuthError::new(Kind::Discovery, text)
        };
        metadata.authorization_servers.push(fallback.ok_or_else(none)?);
    }
    Ok(metadata)
}
