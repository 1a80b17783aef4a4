//! `Registration`: the client's identity with one authorization server, and how it comes by one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_transport::auth::Scopes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client_id::{AuthMethod, ClientId};
use super::discovery::AuthorizationServerMetadata;
use super::error::{Kind, OAuthError, ProviderError};
use super::http::{Fetched, Fetcher, told};
use super::identity::{ClientMetadata, Identity};
use super::secret::Secret;
use super::token::unix_time;
use super::url::{Url, shown};

/// The client's identity with one authorization server. It is never shown to another.
///
/// Serialised it shows its secret: whoever stores it protects the store. Specification: Client Registration,
/// Authorization Server Binding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Registration {
    /// Who knows the client by it, as the metadata of the resource names them.
    pub issuer: String,
    /// Who the client is there.
    pub client: ClientId,
    /// Where users may be sent back to, where that was registered. Empty where it was settled elsewhere.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// How the client came by it.
    pub kind: RegistrationKind,
    /// When the secret expires, where the authorization server said so.
    #[serde(default, with = "unix_time", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<SystemTime>,
}

/// How a client came by its identity. Specification: Client Registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RegistrationKind {
    /// The application knows it from the authorization server's owner.
    Preregistered,
    /// It is the URL of a document about the client.
    MetadataDocument,
    /// The authorization server gave it when asked.
    Dynamic,
}

impl Registration {
    /// Whether it is still good, as far as is known.
    pub(crate) fn is_current(&self) -> bool {
        self.expires_at.is_none_or(|at| SystemTime::now() < at)
    }

    /// Whether users may be sent back there.
    pub(crate) fn allows(&self, redirect_uri: &str) -> bool {
        self.redirect_uris.is_empty() || self.redirect_uris.iter().any(|uri| uri == redirect_uri)
    }
}

/// The way to an identity with an issuer.
#[derive(Debug)]
pub(crate) enum Way<'a> {
    /// There is one, without asking.
    Known(Registration),
    /// By asking there, with this to be told.
    Register(&'a str, &'a ClientMetadata),
}

impl Identity {
    /// Whether the owner of `issuer` gave the application an identity.
    pub(crate) fn registered_with(&self, issuer: &str) -> Option<Registration> {
        let (_, client) = self.registered.iter().find(|(known, _)| known == issuer)?;
        Some(known(issuer, client.clone(), RegistrationKind::Preregistered))
    }

    /// How to come by an identity with `issuer`. Specification: Client Registration.
    ///
    /// # Errors
    /// When there is no way.
    pub(crate) fn way<'a>(
        &'a self,
        issuer: &str,
        metadata: &'a AuthorizationServerMetadata,
    ) -> Result<Way<'a>, OAuthError> {
        if let Some(registration) = self.registered_with(issuer) {
            return Ok(Way::Known(registration));
        }
        if let Some(document) = &self.document
            && metadata.client_id_metadata_document_supported
        {
            check_document(document)?;
            let client = ClientId::public(document);
            return Ok(Way::Known(known(issuer, client, RegistrationKind::MetadataDocument)));
        }
        match (&metadata.registration_endpoint, &self.dynamic) {
            (Some(endpoint), Some(dynamic)) => Ok(Way::Register(endpoint, dynamic)),
            _ => Err(self.no_way(issuer, metadata)),
        }
    }

    fn no_way(&self, issuer: &str, metadata: &AuthorizationServerMetadata) -> OAuthError {
        let others = self.registered.iter().map(|(issuer, _)| format!("{:?}", shown(issuer)));
        let others = others.collect::<Vec<_>>().join(", ");
        let mut text = format!("the client has no identity with {:?}", shown(issuer));
        if !others.is_empty() {
            text += &format!(", but with {others}");
        }
        if self.document.is_some() {
            text += "; it does not know documents of clients";
        }
        text += match (&metadata.registration_endpoint, &self.dynamic) {
            (None, _) => "; it registers none by itself, so its owner has to",
            _ => "; it would register one, if it was told what to say (`dynamic`)",
        };
        OAuthError::new(Kind::Registration, text)
    }
}

fn known(issuer: &str, client: ClientId, kind: RegistrationKind) -> Registration {
    let issuer = issuer.to_owned();
    Registration { issuer, client, redirect_uris: Vec::new(), kind, expires_at: None }
}

fn check_document(url: &str) -> Result<(), OAuthError> {
    let parsed = Url::parse(url);
    if parsed.is_ok_and(|parsed| parsed.is_https() && parsed.has_path()) {
        return Ok(());
    }
    let text = format!("{:?} is no URL of a client's document: https:// and a path", shown(url));
    Err(OAuthError::new(Kind::Usage, text))
}

/// What a client is registered with.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) client: &'a ClientMetadata,
    pub(crate) redirect_uris: &'a [String],
    pub(crate) scopes: &'a Scopes,
}

