//! Content: what tools return and prompts are made of, for people and models to take in.

use serde::{Deserialize, Deserializer, Serialize};

use crate::setters::setters;
use crate::tagged::{Tagged, deserialize_tagged};
use crate::{Annotations, Base64, JsonMap, Meta, Resource, ResourceContents};

/// One piece of content. Schema `ContentBlock`.
///
/// A piece of a type that is not known here is kept as [`Other`](Self::Other), so that the rest of a
/// result can still be shown.
// Only writing is derived: derived reading would not get raw JSON through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound.
    Audio(AudioContent),
    /// A resource to be read from the server. Schema `ResourceLink`.
    ResourceLink(Box<Resource>),
    /// The contents of a resource.
    Resource(EmbeddedResource),
    /// A type that the revision does not know.
    #[serde(untagged)]
    Other(OtherContent),
}

impl ContentBlock {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture, given its bytes and media type.
    pub fn image(data: impl Into<Base64>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// Sound, given its bytes and media type.
    pub fn audio(data: impl Into<Base64>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// A resource to be read from the server.
    pub fn resource_link(resource: Resource) -> Self {
        Self::ResourceLink(Box::new(resource))
    }

    /// The contents of a resource.
    pub fn resource(contents: ResourceContents) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// The text, if it is that.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<TextContent> for ContentBlock {
    fn from(content: TextContent) -> Self {
        Self::Text(content)
    }
}

impl From<ImageContent> for ContentBlock {
    fn from(content: ImageContent) -> Self {
        Self::Image(content)
    }
}

impl From<AudioContent> for ContentBlock {
    fn from(content: AudioContent) -> Self {
        Self::Audio(content)
    }
}

impl From<EmbeddedResource> for ContentBlock {
    fn from(content: EmbeddedResource) -> Self {
        Self::Resource(content)
    }
}

impl Tagged for ContentBlock {
    const TAG: &'static str = "type";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        Ok(match tag {
            "text" => Self::Text(TextContent::deserialize(members)?),
            "image" => Self::Image(ImageContent::deserialize(members)?),
            "audio" => Self::Audio(AudioContent::deserialize(members)?),
            "resource_link" => Self::ResourceLink(Box::deserialize(members)?),
            "resource" => Self::Resource(EmbeddedResource::deserialize(members)?),
            other => Self::Other(OtherContent::read(other, members)?),
        })
    }
}

deserialize_tagged!(ContentBlock);

/// Text to or from a model. Schema `TextContent`, without its `type`, which [`ContentBlock`] adds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Whom it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl TextContent {
    /// The text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A picture to or from a model. Schema `ImageContent`, without its `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The bytes of the file.
    pub data: Base64,
    /// Its media type.
    pub mime_type: String,
    /// Whom it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl ImageContent {
    /// A picture, given its bytes and media type.
    pub fn new(data: impl Into<Base64>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

/// Sound to or from a model. Schema `AudioContent`, without its `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioContent {
    /// The bytes of the file.
    pub data: Base64,
    /// Its media type.
    pub mime_type: String,
    /// Whom it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl AudioContent {
    /// Sound, given its bytes and media type.
    pub fn new(data: impl Into<Base64>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

/// The contents of a resource inside a result or prompt. Schema `EmbeddedResource`, without its `type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    /// The contents, with the URI they are of.
    pub resource: ResourceContents,
    /// Whom it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl EmbeddedResource {
    /// The contents of a resource.
    pub fn new(resource: ResourceContents) -> Self {
        Self { resource, annotations: None, meta: Meta::default() }
    }
}

macro_rules! annotated {
    ($($name:ident),+) => {$(
        setters! { $name {
            /// Sets whom it is for and how much it matters.
            annotations: Annotations,
        } }
    )+};
}
annotated!(TextContent, ImageContent, AudioContent, EmbeddedResource);

/// Content of a type that is not known here, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherContent {
    /// What its member `type` says.
    pub kind: String,
    /// Its other members.
    pub members: JsonMap,
}

impl OtherContent {
    pub(crate) fn read<'de, D: Deserializer<'de>>(
        kind: &str,
        members: D,
    ) -> Result<Self, D::Error> {
        Ok(Self { kind: kind.to_owned(), members: JsonMap::deserialize(members)? })
    }
}

impl Serialize for OtherContent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(self.members.len() + 1))?;
        map.serialize_entry("type", &self.kind)?;
        for (key, value) in self.members.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> ContentBlock {
        let block: ContentBlock = serde_json::from_str(text).unwrap();
        let written: serde_json::Value = serde_json::to_value(&block).unwrap();
        assert_eq!(written, serde_json::from_str::<serde_json::Value>(text).unwrap());
        block
    }

    #[test]
    fn the_type_may_stand_anywhere() {
        let expected = ContentBlock::text("x");
        assert_eq!(round(r#"{"type":"text","text":"x"}"#), expected);
        assert_eq!(round(r#"{"text":"x","type":"text"}"#), expected);
        let mut block = round(r#"{"_meta":{"a":{"n": 50}},"type":"text","text":"x"}"#);
        if let ContentBlock::Text(content) = &mut block {
            assert_eq!(content.meta.other.get("a").unwrap().get(), r#"{"n": 50}"#);
            content.meta = Meta::default();
        }
        assert_eq!(block, expected);
    }

    #[test]
    fn every_type_is_told_apart() {
        let table = [
            r#"{"type":"image","data":"Zg==","mimeType":"image/png","annotations":{"priority":1}}"#,
            r#"{"type":"audio","data":"Zg==","mimeType":"audio/wav"}"#,
            r#"{"type":"resource_link","uri":"a:b","name":"n","size":3,"_meta":{"k":[1.50]}}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","blob":"Zg==","mimeType":"x/y"}}"#,
        ];
        for text in table {
            assert!(!matches!(round(text), ContentBlock::Other(_)), "{text}");
        }
    }

    #[test]
    fn an_unknown_type_is_kept_whole() {
        for text in
            [r#"{"type":"video","data":7,"text":null}"#, r#"{"data":7,"text":[1],"type":"video"}"#]
        {
            let ContentBlock::Other(other) = round(text) else { panic!("{text}") };
            assert_eq!(other.kind, "video");
            assert_eq!(other.members.len(), 2);
        }
    }

    #[test]
    fn what_is_no_content_is_refused() {
        for text in [
            "{}",
            r#"{"text":"x"}"#,
            r#"{"type":7,"text":"x"}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"text","text":7}"#,
            r#"{"type":"text","text":"x","text":"y"}"#,
            r#"{"text":"x","text":"y","type":"text"}"#,
            r#"{"text":"x","type":"text","type":"image"}"#,
            r#"{"type":"image","data":"not base64!","mimeType":"a/b"}"#,
            r#"{"type":"resource","resource":{"uri":"a:b"}}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","text":"t","blob":"Zg=="}}"#,
            r#"["text","x"]"#,
            r#""text""#,
        ] {
            assert!(serde_json::from_str::<ContentBlock>(text).is_err(), "{text}");
        }
    }
}
