//! Prompts: `prompts/list` and `prompts/get`. Specification: Prompts.

use serde::{Deserialize, Serialize};

use crate::cache::{self, cacheable};
use crate::meta::has_meta;
use crate::setters::setters;
use crate::{
    CacheScope, ContentBlock, Cursor, Icon, InputResponses, Map, Meta, RequestMeta, RequestState,
    ResultMeta, Role, raw,
};

/// A prompt that a server offers. Schema `Prompt`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Its identifier, unique on the server.
    pub name: String,
    /// What to call it before people; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    /// Pictures to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl Prompt {
    /// The prompt `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

setters! { Prompt {
    /// Sets what to call it before people.
    title: String,
    /// Sets what it gives.
    description: String,
    /// Sets what it takes.
    arguments: Vec<PromptArgument>,
    /// Sets the pictures to show for it.
    icons: Vec<Icon>,
} }

/// Something that a prompt takes. Schema `PromptArgument`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its identifier.
    pub name: String,
    /// What to call it before people; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be given. Absent is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl PromptArgument {
    /// The argument `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

setters! { PromptArgument {
    /// Sets what to call it before people.
    title: String,
    /// Sets what it is.
    description: String,
    /// Says whether it must be given.
    required: bool,
} }

/// One page of the prompts that a server offers. Schema `ListPromptsResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPromptsResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The prompts, in the server's order.
    pub prompts: Vec<Prompt>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
    /// For how many milliseconds after its arrival the page is fresh.
    #[serde(default, deserialize_with = "cache::ttl_ms")]
    pub ttl_ms: u64,
    /// Who may be served from a cache.
    #[serde(default, deserialize_with = "cache::cache_scope")]
    pub cache_scope: CacheScope,
}

/// The parameters of `prompts/get`. Schema `GetPromptRequestParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPromptParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// The prompt to get.
    pub name: String,
    /// What it takes, by name; absent is `{}`.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
    /// Answers to what the server asked for in the round before.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// What the server gave the client to bring back.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub request_state: Option<RequestState>,
}

impl GetPromptParams {
    /// A request for the prompt `name` without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// A prompt, ready for the model. Schema `GetPromptResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetPromptResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// What it gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The conversation to begin with.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt. Schema `PromptMessage`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: ContentBlock,
}

impl PromptMessage {
    /// What the user says.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// What the model says.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

has_meta!(RequestMeta: GetPromptParams);
has_meta!(ResultMeta: ListPromptsResult, GetPromptResult);
cacheable!(ListPromptsResult);
