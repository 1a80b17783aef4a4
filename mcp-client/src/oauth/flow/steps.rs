//! From a server to a page where users sign in.

use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, Scopes};
use mcp_transport::jose::Algorithm;

use super::pending::Pending;
use crate::error::excerpt;
use crate::oauth::assertion::ClientKey;
use crate::oauth::discovery::{AuthorizationServerMetadata, find_issuer, find_resource};
use crate::oauth::dpop::{self, Binding, ProofKey};
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::http::Fetcher;
use crate::oauth::identity::Identity;
use crate::oauth::parameters::Parameters;
use crate::oauth::registration::{Registration, Request, Way};
use crate::oauth::scopes::{OFFLINE, challenged, select};
use crate::oauth::terms::Terms;
use crate::oauth::url::{Url, shown};

impl Fetcher {
    /// Finds out who gives tokens for the server. `challenges` are those with which it refused a request, see
    /// [`Challenge::read`]; none is fine. No authorization server is asked yet. Specification: Authorization Server
    /// Location.
    ///
    /// # Errors
    /// When the server does not say, or says it of another resource.
    pub async fn discover(&self, challenges: &[Challenge]) -> Result<Discovered, OAuthError> {
        let metadata = find_resource(self, challenges).await?;
        let is_required = metadata.dpop_bound_access_tokens_required == Some(true);
        Ok(Discovered {
            fetcher: self.clone(),
            challenged: challenged(challenges),
            wants_bound: is_required || dpop::is_offered(challenges),
            needs_bound: is_required || dpop::is_required(challenges),
            metadata,
        })
    }
}

/// The metadata of the server, which is about this server.
#[derive(Clone, Debug)]
pub struct Discovered {
    fetcher: Fetcher,
    metadata: ProtectedResourceMetadata,
    challenged: Scopes,
    /// The server takes tokens that are bound to a key.
    wants_bound: bool,
    /// It takes no others.
    needs_bound: bool,
}

impl Discovered {
    /// The metadata.
    pub const fn metadata(&self) -> &ProtectedResourceMetadata {
        &self.metadata
    }

    /// Those who give tokens for the server, at least one. Each has its own identities and tokens; which to ask is up to
    /// the client.
    pub fn issuers(&self) -> &[String] {
        &self.metadata.authorization_servers
    }

    /// Asks one of the [`issuers`](Self::issuers) what it can do. Specification: Authorization Server Metadata
    /// Discovery.
    ///
    /// # Errors
    /// When it is none of them, has no metadata, or has that of another.
    pub async fn identify(self, issuer: &str) -> Result<Identified, OAuthError> {
        if !self.issuers().iter().any(|known| known == issuer) {
            let text = format!("{:?} gives no tokens for the server", shown(issuer));
            return Err(OAuthError::new(Kind::Usage, text));
        }
        let metadata = find_issuer(&self.fetcher, issuer).await?;
        Ok(Identified { resource: self, issuer: issuer.to_owned(), metadata })
    }
}

/// An issuer whose metadata is its own.
#[derive(Clone, Debug)]
pub struct Identified {
    resource: Discovered,
    issuer: String,
    metadata: AuthorizationServerMetadata,
}

impl Identified {
    /// The issuer, as the metadata of the resource names it: what identities and tokens are kept by.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// What it can do.
    pub const fn metadata(&self) -> &AuthorizationServerMetadata {
        &self.metadata
    }

    /// Gets the client an identity there, as one that sends users back to `redirect_uris`. Keep what is
    /// [registered](Registered::registration) and bring it [back](Self::with_registration): who registers again
    /// and again is not welcome everywhere. `wanted` are scopes as for [`Registered::sign_in`]. Specification: Client
    /// Registration.
    ///
    /// # Errors
    /// When the application has no identity with the issuer and no way to get one; when the issuer refuses, also for its
    /// redirect URIs. When users cannot sign in there safely, before it is asked.
    pub async fn register(
        self,
        identity: &Identity,
        redirect_uris: &[String],
        wanted: &Scopes,
    ) -> Result<Registered, OAuthError> {
        self.check_pkce()?;
        for uri in redirect_uris {
            check_redirect(uri)?;
        }
        let registration = match identity.way(&self.issuer, &self.metadata)? {
            Way::Known(registration) => registration,
            Way::Register(endpoint, client) => {
                let basic = self.resource.metadata.scopes_supported.iter().flatten();
                let mut scopes = self.scopes(wanted);
                scopes.extend(basic.filter(|scope| *scope != OFFLINE));
                let request = Request { client, redirect_uris, scopes: &scopes };
                let fetcher = &self.resource.fetcher;
                request.send(fetcher, &self.issuer, &self.metadata, endpoint).await?
            }
        };
        self.with_registration(registration)
    }

