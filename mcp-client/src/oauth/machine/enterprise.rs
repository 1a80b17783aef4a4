//! Enterprise-managed authorization: the identity provider of an enterprise lets its users in. Extension:
//! Enterprise-Managed Authorization.

use std::fmt;
use std::sync::Arc;

use super::{Ask, JWT_BEARER, with_scope};
use crate::error::{BoxError, excerpt};
use crate::future::BoxFuture;
use crate::oauth::client_id::ClientId;
use crate::oauth::discovery::find_issuer;
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::grant::Granted;
use crate::oauth::http::Fetcher;
use crate::oauth::registration::{Registration, RegistrationKind};
use crate::oauth::secret::Secret;
use crate::oauth::terms::Terms;
use crate::oauth::token_endpoint::TokenEndpoint;
use crate::oauth::url::shown;

/// Where the users of an enterprise sign in, and what the application has from there: proof of who its user is.
#[derive(Clone)]
#[must_use]
pub struct IdentityProvider {
    issuer: String,
    client: ClientId,
    token_endpoint: Option<String>,
    assertion: Arc<Get>,
}

type Get = dyn Fn() -> BoxFuture<'static, Result<IdentityAssertion, BoxError>> + Send + Sync;

impl IdentityProvider {
    /// The provider `issuer`, to which the application is `client`, and `assertion`, which is called for every token and has
    /// what the provider gave the application when the user signed in. When that has expired it is for this function to
    /// get another, or to fail. Its future may be dropped.
    ///
    /// ```
    /// use mcp_client::oauth::{ClientId, IdentityAssertion, IdentityProvider, OAuth};
    ///
    /// # async fn id_token() -> Result<String, std::io::Error> { unimplemented!() }
    /// let client = ClientId::confidential("my-app", "the secret there");
    /// let provider = IdentityProvider::new("https://acme.idp.example", client, || async {
    ///     id_token().await.map(IdentityAssertion::id_token)
    /// });
    /// let client = ClientId::confidential("my-app-at-chat", "another secret");
    /// let oauth = OAuth::enterprise(provider, "https://auth.chat.example", client);
    /// ```
    pub fn new<F, Fut, E>(issuer: impl Into<String>, client: ClientId, assertion: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<IdentityAssertion, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let assertion = move || -> BoxFuture<'static, _> {
            let got = assertion();
            Box::pin(async move { got.await.map_err(Into::into) })
        };
        let (issuer, assertion) = (issuer.into(), Arc::new(assertion));
        Self { issuer, client, token_endpoint: None, assertion }
    }

    /// Where the provider gives tokens. Default is what its metadata says.
    pub fn token_endpoint(self, url: impl Into<String>) -> Self {
        Self { token_endpoint: Some(url.into()), ..self }
    }

    /// What lets the user in with the server's authorization server. RFC 8693, section 2.
    ///
    /// # Errors
    /// When the provider says no, or gives something else.
    async fn exchange(
        &self,
        fetcher: &Fetcher,
        terms: &Terms,
        assertion: &IdentityAssertion,
    ) -> Result<Secret, OAuthError> {
        let (url, methods) = match &self.token_endpoint {
            Some(url) => (url.clone(), None),
            None => self.find(fetcher).await?,
        };
        let registration = Registration {
            issuer: self.issuer.clone(),
            client: self.client.clone(),
            redirect_uris: Vec::new(),
            kind: RegistrationKind::Preregistered,
            expires_at: None,
        };
        let endpoint = TokenEndpoint {
            url: &url,
            registration: &registration,
            methods: methods.as_deref(),
            audience: &self.issuer,
            // What it gives is no access token, and is bound to the client by other means.
            key: None,
        };
        let params = [
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", &terms.audience),
            ("resource", &terms.resource),
            ("subject_token", assertion.text.expose()),
            ("subject_token_type", assertion.kind),
        ];
        let answer = endpoint.ask(fetcher, &with_scope(&params, &terms.requested)).await?;
        match answer.issued_type.as_deref() {
            Some(ID_JAG) => Ok(answer.tokens.access_token),
            // Another kind of token may be good for something at the provider, and is not shown to others.
            other => {
                let other = excerpt(other.unwrap_or("nothing").as_bytes());
                let text = format!("{} gives a token of another kind: {other}", shown(&url));
                Err(OAuthError::new(Kind::Protocol, text))
            }
        }
    }

    async fn find(&self, fetcher: &Fetcher) -> Result<(String, Option<Vec<String>>), OAuthError> {
        let metadata = find_issuer(fetcher, &self.issuer).await?;
        let missing = || {
            let text = format!("the metadata of {:?} has no token_endpoint", shown(&self.issuer));
            OAuthError::new(Kind::Discovery, text)
        };
        let url = metadata.token_endpoint.ok_or_else(missing)?;
        Ok((url, metadata.token_endpoint_auth_methods_supported))
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider")
            .field("issuer", &shown(&self.issuer))
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// What an identity provider gave the application when the user signed in. `Debug` does not show it.
#[derive(Clone, Debug)]
pub struct IdentityAssertion {
    kind: &'static str,
    text: Secret,
}

impl IdentityAssertion {
    /// An ID token. OpenID Connect Core 1.0, section 2.
    pub fn id_token(token: impl Into<Secret>) -> Self {
        Self { kind: "urn:ietf:params:oauth:token-type:id_token", text: token.into() }
    }

    /// An assertion of SAML 2.0, encoded as base64url. RFC 8693, section 3.
    pub fn saml2(encoded: impl Into<Secret>) -> Self {
        Self { kind: "urn:ietf:params:oauth:token-type:saml2", text: encoded.into() }
    }
}

/// The grant of a user who has signed in with the provider.
pub(crate) struct SignedOn(pub(crate) IdentityProvider);

impl Ask for SignedOn {
    fn ask<'a>(
        &'a self,
        fetcher: &'a Fetcher,
        terms: Terms,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            let assertion = (self.0.assertion)().await.map_err(|error| {
                let what = "there is no assertion of the user's identity";
                OAuthError::new(Kind::Assertion, what).caused_by(error)
            })?;
            let granted = self.0.exchange(fetcher, &terms, &assertion).await;
            let granted = granted.map_err(OAuthError::of_identity)?;
            let params = [("grant_type", JWT_BEARER), ("assertion", granted.expose())];
            terms.ask(fetcher, &params).await
        })
    }
}

/// What lets a user in elsewhere.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
