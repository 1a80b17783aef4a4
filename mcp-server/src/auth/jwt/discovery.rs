//! Where an issuer says that its keys are.

use http::Uri;
use serde::Deserialize;

use crate::auth::fetch::{Fetch, FetchError, document};

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Option<String>,
}

/// The `jwks_uri` of the first metadata that the issuer has; some have a page for people where others say that there is
/// nothing. Metadata that names another issuer ends the search: who wrote it could make its own keys count.
pub(super) async fn jwks_uri(fetch: &dyn Fetch, issuer: &str) -> Result<String, FetchError> {
    let no_url = || FetchError::new(format!("the issuer {issuer} is no URL without a query"));
    for url in metadata_urls(issuer).ok_or_else(no_url)? {
        let Some(response) = document(fetch, &url).await? else { continue };
        let metadata = serde_json::from_slice::<Metadata>(response.body());
        let Ok(metadata) = metadata else { continue };
        if metadata.issuer != issuer {
            return Err(FetchError::new(format!("{url} is the metadata of another issuer")));
        }
        let no_keys = || FetchError::new(format!("{url} names no jwks_uri"));
        return metadata.jwks_uri.ok_or_else(no_keys);
    }
    Err(FetchError::new(format!("the issuer {issuer} has no metadata")))
}

/// Where the metadata may be, in the order in which it is looked for. RFC 8414, sections 3.1 and 5; Specification:
/// Authorization Server Discovery, Authorization Server Metadata Discovery.
fn metadata_urls(issuer: &str) -> Option<Vec<String>> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let url: Uri = issuer.parse().ok()?;
    let (scheme, authority) = (url.scheme_str()?, url.authority()?);
    if issuer.contains(['?', '#']) {
        return None;
    }
    let root = format!("{scheme}://{authority}");
    let path = url.path().trim_end_matches('/');
    let mut urls = vec![format!("{root}{OAUTH}{path}"), format!("{root}{OPENID}{path}")];
    if !path.is_empty() {
        urls.push(format!("{root}{path}{OPENID}"));
    }
    Some(urls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let (oauth, openid) =
            ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration");
        for issuer in ["https://a.example", "https://a.example/"] {
            let root = "https://a.example";
            let expected = [format!("{root}{oauth}"), format!("{root}{openid}")];
            assert_eq!(metadata_urls(issuer).unwrap(), expected);
        }
        for issuer in ["https://a.example:8443/t/1", "https://a.example:8443/t/1/"] {
            let root = "https://a.example:8443";
            let expected = [
                format!("{root}{oauth}/t/1"),
                format!("{root}{openid}/t/1"),
                format!("{root}/t/1{openid}"),
            ];
            assert_eq!(metadata_urls(issuer).unwrap(), expected);
        }
        for issuer in ["", "a", "/a", "https://a.example?t=1", "https://a.example#a"] {
            assert_eq!(metadata_urls(issuer), None, "{issuer}");
        }
    }
}
