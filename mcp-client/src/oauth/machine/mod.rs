//! Grants in which no user takes part. They begin alike, and their tokens are not refreshed but got again.

mod enterprise;
mod service;
mod source;
mod workload;

pub use enterprise::{IdentityAssertion, IdentityProvider};
pub use source::{AssertionRequest, AssertionSource};
pub(crate) use {enterprise::SignedOn, service::Service, workload::Workload};

use super::code::Choose;
use super::error::{Kind, OAuthError};
use super::grant::{Grant, Granted, Need};
use super::http::Fetcher;
use super::identity::Identity;
use super::terms::Terms;
use super::url::shown;
use crate::future::BoxFuture;
use crate::limits::Limits;

/// What one of these grants sends, where everything else is settled.
pub(crate) trait Ask: Send + Sync {
    /// Gets tokens.
    fn ask<'a>(
        &'a self,
        fetcher: &'a Fetcher,
        terms: Terms,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>>;
}

/// Such a grant.
pub(crate) struct Machine<A> {
    known: Known,
    ask: A,
}

/// Who the client is to issuers whose owners have registered it. There is no other way here.
pub(crate) struct Known {
    pub(crate) identity: Identity,
    pub(crate) choose: Option<Choose>,
    /// Whether tokens are to be bound to a key although the server does not ask for it.
    pub(crate) binds: bool,
}

impl<A: Ask> Machine<A> {
    pub(crate) const fn new(known: Known, ask: A) -> Self {
        Self { known, ask }
    }

    async fn get(&self, fetcher: &Fetcher, terms: Terms) -> Result<Granted, OAuthError> {
        let mut granted = self.ask.ask(fetcher, terms).await?;
        // Whoever lets the client in shall be asked each time.
        granted.tokens.refresh_token = None;
        Ok(granted)
    }
}

impl<A: Ask> Grant for Machine<A> {
    fn obtain<'a>(&'a self, need: Need<'a>) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            let terms = self.known.terms(need).await?;
            self.get(need.fetcher, terms).await
        })
    }

    /// Where tokens are got is known, so that one request does.
    fn refresh<'a>(
        &'a self,
        need: Need<'a>,
        granted: &'a Granted,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            let current = self.known.identity.registered_with(&granted.issuer);
            let registration = current.ok_or_else(|| self.known.stranger(&granted.issuer))?;
            let terms = Terms { registration, ..granted.terms() };
            self.get(need.fetcher, terms).await
        })
    }

    fn can_refresh(&self, _granted: &Granted) -> bool {
        true
    }

    fn asks_user(&self) -> bool {
        false
    }

    /// Nobody is there who could grant more the second time.
    fn step_ups(&self) -> usize {
        1
    }
}

impl Known {
    async fn terms(&self, need: Need<'_>) -> Result<Terms, OAuthError> {
        let discovered = need.fetcher.discover(need.challenges).await?;
        let issuers = discovered.issuers();
        let issuers = issuers.get(..Limits::OAUTH_ISSUERS).unwrap_or(issuers);
        let chosen = self.choose.as_ref().and_then(|choose| choose(issuers));
        let known = |issuer: &&String| self.identity.registered_with(issuer).is_some();
        let chosen = chosen.or_else(|| issuers.iter().find(known).cloned());
        let issuer = chosen.ok_or_else(|| self.stranger(&issuers.join(", ")))?;
        let registration = self.identity.registered_with(&issuer);
        let registration = registration.ok_or_else(|| self.stranger(&issuer))?;
        let registered = discovered.identify(&issuer).await?.with_registration(registration)?;
        let registered = if self.binds { registered.bind() } else { registered };
        registered.terms_without_user(need.scopes)
    }

    fn stranger(&self, issuers: &str) -> OAuthError {
        let ours =
            self.identity.registered.iter().map(|(issuer, _)| format!("{:?}", shown(issuer)));
        let ours = ours.collect::<Vec<_>>().join(", ");
        let text = format!(
            "the server has tokens from {:?}, where the client has no identity; it has with {ours}",
            shown(issuers)
        );
        OAuthError::new(Kind::Registration, text)
    }
}

/// Adds the scopes, if there are any. Without them the parameter would be one that is empty.
fn with_scope<'a>(params: &[(&'a str, &'a str)], requested: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut params = params.to_vec();
    if !requested.is_empty() {
        params.push(("scope", requested));
    }
    params
}

/// A token for an assertion. RFC 7523, section 2.1.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
