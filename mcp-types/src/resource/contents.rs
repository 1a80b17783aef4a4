//! What is in a resource.

use serde::{Deserialize, Serialize};

use crate::setters::setters;
use crate::{Base64, Meta};

/// What is in a resource, or in a part of one. Schemas `TextResourceContents` and
/// `BlobResourceContents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "ContentsWire")]
pub struct ResourceContents {
    /// The resource these are the contents of.
    pub uri: String,
    /// Their media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The contents themselves: the member `text` or `blob`.
    #[serde(flatten)]
    pub body: ResourceBody,
    /// What travels beside them.
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// The contents of a resource, as text or as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Base64),
}

impl ResourceContents {
    /// The text of the resource at `uri`.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(uri, ResourceBody::Text(text.into()))
    }

    /// The bytes of the resource at `uri`.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Base64>) -> Self {
        Self::new(uri, ResourceBody::Blob(bytes.into()))
    }

    fn new(uri: impl Into<String>, body: ResourceBody) -> Self {
        Self { uri: uri.into(), mime_type: None, body, meta: Meta::default() }
    }

    /// The text, if it is that.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => None,
        }
    }
}

setters! { ResourceContents {
    /// Sets their media type.
    mime_type: String,
} }

/// How contents are read: two members exclude each other, which no derived form says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentsWire {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<Base64>,
    #[serde(rename = "_meta", default)]
    meta: Meta,
}

impl TryFrom<ContentsWire> for ResourceContents {
    type Error = &'static str;

    fn try_from(wire: ContentsWire) -> Result<Self, Self::Error> {
        let ContentsWire { uri, mime_type, text, blob, meta } = wire;
        let body = match (text, blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Blob(blob),
            (None, None) => return Err("resource contents need `text` or `blob`"),
            (Some(_), Some(_)) => return Err("resource contents have both `text` and `blob`"),
        };
        Ok(Self { uri, mime_type, body, meta })
    }
}
