//! `Registration`: the client's identity with one authorization server, and how it comes by one.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::client_id::ClientId;
use super::token::unix_time;

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