    /// Takes an identity that the client has there already.
    ///
    /// # Errors
    /// When it is one of another issuer, or has expired; when its key signs by an algorithm that the issuer does not
    /// know.
    pub fn with_registration(self, registration: Registration) -> Result<Registered, OAuthError> {
        if registration.issuer != self.issuer {
            let text = format!(
                "the client's identity is one with {:?}, and not with {:?}",
                shown(&registration.issuer),
                shown(&self.issuer)
            );
            return Err(OAuthError::new(Kind::Mismatch, text));
        }
        if !registration.is_current() {
            let text = format!("the client's identity with {:?} has expired", shown(&self.issuer));
            return Err(OAuthError::new(Kind::Registration, text));
        }
        self.check_key(&registration)?;
        let parameters = Parameters::default();
        Ok(Registered { issuer: self, registration, binds: false, parameters })
    }

    fn check_key(&self, registration: &Registration) -> Result<(), OAuthError> {
        let known = &self.metadata.token_endpoint_auth_signing_alg_values_supported;
        let (Some(ClientKey(key)), Some(known)) = (&registration.client.key, known) else {
            return Ok(());
        };
        let ours = key.algorithm();
        if known.iter().any(|name| Algorithm::from_name(name) == Some(ours)) {
            return Ok(());
        }
        let (known, issuer) = (known.join(", "), shown(&self.issuer));
        let known = excerpt(known.as_bytes());
        let text = format!("the client's key signs by {ours}, and {issuer:?} knows {known}");
        Err(OAuthError::new(Kind::Registration, text))
    }

    fn scopes(&self, wanted: &Scopes) -> Scopes {
        let mut all = wanted.clone();
        all.extend(self.resource.challenged.iter());
        select(&all, &self.resource.metadata, &self.metadata)
    }

    /// A URL of the metadata that is there and may be asked.
    fn endpoint<'a>(&self, name: &str, url: Option<&'a str>) -> Result<&'a str, OAuthError> {
        let missing = || {
            let text = format!("the metadata of {:?} has no {name}", shown(&self.issuer));
            OAuthError::new(Kind::Discovery, text)
        };
        let url = url.ok_or_else(missing)?;
        self.resource.fetcher.guard().check(url)?;
        Ok(url)
    }

    /// Specification: Authorization Code Protection.
    pub(crate) fn check_pkce(&self) -> Result<(), OAuthError> {
        let mut allowed = self.resource.fetcher.policy().missing_pkce.iter();
        if self.metadata.has_pkce() || allowed.any(|issuer| *issuer == self.issuer) {
            return Ok(());
        }
        let text = format!(
            "the metadata of {:?} does not say that it does PKCE by S256, without which a stolen code is good for \
             anybody. If it does, `danger_allow_missing_pkce` lets users sign in",
            shown(&self.issuer)
        );
        Err(OAuthError::new(Kind::Discovery, text))
    }
}

/// A client with an identity.
#[derive(Clone, Debug)]
pub struct Registered {
    issuer: Identified,
    registration: Registration,
    /// The application wants tokens that are bound to a key.
    binds: bool,
    parameters: Parameters,
}

impl Registered {
    /// Gets tokens that are bound to a new key, if the issuer gives such, also for a server that takes any. Without it
    /// that is done for servers that ask for it. RFC 9449.
    #[must_use]
    pub fn bind(self) -> Self {
        Self { binds: true, ..self }
    }

