//! `Access`: what a token is good for, and whose it is.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use http::{HeaderName, HeaderValue};
use mcp_transport::auth::Scopes;
use mcp_types::JsonMap;
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::context::Context;
use crate::handler::{FromContext, HandlerError};

/// What a verified token says. A cheap clone, without the token.
///
/// Handlers take `Access`, or `Option<Access>` where [anonymous](super::ResourceServer::optional) callers are let in;
/// layers and visibility filters find it among the extensions of the request. Its `Debug` form shows scopes and
/// expiry, not who it is or what else was claimed.
///
/// ```
/// use mcp_server::auth::Access;
///
/// async fn whoami(access: Access) -> String {
///     let email: Option<String> = access.claim("email");
///     email.unwrap_or_else(|| access.subject().to_owned())
/// }
/// # mcp_server::Tool::new("whoami", whoami);
/// ```
#[derive(Clone)]
pub struct Access(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    caller: Caller,
    issuer: Box<str>,
    subject: Box<str>,
    client_id: Option<Box<str>>,
    scopes: Scopes,
    expires_at: Option<SystemTime>,
    claims: JsonMap,
    key: Option<Box<str>>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Access {
    /// The access of `subject`, as `issuer` names it. A token that stands for no person has its client as the subject.
    ///
    /// Both together are the [`Caller`]: what two issuers call by the same name are two callers.
    pub fn new(issuer: &str, subject: &str) -> Self {
        // No issuer has a space in it, so that this can be read in one way only. RFC 8414, section 2.
        let principal = match issuer.contains([' ', '%']) {
            false => format!("{issuer} {subject}"),
            true => format!("{} {subject}", issuer.replace('%', "%25").replace(' ', "%20")),
        };
        Self(Arc::new(Inner {
            caller: Caller::new(principal),
            issuer: issuer.into(),
            subject: subject.into(),
            client_id: None,
            scopes: Scopes::default(),
            expires_at: None,
            claims: JsonMap::new(),
            key: None,
            headers: Vec::new(),
        }))
    }

    /// The client that the token was issued to.
    #[must_use]
    pub fn with_client_id(mut self, id: &str) -> Self {
        self.inner().client_id = Some(id.into());
        self
    }

    /// The scopes that were granted. Default is none.
    #[must_use]
    pub fn with_scopes<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.inner().scopes = scopes.into_iter().collect();
        self
    }

    /// From when on the token is not taken any more, whatever leeway the verifier grants included. Default is never.
    #[must_use]
    pub fn with_expiry(mut self, at: SystemTime) -> Self {
        self.inner().expires_at = Some(at);
        self
    }

    /// Everything that the token, or whoever was asked about it, claims.
    #[must_use]
    pub fn with_claims(mut self, claims: JsonMap) -> Self {
        self.inner().claims = claims;
        self
    }

    /// The thumbprint of the key that the token is bound to, the member `jkt` of its claim `cnf`. RFC 9449, section 6.
    #[must_use]
    pub fn with_key(mut self, thumbprint: &str) -> Self {
        self.inner().key = Some(thumbprint.into());
        self
    }

    /// A header field for the response to this request, such as the `DPoP-Nonce` for the next one.
    #[must_use]
    pub fn with_response_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.inner().headers.push((name, value));
        self
    }

    /// Who it is, as rate limits, states and subscriptions tell callers apart: issuer and subject together.
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// Who issued the token.
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Whom the issuer says it stands for. Only together with the issuer does it name anybody.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// The client that the token was issued to, where that is known.
    pub fn client_id(&self) -> Option<&str> {
        self.0.client_id.as_deref()
    }

    /// The scopes that were granted, as they were: without those that they [imply](super::ResourceServer::implies).
    pub fn scopes(&self) -> &Scopes {
        &self.0.scopes
    }

    /// From when on the token is not taken any more.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.0.expires_at
    }

    /// Everything that was claimed.
    pub fn claims(&self) -> &JsonMap {
        &self.0.claims
    }

    /// The claim `name`; `None` if it is not there or is no `T`.
    pub fn claim<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.0.claims.get(name)?.decode().ok()
    }

    /// The thumbprint of the key that the token is bound to.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// What the verifier wants to have in the head of the response; a [service](crate::McpService) adds it by itself.
    pub fn response_headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0.headers
    }

    fn inner(&mut self) -> &mut Inner {
        Arc::make_mut(&mut self.0)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("scopes", &self.0.scopes)
            .field("expires_at", &self.0.expires_at)
            .finish_non_exhaustive()
    }
}

/// Fails the call where nobody was authenticated.
impl FromContext for Access {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        let access = context.extensions().get::<Self>().cloned();
        access.ok_or_else(|| HandlerError::new("This needs an authenticated caller"))
    }
}

impl FromContext for Option<Access> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.extensions().get::<Access>().cloned())
    }
}
