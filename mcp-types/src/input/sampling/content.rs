//! What is said to a model, and by it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::tagged::{Tagged, deserialize_tagged};
use crate::{
    AudioContent, ContentBlock, ImageContent, Meta, OtherContent, RawJson, TextContent, raw,
};

/// One piece of a message to or from a model. Schema `SamplingMessageContentBlock`. Deprecated by
/// this revision.
///
/// A piece of a type that is not known here is kept as [`Other`](Self::Other).
// Only writing is derived: derived reading would not get raw JSON through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound.
    Audio(AudioContent),
    /// The model wants to use a tool.
    ToolUse(ToolUseContent),
    /// What a tool returned to the model.
    ToolResult(ToolResultContent),
    /// A type that the revision does not know.
    #[serde(untagged)]
    Other(OtherContent),
}

impl SamplingContent {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text, if it is that.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl Tagged for SamplingContent {
    const TAG: &'static str = "type";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        Ok(match tag {
            "text" => Self::Text(TextContent::deserialize(members)?),
            "image" => Self::Image(ImageContent::deserialize(members)?),
            "audio" => Self::Audio(AudioContent::deserialize(members)?),
            "tool_use" => Self::ToolUse(ToolUseContent::deserialize(members)?),
            "tool_result" => Self::ToolResult(ToolResultContent::deserialize(members)?),
            other => Self::Other(OtherContent::read(other, members)?),
        })
    }
}

deserialize_tagged!(SamplingContent);

/// A model's wish to use a tool. Schema `ToolUseContent`, without its `type`. Deprecated by this
/// revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUseContent {
    /// By which the result refers to it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, a JSON object.
    #[serde(deserialize_with = "input")]
    pub input: RawJson,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

fn input<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    raw::object(deserializer, "input")
}

/// What a tool returned to a model. Schema `ToolResultContent`, without its `type`. Deprecated by
/// this revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultContent {
    /// The `id` of the use.
    pub tool_use_id: String,
    /// The result for models.
    pub content: Vec<ContentBlock>,
    /// The result for programs, any JSON value.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed. Absent is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// One value, or an array of them; which of the two it was is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum OneOrMany<T> {
    /// One, by itself.
    One(T),
    /// Any number, in an array.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl From<&str> for OneOrMany<SamplingContent> {
    fn from(text: &str) -> Self {
        Self::One(SamplingContent::text(text))
    }
}

impl<T> From<T> for OneOrMany<T> {
    fn from(value: T) -> Self {
        Self::One(value)
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Many(values)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or an array of objects")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<OneOrMany<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(OneOrMany::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<OneOrMany<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(values)).map(OneOrMany::Many)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}