impl Request<'_> {
    /// Registers the client with an issuer. Some of them give no scope that was not registered, and some let none be
    /// registered that is not their own: where metadata is refused it is tried once more without. RFC 7591,
    /// section 3.
    ///
    /// # Errors
    /// When it says no, or answers with something else.
    pub(crate) async fn send(
        self,
        fetcher: &Fetcher,
        issuer: &str,
        metadata: &AuthorizationServerMetadata,
        endpoint: &str,
    ) -> Result<Registration, OAuthError> {
        let mut told = self.told(metadata);
        let fetched = fetcher.post_json(endpoint, &told).await?;
        let answer = read(&fetched, issuer, self.redirect_uris);
        let is_refused = |error: &OAuthError| error.code() == Some("invalid_client_metadata");
        if self.scopes.is_empty() || !answer.as_ref().is_err_and(is_refused) {
            return answer;
        }
        if let Some(told) = told.as_object_mut() {
            told.remove("scope");
        }
        let fetched = fetcher.post_json(endpoint, &told).await?;
        read(&fetched, issuer, self.redirect_uris)
    }
}

/// Understands an answer.
fn read(
    fetched: &Fetched,
    issuer: &str,
    redirect_uris: &[String],
) -> Result<Registration, OAuthError> {
    let answer: Option<Answer> = serde_json::from_slice(&fetched.body).ok();
    let what = "the client cannot be registered";
    match answer {
        Some(Answer { error: Some(code), error_description, .. }) => {
            let provider = ProviderError::new(&code, error_description.as_deref(), None);
            Err(OAuthError::by_provider(Kind::Registration, what, provider))
        }
        Some(Answer { client_id: Some(id), client_secret, method, secret_expires_at, .. })
            if fetched.status.is_success() =>
        {
            let method = method.as_deref().map(|name| method_of(name, what)).transpose()?;
            let expires_at = secret_expires_at.filter(|at| client_secret.is_some() && *at > 0);
            Ok(Registration {
                issuer: issuer.to_owned(),
                client: ClientId { id, secret: client_secret, method, key: None },
                redirect_uris: redirect_uris.to_vec(),
                kind: RegistrationKind::Dynamic,
                expires_at: expires_at
                    .and_then(|at| UNIX_EPOCH.checked_add(Duration::from_secs(at))),
            })
        }
        _ if fetched.may_pass() => {
            Err(OAuthError::new(Kind::Exchange, format!("{what}: {}", told(fetched))))
        }
        // What came may be a secret.
        Some(_) if fetched.status.is_success() => {
            Err(OAuthError::new(Kind::Protocol, format!("{what}: the answer has no client_id")))
        }
        _ => Err(OAuthError::new(Kind::Registration, format!("{what}: {}", told(fetched)))),
    }
}

fn method_of(name: &str, what: &str) -> Result<AuthMethod, OAuthError> {
    let unknown = || {
        let name = crate::error::excerpt(name.as_bytes());
        let text = format!("{what}: it would have to prove who it is by {name:?}");
        OAuthError::new(Kind::Registration, text)
    };
    // It has no key that the authorization server could know.
    let known = AuthMethod::parse(name).filter(|method| *method != AuthMethod::PrivateKeyJwt);
    known.ok_or_else(unknown)
}

impl Request<'_> {
    /// What is told of the client.
    fn told(self, metadata: &AuthorizationServerMetadata) -> Value {
        let Self { client, redirect_uris, scopes } = self;
        let grants = metadata.grant_types_supported.as_deref();
        let refreshes = grants.is_none_or(|grants| grants.iter().any(|grant| grant == REFRESH));
        let grants = ["authorization_code", REFRESH];
        let grants = if refreshes { &grants[..] } else { &grants[..1] };
        let is_web = client.is_web.unwrap_or_else(|| are_of_site(redirect_uris));
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
        let mut out = json!({
            "client_name": client.name,
            "application_type": if is_web { "web" } else { "native" },
            "redirect_uris": redirect_uris,
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": AuthMethod::to_register(methods).as_str(),
        });
        if let Some(told) = out.as_object_mut() {
            if !scopes.is_empty() {
                told.insert("scope".to_owned(), scopes.to_string().into());
            }
            told.extend(client.other.clone());
        }
        out
    }
}

/// Whether users are sent back to a site, rather than to their own machine.
fn are_of_site(redirect_uris: &[String]) -> bool {
    let is_site = |url: Url<'_>| url.is_https() && !url.host().is_loopback();
    !redirect_uris.is_empty() && redirect_uris.iter().all(|uri| Url::parse(uri).is_ok_and(is_site))
}

const REFRESH: &str = "refresh_token";

#[derive(Deserialize)]
struct Answer {
    client_id: Option<String>,
    client_secret: Option<Secret>,
    #[serde(rename = "token_endpoint_auth_method")]
    method: Option<String>,
    #[serde(default, rename = "client_secret_expires_at", deserialize_with = "seconds")]
    secret_expires_at: Option<u64>,
    error: Option<String>,
    error_description: Option<String>,
}

/// Numbers of any kind; anything else is none.
fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(super::token::seconds(&Value::deserialize(deserializer)?))
}
