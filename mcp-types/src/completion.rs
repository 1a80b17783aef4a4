//! `completion/complete`: what an argument could be. Specification: Completion.

use serde::{Deserialize, Deserializer, Serialize};

use crate::meta::has_meta;
use crate::tagged::{Tagged, deserialize_tagged};
use crate::{Map, RequestMeta, ResultMeta};

/// The parameters of `completion/complete`. Schema `CompleteRequestParams`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Whose argument it is; `ref` on the wire.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument, as far as it has been typed.
    pub argument: CompletionArgument,
    /// What is known besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
}

impl CompleteParams {
    /// Asks how the argument `name` of `reference` could go on after `value`.
    pub fn new(
        reference: impl Into<CompletionReference>,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let argument = CompletionArgument { name: name.into(), value: value.into() };
        Self { meta: RequestMeta::default(), reference: reference.into(), argument, context: None }
    }
}

/// Whose argument is to be completed. Schema `CompleteRequestParams`, `ref`.
// Only writing is derived; reading goes the way of all tagged objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it")]
pub enum CompletionReference {
    /// A prompt's.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template's.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
}

impl Tagged for CompletionReference {
    const TAG: &'static str = "type";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        match tag {
            "ref/prompt" => PromptReference::deserialize(members).map(Self::Prompt),
            "ref/resource" => ResourceTemplateReference::deserialize(members).map(Self::Resource),
            other => Err(serde::de::Error::unknown_variant(other, &["ref/prompt", "ref/resource"])),
        }
    }
}

deserialize_tagged!(CompletionReference);

impl From<PromptReference> for CompletionReference {
    fn from(reference: PromptReference) -> Self {
        Self::Prompt(reference)
    }
}

impl From<ResourceTemplateReference> for CompletionReference {
    fn from(reference: ResourceTemplateReference) -> Self {
        Self::Resource(reference)
    }
}

/// Names a prompt. Schema `PromptReference`, without its `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptReference {
    /// The prompt's identifier.
    pub name: String,
    /// What to call it before people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// The prompt `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None }
    }
}

/// Names a resource or a resource template. Schema `ResourceTemplateReference`, without its `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceTemplateReference {
    /// The URI or the template.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// The resource or template at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}

/// The argument to complete. Schema `CompleteRequestParams`, `argument`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionArgument {
    /// Its name.
    pub name: String,
    /// What has been typed.
    pub value: String,
}

/// What helps to complete an argument. Schema `CompleteRequestParams`, `context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionContext {
    /// Arguments or template variables that have a value already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
}

/// What `completion/complete` gives. Schema `CompleteResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The suggestions.
    pub completion: Completion,
}

/// What an argument could be. Schema `CompleteResult`, `completion`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// Suggestions, best first; at most [`MAX_VALUES`](Self::MAX_VALUES) may be sent.
    pub values: Vec<String>,
    /// How many there are in all, sent or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl Completion {
    /// How many values one result may hold. Specification: Completion.
    pub const MAX_VALUES: usize = 100;

    /// The first [`MAX_VALUES`](Self::MAX_VALUES) of all `values`, with their count and whether there
    /// are more.
    pub fn of_all<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut rest = values.into_iter();
        let values: Vec<String> = rest.by_ref().take(Self::MAX_VALUES).map(Into::into).collect();
        let left = rest.count();
        let total = u64::try_from(values.len() + left).ok();
        Self { values, total, has_more: Some(left > 0) }
    }
}

has_meta!(RequestMeta: CompleteParams);
has_meta!(ResultMeta: CompleteResult);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_sent() {
        let values = |n: usize| Completion::of_all((0..n).map(|n| n.to_string()));
        assert_eq!(values(100).has_more, Some(false));
        let cut = values(101);
        assert_eq!((cut.values.len(), cut.total, cut.has_more), (100, Some(101), Some(true)));
    }

    #[test]
    fn references_go_by_their_type() {
        for text in [
            r#"{"type":"ref/prompt","name":"n","title":"t"}"#,
            r#"{"type":"ref/resource","uri":"a:{b}"}"#,
        ] {
            let reference: CompletionReference = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&reference).unwrap(), text);
        }
        for text in [r#"{"type":"ref/tool","name":"n"}"#, r#"{"name":"n"}"#, "{}"] {
            assert!(serde_json::from_str::<CompletionReference>(text).is_err(), "{text}");
        }
    }
}
