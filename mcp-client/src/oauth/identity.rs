//! `Identity`: who the application is, to authorization servers.

use serde_json::{Map, Value};

use super::client_id::ClientId;

/// Who the application is, to authorization servers: what it was given by their owners, and by which ways it may get
/// an identity of others. Each is tried in the order of the specification: what is registered for the issuer, the
/// document, registration. Specification: Client Registration.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Identity {
    pub(crate) registered: Vec<(String, ClientId)>,
    pub(crate) document: Option<String>,
    pub(crate) dynamic: Option<ClientMetadata>,
}

impl Identity {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the owner of `issuer` gave the application. It is shown to this issuer alone, which must be named as the
    /// metadata of servers names it, to the byte.
    pub fn registered(mut self, issuer: impl Into<String>, client: ClientId) -> Self {
        self.registered.push((issuer.into(), client));
        self
    }

    /// The URL of a document about the application, which is its identity with every issuer that supports such
    /// documents. It begins with `https://` and has a path. Specification: Client ID Metadata Documents.
    pub fn document(mut self, url: impl Into<String>) -> Self {
        self.document = Some(url.into());
        self
    }

    /// Registers the application with issuers that let themselves be asked, as `metadata` describes it.
    /// Specification: Dynamic Client Registration.
    pub fn dynamic(mut self, metadata: ClientMetadata) -> Self {
        self.dynamic = Some(metadata);
        self
    }
}

/// What the application tells of itself where it registers. RFC 7591, section 2.
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientMetadata {
    pub(crate) name: String,
    pub(crate) is_web: Option<bool>,
    pub(crate) other: Map<String, Value>,
}

impl ClientMetadata {
    /// Of an application that users know by `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_web: None, other: Map::new() }
    }

    /// Whether it runs at a site of its own, rather than with its user. Default is what its redirect URIs look like:
    /// those of `https://` elsewhere are a site's.
    pub fn web(mut self, is_web: bool) -> Self {
        self.is_web = Some(is_web);
        self
    }

    /// Tells something more, such as `client_uri`, `logo_uri` or `software_id`. What stands here takes the place of what
    /// would be told without it.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.other.insert(name.into(), value.into());
        self
    }
}
