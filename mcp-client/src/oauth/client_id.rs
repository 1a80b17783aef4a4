//! `ClientId`: who the client is, to one authorization server.

use mcp_transport::jose::SigningKey;
use serde::{Deserialize, Serialize};

use super::assertion::ClientKey;
use super::secret::Secret;

/// How a client proves to the token endpoint who it is. RFC 7591, section 2, `token_endpoint_auth_method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AuthMethod {
    /// It does not: it has no secret, or sends none.
    #[serde(rename = "none")]
    None,
    /// Its secret in the header `Authorization`.
    #[serde(rename = "client_secret_basic")]
    SecretBasic,
    /// Its secret in the form.
    #[serde(rename = "client_secret_post")]
    SecretPost,
    /// An assertion that its key signs, for each request anew. RFC 7523, section 2.2.
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

impl AuthMethod {
    /// Its name in metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method of this name, if it is one that can be used here.
    pub fn parse(name: &str) -> Option<Self> {
        let known = [Self::None, Self::SecretBasic, Self::SecretPost, Self::PrivateKeyJwt];
        known.into_iter().find(|method| method.as_str() == name)
    }
}

/// Who the client is, to one authorization server.
///
/// Serialised it shows its secret, but not its key: that is for the application to bring at every start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientId {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<AuthMethod>,
    #[serde(skip)]
    pub(crate) key: Option<ClientKey>,
}

impl ClientId {
    /// A client without a secret, as programs are that users install.
    pub fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, method: None, key: None }
    }

    /// A client with a secret, as programs are that run where only their owner can look.
    pub fn confidential(id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self { secret: Some(secret.into()), ..Self::public(id) }
    }

    /// A client that signs what proves who it is: nothing that it sends is worth being stolen. The authorization server
    /// knows the public half of `key`; if that has [an id](SigningKey::with_key_id), by this. RFC 7523, section 2.2.
    pub fn signing(id: impl Into<String>, key: SigningKey) -> Self {
        let method = Some(AuthMethod::PrivateKeyJwt);
        Self { method, key: Some(ClientKey(Box::new(key))), ..Self::public(id) }
    }

    /// How it proves who it is. Default is what the authorization server prefers of what it says it supports:
    /// `client_secret_basic` where it says nothing.
    pub fn auth_method(self, method: AuthMethod) -> Self {
        Self { method: Some(method), ..self }
    }

    /// The identifier.
    pub fn id(&self) -> &str {
        &self.id
    }
}
