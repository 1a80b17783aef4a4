//! `Token`: an access token as it is used.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use mcp_transport::auth::Scopes;

use super::dpop::{DPOP, Nonces};
use super::error::{Kind, OAuthError};
use super::grant::Granted;
use super::token::BEARER;

/// Where a token came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Store,
    Refresh,
    SignIn,
}

/// The access token that calls use, until another takes its place.
pub(crate) struct Token {
    granted: Granted,
    header: HeaderValue,
    /// How long before its end it is renewed.
    margin: Duration,
    /// Whether somebody has just signed in for it, and no server has taken it yet.
    is_fresh: AtomicBool,
    /// Whether the store has it, so that it is gone when it is gone there.
    pub(super) is_stored: bool,
}

impl Token {
    /// 30 s before a token expires it is renewed, at the most: so long may a call be on its way.
    const MARGIN: Duration = Duration::from_secs(30);

    /// # Errors
    /// When no header can carry it, or it is bound to a key that is not there.
    pub(super) fn new(granted: Granted, origin: Origin) -> Result<Self, OAuthError> {
        let is_bound = granted.binding.is_some();
        if !is_bound && granted.tokens.token_type == DPOP {
            let text = "the access token is bound to a key which the client has not";
            return Err(OAuthError::new(Kind::Protocol, text));
        }
        let scheme = if is_bound { DPOP } else { BEARER };
        let header = format!("{scheme} {}", granted.tokens.access_token.expose());
        let mut header = HeaderValue::try_from(header).map_err(|_silent| {
            OAuthError::new(Kind::Protocol, "the access token has characters that no header has")
        })?;
        header.set_sensitive(true);
        let left = granted.tokens.expires_at.map(|at| at.duration_since(SystemTime::now()));
        let margin = match left.and_then(Result::ok) {
            // What is left is its life: one that is short-lived is used for most of it.
            Some(left) if origin != Origin::Store => Self::MARGIN.min(left / 4),
            _ => Self::MARGIN,
        };
        let is_fresh = AtomicBool::new(origin == Origin::SignIn);
        let is_stored = origin == Origin::Store;
        Ok(Self { granted, header, margin, is_fresh, is_stored })
    }

    pub(super) const fn granted(&self) -> &Granted {
        &self.granted
    }

    /// The scopes that were asked for.
    pub(super) fn requested(&self) -> Scopes {
        Scopes::parse(&self.granted.requested)
    }

    /// Puts it into the headers of a request to `url`, with a proof of the key that it is bound to; unless the caller has
    /// other credentials there.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub(crate) fn apply(
        &self,
        headers: &mut HeaderMap,
        url: &str,
        nonces: &Nonces,
    ) -> Result<(), OAuthError> {
        if headers.contains_key(AUTHORIZATION) {
            return Ok(());
        }
        headers.insert(AUTHORIZATION, self.header.clone());
        let Some(binding) = &self.granted.binding else { return Ok(()) };
        let token = &self.granted.tokens.access_token;
        binding.key.prove(headers, url, Some(token), nonces.of(url).as_deref())
    }

    /// Whether requests with it have proofs.
    pub(crate) const fn is_bound(&self) -> bool {
        self.granted.binding.is_some()
    }

    /// A server has taken it.
    pub(crate) fn is_taken(&self) {
        self.is_fresh.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh.load(Ordering::Relaxed)
    }

    pub(super) fn is_due(&self) -> bool {
        self.granted.tokens.expires_within(self.margin)
    }

    pub(super) fn has_expired(&self) -> bool {
        self.granted.tokens.expires_within(Duration::ZERO)
    }

    /// Whether it is that of `granted`.
    pub(super) fn is_of(&self, granted: &Granted) -> bool {
        self.granted.tokens.access_token == granted.tokens.access_token
    }
}
