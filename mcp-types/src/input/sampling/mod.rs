//! Asking a model. Specification: Sampling, which this revision deprecates as a whole.

mod content;

use serde::{Deserialize, Serialize};

pub use content::{OneOrMany, SamplingContent, ToolResultContent, ToolUseContent};

use crate::object::open_object;
use crate::setters::setters;
use crate::{JsonMap, Meta, Number, Role, Tool};

/// What a model is asked. Schema `CreateMessageRequestParams`. Deprecated by this revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Which model to prefer; the client decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// What to tell the model first; the client may change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Which servers' context to add. Values other than `None` were deprecated before sampling was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How freely the model chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// The most tokens to sample.
    pub max_tokens: u64,
    /// Texts at which to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// What the provider of the model is to get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonMap>,
    /// The tools the model may use; only where the client declared `sampling.tools`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether it may or must use them; only where the client declared `sampling.tools`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

impl CreateMessageParams {
    /// Asks for the next message after `messages`, of at most `max_tokens`.
    pub fn new(messages: impl Into<Vec<SamplingMessage>>, max_tokens: u64) -> Self {
        Self { messages: messages.into(), max_tokens, ..Self::default() }
    }
}

setters! { CreateMessageParams {
    /// Sets which model to prefer.
    model_preferences: ModelPreferences,
    /// Sets what to tell the model first.
    system_prompt: String,
    /// Sets how freely the model chooses.
    temperature: Number,
    /// Sets texts at which to stop.
    stop_sequences: Vec<String>,
    /// Sets the tools the model may use.
    tools: Vec<Tool>,
    /// Sets whether it may or must use them.
    tool_choice: ToolChoice,
} }

/// Which servers' context a model gets. Schema `CreateMessageRequestParams`, `includeContext`.
/// Deprecated by this revision, the values other than `None` by the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "deprecated: nothing will be added")]
pub enum IncludeContext {
    /// None.
    None,
    /// The one that asks; only where the client declared `sampling.context`.
    ThisServer,
    /// All that the client knows; only where the client declared `sampling.context`.
    AllServers,
}

/// Which model a server would like. Schema `ModelPreferences`. Deprecated by this revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Names of models, the first match wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much a low price matters, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<Number>,
    /// How much speed matters, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<Number>,
    /// How much ability matters, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<Number>,
}

open_object! {
    /// A hint at a model. Members other than the name are for the client to make sense of. Schema
    /// `ModelHint`. Deprecated by this revision.
    pub struct ModelHint {
        /// A part of the model's name.
        "name" => name: String;
    }
}

/// Whether a model uses tools. Schema `ToolChoice`. Deprecated by this revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChoice {
    /// How; absent is `Auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

/// How a model uses tools. Schema `ToolChoice`, `mode`. Deprecated by this revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "deprecated: nothing will be added")]
pub enum ToolChoiceMode {
    /// As it likes.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

/// One message to or from a model. Schema `SamplingMessage`. Deprecated by this revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: OneOrMany<SamplingContent>,
}

impl SamplingMessage {
    /// What the user says.
    pub fn user(content: impl Into<OneOrMany<SamplingContent>>) -> Self {
        Self { meta: Meta::default(), role: Role::User, content: content.into() }
    }

    /// What the model says.
    pub fn assistant(content: impl Into<OneOrMany<SamplingContent>>) -> Self {
        Self { meta: Meta::default(), role: Role::Assistant, content: content.into() }
    }
}

/// What a model said. Schema `CreateMessageResult`. Deprecated by this revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: OneOrMany<SamplingContent>,
    /// The model's name.
    pub model: String,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
}

/// Why a model stopped. Schema `CreateMessageResult`, `stopReason`. Deprecated by this revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It came upon one of the texts to stop at.
    StopSequence,
    /// It had no tokens left.
    MaxTokens,
    /// It wants to use tools.
    ToolUse,
    /// A reason of the provider's own.
    #[serde(untagged)]
    Other(String),
}
