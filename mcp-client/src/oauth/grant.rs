//! `Grant`: a way to get tokens, of which the code with a user who signs in is one.

use mcp_transport::auth::{Challenge, Scopes};
use serde::{Deserialize, Serialize};

use super::dpop::Binding;
use super::error::{Kind, OAuthError};
use super::http::Fetcher;
use super::registration::Registration;
use super::token::Tokens;
use crate::future::BoxFuture;

/// A way to get tokens for a server.
pub(crate) trait Grant: Send + Sync {
    /// Gets tokens from nothing. It may take as long as a user takes.
    fn obtain<'a>(&'a self, need: Need<'a>) -> BoxFuture<'a, Result<Granted, OAuthError>>;

    /// Gets tokens in place of those in `granted`, without a user, and no new rights. An error that
    /// [`is_invalid_grant`](OAuthError::is_invalid_grant) says that it will never work again.
    fn refresh<'a>(
        &'a self,
        need: Need<'a>,
        granted: &'a Granted,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>>;

    /// Whether there is anything that [`refresh`](Self::refresh) could do.
    fn can_refresh(&self, granted: &Granted) -> bool {
        granted.tokens.refresh_token.is_some()
    }

    /// Whether it takes a user to get tokens from nothing. Where it does not, getting them anew is no more than
    /// [`refresh`](Self::refresh) does, and a refusal of that is the end.
    fn asks_user(&self) -> bool {
        true
    }

    /// How often more scopes are asked for within one call. What is missing after that was not granted. Specification:
    /// Step-Up Authorization Flow.
    fn step_ups(&self) -> usize {
        2
    }
}

/// What a grant is to get, and what it may use.
#[derive(Clone, Copy)]
pub(crate) struct Need<'a> {
    /// How requests are sent. It knows the server's URL and the application's policy.
    pub(crate) fetcher: &'a Fetcher,
    /// What the server wants to see; empty where it was not asked yet.
    pub(crate) challenges: &'a [Challenge],
    /// What was asked for before, together with what the challenges say. Empty where neither is known; then it is what
    /// the metadata of the resource says.
    pub(crate) scopes: &'a Scopes,
    /// The identities that the client has been given so far.
    pub(crate) registry: &'a dyn Registry,
}

/// Identities that are remembered, one for each issuer.
pub(crate) trait Registry: Send + Sync {
    fn find<'a>(
        &'a self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<Registration>, OAuthError>>;

    /// Remembers one in place of what there is of its issuer.
    fn save<'a>(&'a self, registration: &'a Registration) -> BoxFuture<'a, Result<(), OAuthError>>;

    /// Forgets this one, unless another has taken its place.
    fn forget<'a>(
        &'a self,
        registration: &'a Registration,
    ) -> BoxFuture<'a, Result<(), OAuthError>>;
}

/// Tokens, and whom they are from: all that it takes to use and to refresh them.
///
/// Serialised it shows its secrets, the key that the tokens are bound to among them: whoever stores it protects the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Granted {
    /// The tokens.
    pub tokens: Tokens,
    /// Who gave them, as the metadata of the resource names them.
    pub issuer: String,
    /// What that calls itself, where it is something else and a policy accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) audience: Option<String>,
    /// What they are for, as the metadata of the resource names it: to the byte what every request says.
    pub resource: String,
    /// Where they came from and are refreshed.
    pub token_endpoint: String,
    /// How a client may prove who it is there; `None` where the authorization server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_methods: Option<Vec<String>>,
    /// As whom the client got them.
    pub registration: Registration,
    /// The scopes that were asked for, separated by spaces. With more of them asked for later, these stay.
    #[serde(default)]
    pub requested: String,
    /// The key that they are bound to, if they are.
    #[serde(default, rename = "dpop", skip_serializing_if = "Option::is_none")]
    pub(crate) binding: Option<Binding>,
}

impl Granted {
    /// The scopes that were asked for.
    pub fn requested(&self) -> Scopes {
        Scopes::parse(&self.requested)
    }

    /// Gets tokens in place of these, by the refresh token. Many issuers let each be used once: whoever else has
    /// these should not use them any more. Cancelling it may lose the tokens. RFC 6749, section 6.
    ///
    /// # Errors
    /// When there is no refresh token, or it is good for nothing any more, or the issuer is out of order. What
    /// the issuer said tells them apart: with `invalid_grant` the user has to sign in again.
    pub async fn refresh(&self, fetcher: &Fetcher) -> Result<Self, OAuthError> {
        let Some(refresh_token) = &self.tokens.refresh_token else {
            return Err(OAuthError::new(Kind::Usage, "there is no refresh token"));
        };
        let params = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
        let mut granted = self.terms().ask(fetcher, &params).await?;
        // An issuer that does not rotate them says nothing of the old one, which stays good.
        let tokens = &mut granted.tokens;
        tokens.refresh_token =
            tokens.refresh_token.take().or_else(|| self.tokens.refresh_token.clone());
        tokens.scope = tokens.scope.take().or_else(|| self.tokens.scope.clone());
        Ok(granted)
    }
}
