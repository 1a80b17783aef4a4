//! `OAuthError`: why there is no access token, sorted by who is to blame.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::error::{BoxError, Error, Kind as CallKind, excerpt};

/// Why there is no access token.
///
/// Ask it what happened; its text is one clause without the cause, which [`source`](StdError::source) has. What a
/// provider said is cut to [`Limits::EXCERPT`](crate::Limits::EXCERPT) characters in it. No token, code or secret
/// appears anywhere.
///
/// A cheap clone, since all calls that wait for one token fail together.
///
/// A call that fails for it has an [`Error`] which [`is_auth`](Error::is_auth) and whose
/// [`oauth`](Error::oauth) it is.
#[derive(Clone)]
pub struct OAuthError(Arc<Inner>);

struct Inner {
    kind: Kind,
    text: Box<str>,
    provider: Option<ProviderError>,
    /// It was said by, or of, the identity provider of an enterprise.
    is_of_identity: bool,
    source: Option<BoxError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the application set cannot be used.
    Usage,
    /// A request would go where it must not.
    Unsafe,
    /// No answer, or a status that is none.
    Exchange,
    /// The documents that say who gives tokens are missing or say nothing useful.
    Discovery,
    /// What belongs together does not fit.
    Mismatch,
    /// The authorization server knows no client that this could be.
    Registration,
    /// The authorization server said no.
    Provider,
    /// The authorization server's answer is no answer.
    Protocol,
    /// The server does not take what the authorization server gives.
    Refused,
    /// The user's part failed, or the application's.
    Redirect,
    /// The application has no assertion to offer.
    Assertion,
    /// What is stored cannot be read or written.
    Store,
}

impl OAuthError {
    pub(crate) fn new(kind: Kind, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let (provider, source) = (None, None);
        Self(Arc::new(Inner { kind, text, provider, is_of_identity: false, source }))
    }

    pub(crate) fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        // Nobody has a clone of what is being made.
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.source = Some(source.into());
        }
        self
    }

    /// What an authorization server says in place of an answer to `what`.
    pub(crate) fn by_provider(kind: Kind, what: &str, provider: ProviderError) -> Self {
        let text = format!("{what}: {provider}").into();
        let provider = Some(provider);
        Self(Arc::new(Inner { kind, text, provider, is_of_identity: false, source: None }))
    }

    /// The same, as far as the identity provider goes.
    pub(crate) fn of_identity(mut self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.is_of_identity = true;
        }
        self
    }

    /// The server has turned down whatever was offered.
    pub(crate) fn unsettled() -> Self {
        Self::new(Kind::Refused, "the server wants another token every time")
    }

    pub(crate) fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What the application set cannot be used. Nothing was sent.
    pub fn is_usage(&self) -> bool {
        self.0.kind == Kind::Usage
    }

    /// A URL, or the address that its host has, is none that such requests may go to. It was not sent.
    pub fn is_unsafe(&self) -> bool {
        self.0.kind == Kind::Unsafe
    }

    /// There was no answer, for reasons that may pass: the network, the time, a server out of order.
    pub fn is_transport(&self) -> bool {
        self.0.kind == Kind::Exchange
    }

    /// The documents that say who gives tokens for the server are missing, or cannot be used.
    pub fn is_discovery(&self) -> bool {
        self.0.kind == Kind::Discovery
    }

    /// What belongs together does not fit: the resource, the issuer, or the answer to a sign-in. Somebody made a
    /// mistake, or tries to get what is not theirs.
    pub fn is_mismatch(&self) -> bool {
        self.0.kind == Kind::Mismatch
    }

    /// The client has no identity with the authorization server, and cannot get one.
    pub fn is_registration(&self) -> bool {
        self.0.kind == Kind::Registration
    }

    /// The user, or the authorization server in the user's place, said no.
    pub fn is_denied(&self) -> bool {
        self.code() == Some("access_denied")
    }

    /// The server refuses tokens that it should take, or wants scopes that were asked for in vain: server and
    /// authorization server disagree, or the user granted less.
    pub fn is_refused(&self) -> bool {
        self.0.kind == Kind::Refused
    }

    /// The user's part failed: no page was opened, or nobody came back from it.
    pub fn is_redirect(&self) -> bool {
        self.0.kind == Kind::Redirect
    }

    /// The application had no assertion to offer, of a workload or of a user's identity.
    pub fn is_assertion(&self) -> bool {
        self.0.kind == Kind::Assertion
    }

    /// It failed at the identity provider of the enterprise, before the server's authorization server was asked for a token.
    /// With [`is_invalid_grant`](Self::is_invalid_grant) the user has to sign in there again; with
    /// [`is_denied`](Self::is_denied) or other words of [`provider`](Self::provider) its policy says no.
    pub fn is_identity_provider(&self) -> bool {
        self.0.is_of_identity
    }

    /// What is stored could not be read or written.
    pub fn is_store(&self) -> bool {
        self.0.kind == Kind::Store
    }

    /// What the authorization server said, if it said what is wrong.
    pub fn provider(&self) -> Option<&ProviderError> {
        self.0.provider.as_ref()
    }

    /// The code of what it said.
    pub(crate) fn code(&self) -> Option<&str> {
        self.0.provider.as_ref().map(|provider| &*provider.code)
    }

    /// The refresh token, or the code, is good for nothing any more: the user has to sign in again. Everything else may
    /// pass.
    pub fn is_invalid_grant(&self) -> bool {
        self.code() == Some("invalid_grant")
    }

    /// The authorization server said no, and will say so again.
    pub(crate) fn is_refusal(&self) -> bool {
        let passes = |code| matches!(code, "server_error" | "temporarily_unavailable");
        self.0.kind == Kind::Provider && !self.code().is_some_and(passes)
    }

    /// The authorization server does not know the client.
    pub(crate) fn is_invalid_client(&self) -> bool {
        matches!(self.code(), Some("invalid_client" | "unauthorized_client"))
    }
}

