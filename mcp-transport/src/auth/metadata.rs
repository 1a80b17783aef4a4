//! The document by which a protected resource says who gives tokens for it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The metadata of a protected resource. RFC 9728, section 2.
///
/// URLs are kept as the strings they came as: what compares or repeats them must not change a byte. A member that
/// is optional and of a wrong type counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProtectedResourceMetadata {
    /// The resource's identifier, which tokens for it name as their audience.
    pub resource: String,
    /// The issuers of tokens for it, as identifiers.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
    pub authorization_servers: Vec<String>,
    /// The scopes that basic use needs. Specification: Authorization, Scope Selection Strategy.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// How tokens may be sent; this protocol has `header` alone.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub bearer_methods_supported: Option<Vec<String>>,
    /// Its name, to be shown to people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Where developers read about it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// Where its policy on the use of data is.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub resource_policy_uri: Option<String>,
    /// Where its terms of service are.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub resource_tos_uri: Option<String>,
    /// Whether every token has to be bound to a key. RFC 9449.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens_required: Option<bool>,
    /// The algorithms of proofs of such keys.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl ProtectedResourceMetadata {
    /// The metadata of `resource`, for which the `authorization_servers` give tokens.
    pub fn new<I: Into<String>>(
        resource: impl Into<String>,
        authorization_servers: impl IntoIterator<Item = I>,
    ) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: authorization_servers.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

fn lenient<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned + Default,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Where the metadata of a resource is looked for, in this order: with its path, if it has one, and at the root.
/// `None` if `resource` is no absolute URL of HTTP. RFC 9728, section 3.1; Specification: Authorization Server
/// Discovery, Protected Resource Metadata Discovery Requirements.
///
/// ```
/// let urls = mcp_transport::auth::metadata_urls("https://example.com/public/mcp").unwrap();
/// assert_eq!(urls, [
///     "https://example.com/.well-known/oauth-protected-resource/public/mcp",
///     "https://example.com/.well-known/oauth-protected-resource",
/// ]);
/// ```
pub fn metadata_urls(resource: &str) -> Option<Vec<String>> {
    let scheme_end = resource.find("://")? + 3;
    let (scheme, rest) = resource.split_at_checked(scheme_end)?;
    let is_http = ["http://", "https://"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let rest = rest.split('#').next()?;
    let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
    if !is_http || authority.is_empty() {
        return None;
    }
    let root = format!("{scheme}{authority}{WELL_KNOWN}");
    // A slash alone is no path; one before a query is none either.
    let path = match path.strip_prefix('/') {
        Some(rest) if rest.is_empty() || rest.starts_with('?') => rest,
        _ => path,
    };
    if path.is_empty() { Some(vec![root]) } else { Some(vec![format!("{root}{path}"), root]) }
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let table = [
            (r#"{"resource":"https://h"}"#, r#"{"resource":"https://h"}"#),
            (
                r#"{"resource":"https://h/","authorization_servers":["https://a"],"x":[1],"scopes_supported":[]}"#,
                r#"{"resource":"https://h/","authorization_servers":["https://a"],"scopes_supported":[],"x":[1]}"#,
            ),
            (
                r#"{"resource":"r","authorization_servers":"a","scopes_supported":[1],"resource_name":null}"#,
                r#"{"resource":"r"}"#,
            ),
        ];
        for (text, expected) in table {
            let read: ProtectedResourceMetadata = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), expected);
        }
        for text in ["{}", "[]", r#"{"resource":1}"#] {
            assert!(serde_json::from_str::<ProtectedResourceMetadata>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn places() {
        let known = "/.well-known/oauth-protected-resource";
        let table = [
            ("https://h", vec![format!("https://h{known}")]),
            ("https://h/", vec![format!("https://h{known}")]),
            (
                "HTTPS://H:1/a/",
                vec![format!("HTTPS://H:1{known}/a/"), format!("HTTPS://H:1{known}")],
            ),
            ("https://h/?t=1", vec![format!("https://h{known}?t=1"), format!("https://h{known}")]),
            ("https://h?t=1", vec![format!("https://h{known}?t=1"), format!("https://h{known}")]),
            (
                "http://[::1]:8/a//b%20c?t=1#f",
                vec![
                    format!("http://[::1]:8{known}/a//b%20c?t=1"),
                    format!("http://[::1]:8{known}"),
                ],
            ),
        ];
        for (resource, expected) in table {
            assert_eq!(metadata_urls(resource).unwrap(), expected, "{resource}");
        }
        for resource in ["", "h", "/a", "ftp://h", "https://", "https:///a", "urn:x"] {
            assert_eq!(metadata_urls(resource), None, "{resource}");
        }
    }
}