    /// Adds a parameter to the page where users sign in; see
    /// [`OAuth::authorization_parameter`](crate::oauth::OAuth::authorization_parameter).
    ///
    /// # Errors
    /// When it has no name, or is one that the flow itself consists of, such as `scope`.
    pub fn authorization_parameter(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, OAuthError> {
        self.parameters.set(name.into(), value.into())?;
        Ok(self)
    }

    pub(crate) fn with_parameters(self, parameters: Parameters) -> Self {
        Self { parameters, ..self }
    }

    /// The identity, to be kept for the next time.
    pub const fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Makes the page where one user signs in, once, who is sent back to `redirect_uri`. `wanted` are the scopes that
    /// were asked for before, which are not to be lost; those of the challenges are added, and where there are none those
    /// that the metadata of the resource says that basic use needs. Specification: Authorization Flow Steps, Scope
    /// Selection Strategy.
    ///
    /// # Errors
    /// When the issuer has no such page, or none that may be asked, or does no PKCE; when users must not be sent back there.
    pub fn sign_in(&self, redirect_uri: &str, wanted: &Scopes) -> Result<Pending, OAuthError> {
        let metadata = self.issuer.metadata();
        self.issuer.check_pkce()?;
        check_redirect(redirect_uri)?;
        if !self.registration.allows(redirect_uri) {
            let text = format!("{:?} is not registered with the issuer", shown(redirect_uri));
            return Err(OAuthError::new(Kind::Usage, text));
        }
        let page = self
            .issuer
            .endpoint("authorization_endpoint", metadata.authorization_endpoint.as_deref())?;
        let terms = self.terms(&self.issuer.scopes(wanted))?;
        let says_iss = metadata.authorization_response_iss_parameter_supported;
        Pending::start(Start { page, redirect_uri, says_iss, parameters: &self.parameters, terms })
    }

    /// What is asked for where a server needs what these scopes are for, and nobody signs in: there is nobody who could
    /// be offline.
    ///
    /// # Errors
    /// As of [`sign_in`](Self::sign_in), as far as tokens go.
    pub(crate) fn terms_without_user(&self, wanted: &Scopes) -> Result<Terms, OAuthError> {
        let scopes = self.issuer.scopes(wanted);
        self.terms(&scopes.iter().filter(|scope| *scope != OFFLINE).collect())
    }

    fn terms(&self, scopes: &Scopes) -> Result<Terms, OAuthError> {
        let Identified { resource, issuer, metadata } = &self.issuer;
        let endpoint = metadata.token_endpoint.as_deref();
        Ok(Terms {
            issuer: issuer.clone(),
            audience: metadata.issuer.clone(),
            resource: resource.metadata.resource.clone(),
            token_endpoint: self.issuer.endpoint("token_endpoint", endpoint)?.to_owned(),
            auth_methods: metadata.token_endpoint_auth_methods_supported.clone(),
            registration: self.registration.clone(),
            requested: scopes.to_string(),
            binding: self.binding()?,
        })
    }

    /// The key for tokens, where they are to be bound to one. An issuer that says nothing of it is tried if it matters.
    fn binding(&self) -> Result<Option<Binding>, OAuthError> {
        let Identified { resource, issuer, metadata } = &self.issuer;
        if !self.binds && !resource.wants_bound {
            return Ok(None);
        }
        let is_required = resource.needs_bound;
        let knows = |names: &Vec<String>| names.iter().any(|name| name == dpop::ALGORITHM.as_str());
        let issuers = metadata.dpop_signing_alg_values_supported.as_ref().map(knows);
        let servers = resource.metadata.dpop_signing_alg_values_supported.as_ref().map(knows);
        let can = match (issuers, servers) {
            (Some(false), _) | (_, Some(false)) => false,
            (Some(true), _) => true,
            (None, _) => is_required || self.binds,
        };
        if can {
            return Ok(Some(Binding { key: ProofKey::generate()?, is_required }));
        }
        if is_required {
            let (issuer, ours) = (shown(issuer), dpop::ALGORITHM);
            let text = format!(
                "the server takes tokens alone that are bound to a key, and it or {issuer:?} knows no proofs by {ours}"
            );
            return Err(OAuthError::new(Kind::Discovery, text));
        }
        Ok(None)
    }
}

/// What a sign-in begins with.
pub(super) struct Start<'a> {
    pub(super) page: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) says_iss: bool,
    pub(super) parameters: &'a Parameters,
    pub(super) terms: Terms,
}

/// Specification: Communication Security.
fn check_redirect(uri: &str) -> Result<(), OAuthError> {
    if Url::parse(uri).is_ok_and(|url| url.is_https() || url.host().is_loopback()) {
        return Ok(());
    }
    let text =
        format!("users are not sent back to {:?}: it is neither https:// nor here", shown(uri));
    Err(OAuthError::new(Kind::Usage, text))
}
