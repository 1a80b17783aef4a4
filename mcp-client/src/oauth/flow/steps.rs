//! From a server to a page where users sign in.

use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, Scopes};

use super::pending::Pending;
use crate::oauth::discovery::{AuthorizationServerMetadata, find_issuer, find_resource};
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::http::Fetcher;
use crate::oauth::identity::Identity;
use crate::oauth::registration::{Registration, Request, Way};
use crate::oauth::scopes::{OFFLINE, challenged, select};
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
        Ok(Discovered { fetcher: self.clone(), metadata, challenged: challenged(challenges) })
    }
}

/// The metadata of the server, which is about this server.
#[derive(Clone, Debug)]
pub struct Discovered {
    fetcher: Fetcher,
    metadata: ProtectedResourceMetadata,
    challenged: Scopes,
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
    /// When it is one of another issuer, or has expired.
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
        Ok(Registered { issuer: self, registration })
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
}

impl Registered {
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
        let Identified { resource, issuer, metadata } = &self.issuer;
        self.issuer.check_pkce()?;
        check_redirect(redirect_uri)?;
        if !self.registration.allows(redirect_uri) {
            let text = format!("{:?} is not registered with the issuer", shown(redirect_uri));
            return Err(OAuthError::new(Kind::Usage, text));
        }
        let page = self
            .issuer
            .endpoint("authorization_endpoint", metadata.authorization_endpoint.as_deref())?;
        let token_endpoint =
            self.issuer.endpoint("token_endpoint", metadata.token_endpoint.as_deref())?;
        let start = Start {
            page,
            issuer,
            metadata,
            token_endpoint,
            resource: &resource.metadata.resource,
            registration: &self.registration,
            redirect_uri,
            scopes: self.issuer.scopes(wanted),
        };
        Pending::start(&start)
    }
}

/// What a sign-in begins with.
pub(super) struct Start<'a> {
    pub(super) page: &'a str,
    pub(super) issuer: &'a str,
    pub(super) metadata: &'a AuthorizationServerMetadata,
    pub(super) token_endpoint: &'a str,
    pub(super) resource: &'a str,
    pub(super) registration: &'a Registration,
    pub(super) redirect_uri: &'a str,
    pub(super) scopes: Scopes,
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
