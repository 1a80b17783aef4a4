//! `TokenError`: why a token is not taken.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use mcp_transport::auth::Scopes;

use super::Scheme;

/// Why a verifier does not take a token, and what its client is told.
///
/// It is `From` every error, as one that is nobody's fault but the server's: the client is asked to
/// [come again](Self::unavailable), and the cause is logged. So `?` never refuses a token by accident.
#[derive(Debug)]
pub struct TokenError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    headers: Vec<(HeaderName, HeaderValue)>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// 401, with a challenge that says so.
    Refused { code: &'static str, description: String, scheme: Option<Scheme> },
    /// 503.
    Unavailable { retry_after: Duration },
    /// 403.
    Insufficient { scopes: Scopes },
}

impl TokenError {
    /// 5 s: as long as a reload of keys or a failover takes.
    pub const RETRY_AFTER: Duration = Duration::from_secs(5);

    /// The token is no good: malformed, expired, revoked, of another issuer, for another audience. The client gets 401
    /// with `invalid_token` and this description, which must not say more than everybody may know. RFC 6750, section
    /// 3.1.
    pub fn invalid(description: impl Into<String>) -> Self {
        Self::refused("invalid_token", description, None)
    }

    /// A proof of the token's key is wrong or missing: 401 with this code, such as `invalid_dpop_proof` or
    /// `use_dpop_nonce`, in the challenge of [`Scheme::Dpop`]. RFC 9449, section 7.1.
    pub fn proof(code: &'static str, description: impl Into<String>) -> Self {
        Self::refused(code, description, Some(Scheme::Dpop))
    }

    /// Nothing can be said about the token for now, since whoever knows cannot be reached. The client gets 503 and may
    /// come again after this time, in whole seconds, with the same token.
    pub fn unavailable(retry_after: Duration) -> Self {
        Self::of(Kind::Unavailable { retry_after })
    }

    /// The token is good, but not for anything here without these scopes: 403 with `insufficient_scope`. What single
    /// tools require is not for the verifier to check.
    pub fn insufficient<S: AsRef<str>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self::of(Kind::Insufficient { scopes: scopes.into_iter().collect() })
    }

    /// The cause, for the log alone. It must not hold the token.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// A header field for the response, such as a `DPoP-Nonce`.
    #[must_use]
    pub fn with_response_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Whether the token was judged, and found to be no good.
    pub fn is_invalid(&self) -> bool {
        matches!(self.0.kind, Kind::Refused { .. })
    }

    /// Whether the token could not be judged.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.0.kind, Kind::Unavailable { .. })
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    pub(crate) fn response_headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0.headers
    }

    pub(crate) fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }

    fn refused(code: &'static str, description: impl Into<String>, scheme: Option<Scheme>) -> Self {
        Self::of(Kind::Refused { code, description: description.into(), scheme })
    }

    fn of(kind: Kind) -> Self {
        Self(Box::new(Inner { kind, headers: Vec::new(), source: None }))
    }
}

/// What the client is told.
impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Refused { description, .. } => f.write_str(description),
            Kind::Unavailable { .. } => f.write_str("The token cannot be verified for the moment"),
            Kind::Insufficient { scopes } => write!(f, "This needs the scopes {scopes}"),
        }
    }
}

// Not an `Error` itself, which lets it be `From` every one.
impl<E: Error + Send + Sync + 'static> From<E> for TokenError {
    fn from(error: E) -> Self {
        Self::unavailable(Self::RETRY_AFTER).with_source(error)
    }
}