impl fmt::Display for OAuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for OAuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.text)
            .field("is_identity_provider", &self.0.is_of_identity)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for OAuthError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

impl From<OAuthError> for Error {
    fn from(error: OAuthError) -> Self {
        Self::new(CallKind::OAuth).caused_by(error)
    }
}

/// What an authorization server says is wrong. RFC 6749, sections 4.1.2.1 and 5.2.
///
/// Its texts are a stranger's: cut, on one line, and good for being read by people alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderError {
    /// The code, such as `invalid_grant` or `access_denied`.
    pub code: Box<str>,
    /// What it says to developers.
    pub description: Option<Box<str>>,
    /// Where there is more to read.
    pub uri: Option<Box<str>>,
}

impl ProviderError {
    pub(crate) fn new(code: &str, description: Option<&str>, uri: Option<&str>) -> Self {
        let short = |text: &str| excerpt(text.as_bytes());
        let filled = |text: Option<&str>| text.map(short).filter(|text| !text.is_empty());
        Self { code: short(code), description: filled(description), uri: filled(uri) }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code)?;
        if let Some(description) = &self.description {
            write!(f, ", {description}")?;
        }
        if let Some(uri) = &self.uri {
            write!(f, " ({uri})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<OAuthError>(), size_of::<usize>());
    }

    #[test]
    fn a_call_that_fails_for_it_says_so() {
        let provider = ProviderError::new("access_denied", Some("not\ntoday"), None);
        let error = OAuthError::by_provider(Kind::Provider, "the sign-in failed", provider);
        assert!(error.is_denied());
        let error = Error::from(error);
        assert!(error.is_auth());
        assert_eq!(error.to_string(), "there is no access token for the server");
        assert_eq!(
            error.source().unwrap().to_string(),
            "the sign-in failed: access_denied, not today"
        );
        assert!(error.oauth().unwrap().is_denied());
    }
}
