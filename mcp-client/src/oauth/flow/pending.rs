//! From the page where a user signs in to tokens.

use mcp_transport::auth::Scopes;
use serde::{Deserialize, Serialize};

use super::redirect::AuthorizationUrl;
use super::steps::Start;
use crate::error::excerpt;
use crate::oauth::error::{Kind, OAuthError, ProviderError};
use crate::oauth::form;
use crate::oauth::grant::Granted;
use crate::oauth::http::Fetcher;
use crate::oauth::pkce::{challenge, random};
use crate::oauth::scopes::OFFLINE;
use crate::oauth::secret::Secret;
use crate::oauth::terms::Terms;
use crate::oauth::url::shown;

/// A user who is signing in.
///
/// It can be stored, and taken up again in another process, where the user comes back: by the
/// [`state`](AuthorizationUrl::state). Serialised it shows its secrets: store it where nobody else can read or write, and
/// take it out once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    url: AuthorizationUrl,
    verifier: Secret,
    redirect_uri: String,
    /// Those who answer said that they always say who they are.
    says_iss: bool,
    terms: Terms,
}

impl Pending {
    pub(super) fn start(start: Start<'_>) -> Result<Self, OAuthError> {
        let Start { page, redirect_uri, says_iss, parameters, terms } = start;
        let (state, verifier) = (random()?, random()?);
        let challenge = challenge(&verifier);
        let thumbprint = terms.binding.as_ref().map(|binding| binding.key.thumbprint());
        let mut params = vec![
            ("response_type", "code"),
            ("client_id", terms.registration.client.id()),
            ("redirect_uri", redirect_uri),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &terms.resource),
        ];
        if !terms.requested.is_empty() {
            params.push(("scope", &terms.requested));
        }
        if let Some(thumbprint) = &thumbprint {
            params.push(("dpop_jkt", thumbprint));
        }
        if Scopes::parse(&terms.requested).contains(OFFLINE) && !parameters.has("prompt") {
            // Without it the scope has to be passed over. OpenID Connect Core 1.0, section 11.
            params.push(("prompt", "consent"));
        }
        params.extend(parameters.iter());
        let url = form::with_params(page, params);
        Ok(Self {
            url: AuthorizationUrl::new(url, state),
            verifier: Secret::new(verifier),
            redirect_uri: redirect_uri.to_owned(),
            says_iss,
            terms,
        })
    }

    /// Where to send the user.
    pub const fn url(&self) -> &AuthorizationUrl {
        &self.url
    }

    /// Where the user comes back to.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// The scopes that are asked for.
    pub fn requested(&self) -> Scopes {
        Scopes::parse(&self.terms.requested)
    }

    /// Checks what the user came back with: `redirect` is the URL, or its query alone. It must belong to this sign-in and
    /// come from this issuer; before that is sure, nothing that it says is looked at. Specification: Authorization
    /// Response Validation; RFC 9207, section 2.4.
    ///
    /// # Errors
    /// When it does not; or what the issuer says in place of a code, such as that the user said no.
    pub fn receive(self, redirect: &str) -> Result<Received, OAuthError> {
        let params = form::decode(query_of(redirect, &self.redirect_uri));
        let mismatch = |text: String| Err(OAuthError::new(Kind::Mismatch, text));
        let state = one(&params, "state")?;
        if state != Some(self.url.state()) {
            return mismatch(
                "the answer belongs to another sign-in: its state is not this one's".into(),
            );
        }
        match one(&params, "iss")? {
            Some(iss) if iss != self.terms.audience => {
                return mismatch(format!(
                    "the answer comes from {:?}, where {:?} was asked",
                    excerpt(iss.as_bytes()),
                    shown(&self.terms.audience)
                ));
            }
            None if self.says_iss => {
                return mismatch(format!(
                    "the answer does not say that it comes from {:?}, which says so always",
                    shown(&self.terms.audience)
                ));
            }
            _ => {}
        }
        if let Some(code) = one(&params, "error")? {
            let description = one(&params, "error_description")?;
            let provider = ProviderError::new(code, description, one(&params, "error_uri")?);
            return Err(OAuthError::by_provider(Kind::Provider, "the sign-in failed", provider));
        }
        match one(&params, "code")? {
            Some(code) if !code.is_empty() => Ok(Received { code: code.into(), pending: self }),
            _ => Err(OAuthError::new(Kind::Protocol, "the answer to the sign-in has no code")),
        }
    }
}

/// A user who has signed in, with the issuer that was asked.
#[derive(Clone, Debug)]
pub struct Received {
    pending: Pending,
    code: Secret,
}

impl Received {
    /// Turns the code into tokens, at the issuer that gave it. It is good for one time. Cancelling it may lose the tokens.
    ///
    /// # Errors
    /// When the issuer gives none.
    pub async fn redeem(self, fetcher: &Fetcher) -> Result<Granted, OAuthError> {
        let Pending { verifier, redirect_uri, terms, .. } = self.pending;
        let params = [
            ("grant_type", "authorization_code"),
            ("code", self.code.expose()),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", verifier.expose()),
        ];
        terms.ask(fetcher, &params).await
    }
}

/// The query of what the user came back with, which may be that alone.
fn query_of<'a>(redirect: &'a str, redirect_uri: &str) -> &'a str {
    let redirect = redirect.trim().split('#').next().unwrap_or_default();
    let is_url = redirect.starts_with(redirect_uri)
        || redirect.starts_with('/')
        || redirect.split(['?', '=']).next().is_some_and(|start| start.contains("://"));
    if is_url {
        return redirect.split_once('?').map_or("", |(_, query)| query);
    }
    redirect.strip_prefix('?').unwrap_or(redirect)
}

/// The value of a parameter. One that is there twice could be read in two ways.
fn one<'a>(params: &'a [(String, String)], name: &str) -> Result<Option<&'a str>, OAuthError> {
    let mut found = params.iter().filter(|(found, _)| found == name);
    let value = found.next().map(|(_, value)| &**value);
    match found.next() {
        None => Ok(value),
        Some(_) => {
            let text = format!("the answer to the sign-in has two parameters {name:?}");
            Err(OAuthError::new(Kind::Mismatch, text))
        }
    }
}
