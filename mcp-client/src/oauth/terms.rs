//! `Terms`: what every request for tokens of one kind has in common.

use serde::{Deserialize, Serialize};

use super::dpop::{Binding, DPOP};
use super::error::{Kind, OAuthError};
use super::grant::Granted;
use super::http::Fetcher;
use super::registration::Registration;
use super::token::Tokens;
use super::token_endpoint::TokenEndpoint;
use super::url::shown;

/// Who gives tokens, for what, and to whom: all of [`Granted`] but the tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) issuer: String,
    /// What the issuer calls itself, which a policy may let differ.
    pub(crate) audience: String,
    pub(crate) resource: String,
    pub(crate) token_endpoint: String,
    pub(crate) auth_methods: Option<Vec<String>>,
    pub(crate) registration: Registration,
    pub(crate) requested: String,
    pub(crate) binding: Option<Binding>,
}

impl Terms {
    /// Asks for tokens, with the resource behind these parameters.
    ///
    /// # Errors
    /// When the issuer gives none, or none that the server takes.
    pub(crate) async fn ask(
        self,
        fetcher: &Fetcher,
        params: &[(&str, &str)],
    ) -> Result<Granted, OAuthError> {
        let answer = self.endpoint().ask(fetcher, &self.with_resource(params)).await?;
        self.granted(answer.tokens)
    }

    /// The same, where a refusal is not to be followed by another attempt of any kind.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    pub(crate) async fn ask_once(
        self,
        fetcher: &Fetcher,
        params: &[(&str, &str)],
    ) -> Result<Granted, OAuthError> {
        let answer = self.endpoint().ask_once(fetcher, &self.with_resource(params)).await?;
        self.granted(answer.tokens)
    }

    fn with_resource<'a>(&'a self, params: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        [params, &[("resource", &*self.resource)]].concat()
    }

    fn endpoint(&self) -> TokenEndpoint<'_> {
        TokenEndpoint {
            url: &self.token_endpoint,
            registration: &self.registration,
            methods: self.auth_methods.as_deref(),
            audience: &self.audience,
            key: self.binding.as_ref().map(|binding| &binding.key),
        }
    }

    /// What is not bound although it was to be is used as it is, where the server takes it. RFC 9449, section 5.
    fn granted(mut self, tokens: Tokens) -> Result<Granted, OAuthError> {
        let is_bound = tokens.token_type == DPOP;
        let unfit = |what| {
            let text = format!("{} gives a token that {what}", shown(&self.token_endpoint));
            OAuthError::new(Kind::Protocol, text)
        };
        match &self.binding {
            None if is_bound => return Err(unfit("is bound to a key which the client has not")),
            Some(binding) if !is_bound && binding.is_required => {
                return Err(unfit("is bound to no key, and the server takes none of those"));
            }
            Some(_) if !is_bound => {
                tracing::debug!("the issuer binds no tokens to keys");
                self.binding = None;
            }
            _ => {}
        }
        let audience = Some(self.audience).filter(|audience| *audience != self.issuer);
        Ok(Granted {
            tokens,
            issuer: self.issuer,
            audience,
            resource: self.resource,
            token_endpoint: self.token_endpoint,
            auth_methods: self.auth_methods,
            registration: self.registration,
            requested: self.requested,
            binding: self.binding,
        })
    }
}

impl Granted {
    /// How it was got.
    pub(crate) fn terms(&self) -> Terms {
        let Self { tokens: _, issuer, audience, .. } = self;
        Terms {
            issuer: issuer.clone(),
            audience: audience.as_ref().unwrap_or(issuer).clone(),
            resource: self.resource.clone(),
            token_endpoint: self.token_endpoint.clone(),
            auth_methods: self.auth_methods.clone(),
            registration: self.registration.clone(),
            requested: self.requested.clone(),
            binding: self.binding.clone(),
        }
    }
}
