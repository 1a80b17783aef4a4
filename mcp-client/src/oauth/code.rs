//! `AuthorizationCode`: the grant of a user who signs in.

use std::sync::Arc;

use super::error::{Kind, OAuthError};
use super::flow::{Identified, Redirect, RedirectHandler, Registered};
use super::grant::{Grant, Granted, Need};
use super::identity::Identity;
use super::parameters::Parameters;
use super::registration::{Registration, RegistrationKind, Way};
use crate::future::BoxFuture;
use crate::limits::Limits;

/// A user signs in, who is sent to a page and comes back with a code.
pub(crate) struct AuthorizationCode {
    pub(crate) handler: Arc<dyn RedirectHandler>,
    pub(crate) identity: Identity,
    pub(crate) choose: Option<Choose>,
    /// Whether tokens are to be bound to a key although the server does not ask for it.
    pub(crate) binds: bool,
    /// What is added to the page where they sign in.
    pub(crate) parameters: Parameters,
}

/// Picks one of several issuers, or leaves it to the client.
pub(crate) type Choose = Arc<dyn Fn(&[String]) -> Option<String> + Send + Sync>;

impl Grant for AuthorizationCode {
    fn obtain<'a>(&'a self, need: Need<'a>) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            let discovered = need.fetcher.discover(need.challenges).await?;
            let issuer = self.choice(discovered.issuers(), need).await?;
            let identified = discovered.identify(&issuer).await?;
            match self.sign_in(identified.clone(), need).await {
                // An issuer may have forgotten whom it registered; then that is forgotten here as well.
                Err(Failure { error, stale: Some(stale) }) if error.is_invalid_client() => {
                    tracing::debug!(%error, "the client is registered again");
                    need.registry.forget(&stale).await?;
                    self.sign_in(identified, need).await.map_err(|failure| failure.error)
                }
                other => other.map_err(|failure| failure.error),
            }
        })
    }

    fn refresh<'a>(
        &'a self,
        need: Need<'a>,
        granted: &'a Granted,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            // What the application says now counts: secrets are replaced now and then.
            let current = self.identity.registered_with(&granted.issuer);
            let registration = current.unwrap_or_else(|| granted.registration.clone());
            let granted = Granted { registration, ..granted.clone() };
            let refreshed = granted.refresh(need.fetcher).await;
            if let Err(error) = &refreshed
                && error.is_invalid_client()
                && granted.registration.kind == RegistrationKind::Dynamic
            {
                need.registry.forget(&granted.registration).await?;
            }
            refreshed
        })
    }
}

/// A sign-in that failed.
struct Failure {
    error: OAuthError,
    /// The identity with which it was tried, if that came from the registry.
    stale: Option<Registration>,
}

impl From<OAuthError> for Failure {
    fn from(error: OAuthError) -> Self {
        Self { error, stale: None }
    }
}

impl AuthorizationCode {
    /// The issuer to ask: the application's choice, or the first that knows the client, or the first.
    async fn choice(&self, issuers: &[String], need: Need<'_>) -> Result<String, OAuthError> {
        let issuers = issuers.get(..Limits::OAUTH_ISSUERS).unwrap_or(issuers);
        if let Some(chosen) = self.choose.as_ref().and_then(|choose| choose(issuers)) {
            return Ok(chosen);
        }
        let known = issuers.iter().find(|issuer| self.identity.registered_with(issuer).is_some());
        if let Some(known) = known {
            return Ok(known.clone());
        }
        for issuer in issuers {
            if need.registry.find(issuer).await?.is_some() {
                return Ok(issuer.clone());
            }
        }
        let none = || OAuthError::new(Kind::Discovery, "nobody gives tokens for the server");
        issuers.first().cloned().ok_or_else(none)
    }

    async fn sign_in(&self, issuer: Identified, need: Need<'_>) -> Result<Granted, Failure> {
        issuer.check_pkce()?;
        let known = self.known(&issuer, need).await?;
        let uris = known.as_ref().map_or(&[][..], |known| &known.redirect_uris);
        let redirect = self.handler.prepare(uris).await.map_err(|error| {
            OAuthError::new(Kind::Redirect, "the user cannot be received back").caused_by(error)
        })?;
        let known = known.filter(|known| known.allows(redirect.uri()));
        let registered = match &known {
            Some(known) => issuer.with_registration(known.clone())?,
            None => self.register(issuer, redirect.uri().to_owned(), need).await?,
        };
        let registered = if self.binds { registered.bind() } else { registered };
        let registered = registered.with_parameters(self.parameters.clone());
        let signed_in = through(&registered, redirect, need).await;
        signed_in.map_err(|error| Failure { error, stale: known })
    }

    /// What the registry has of the issuer, if an identity is to come from there.
    async fn known(
        &self,
        issuer: &Identified,
        need: Need<'_>,
    ) -> Result<Option<Registration>, OAuthError> {
        let Way::Register(..) = self.identity.way(issuer.issuer(), issuer.metadata())? else {
            return Ok(None);
        };
        let found = need.registry.find(issuer.issuer()).await?;
        let is_good = |known: &Registration| {
            let is_dynamic = known.kind == RegistrationKind::Dynamic;
            is_dynamic && known.issuer == issuer.issuer() && known.is_current()
        };
        Ok(found.filter(is_good))
    }

    /// Registers, and keeps what comes of it before the user is asked, who may not come back.
    async fn register(
        &self,
        issuer: Identified,
        redirect_uri: String,
        need: Need<'_>,
    ) -> Result<Registered, OAuthError> {
        let registered = issuer.register(&self.identity, &[redirect_uri], need.scopes).await?;
        if registered.registration().kind == RegistrationKind::Dynamic {
            need.registry.save(registered.registration()).await?;
        }
        Ok(registered)
    }
}

/// The user's way through the page.
async fn through(
    registered: &Registered,
    redirect: Box<dyn Redirect>,
    need: Need<'_>,
) -> Result<Granted, OAuthError> {
    let pending = registered.sign_in(redirect.uri(), need.scopes)?;
    let came_back = redirect.authorize(pending.url().clone()).await;
    let came_back = came_back.map_err(|error| {
        OAuthError::new(Kind::Redirect, "the user did not come back from the sign-in")
            .caused_by(error)
    })?;
    pending.receive(&came_back)?.redeem(need.fetcher).await
}

#[cfg(test)]
mod tests;
