//! Asking the user. Specification: Elicitation.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};

use super::ElicitationSchema;
use crate::tagged::{Tagged, deserialize_tagged};
use crate::{RawJson, raw};

/// How the user is asked. Schema `ElicitRequestParams`.
///
/// A form may come without `mode`; it is always written with one.
// Only writing is derived; reading goes the way of all tagged objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitParams {
    /// By a form that the client shows.
    Form(ElicitFormParams),
    /// By a web page that the user visits.
    Url(ElicitUrlParams),
}

impl Tagged for ElicitParams {
    const TAG: &'static str = "mode";
    const DEFAULT: Option<&'static str> = Some("form");

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        match tag {
            "form" => ElicitFormParams::deserialize(members).map(Self::Form),
            "url" => ElicitUrlParams::deserialize(members).map(Self::Url),
            other => Err(D::Error::unknown_variant(other, &["form", "url"])),
        }
    }
}

deserialize_tagged!(ElicitParams);

impl From<ElicitFormParams> for ElicitParams {
    fn from(params: ElicitFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitUrlParams> for ElicitParams {
    fn from(params: ElicitUrlParams) -> Self {
        Self::Url(params)
    }
}

/// A form for the user. Nothing secret may be asked for this way. Schema `ElicitRequestFormParams`,
/// without its `mode`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitFormParams {
    /// What is asked and why, for the user.
    pub message: String,
    /// The fields of the form.
    pub requested_schema: ElicitationSchema,
}

/// A web page for the user. Schema `ElicitRequestURLParams`, without its `mode`.
///
/// The client shows the whole address and opens it only when the user agrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitUrlParams {
    /// Why the user should go there.
    pub message: String,
    /// The address.
    pub url: String,
}

/// What the user did. Schema `ElicitResult`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitResult {
    /// Whether the user agreed.
    pub action: ElicitAction,
    /// What was filled in, a JSON object; only where a form was accepted.
    #[serde(default, deserialize_with = "content", skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson>,
}

impl ElicitResult {
    /// The user agreed and filled in `content`, which must be an object in JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn accept<T: Serialize + ?Sized>(content: &T) -> serde_json::Result<Self> {
        let content = RawJson::new(content)?;
        if !content.is_object() {
            return Err(serde_json::Error::custom("the content of a form must be an object"));
        }
        Ok(Self { action: ElicitAction::Accept, content: Some(content) })
    }

    /// The user did `action` and filled in nothing.
    pub const fn of(action: ElicitAction) -> Self {
        Self { action, content: None }
    }

    /// What was filled in, decoded; absent is read as `{}`.
    ///
    /// # Errors
    /// When it is no `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match &self.content {
            Some(content) => content.decode(),
            None => serde_json::from_str("{}"),
        }
    }
}

fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    raw::object(deserializer, "content").map(Some)
}

/// What the user did when asked. Schema `ElicitResult`, `action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it")]
pub enum ElicitAction {
    /// Agreed: sent the form, or went to the page.
    Accept,
    /// Said no.
    Decline,
    /// Turned away without a choice.
    Cancel,
}
