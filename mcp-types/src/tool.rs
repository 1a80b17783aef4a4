//! Tools: `tools/list` and `tools/call`. Specification: Tools.

use serde::{Deserialize, Deserializer, Serialize};

use crate::cache::{self, cacheable};
use crate::meta::has_meta;
use crate::setters::setters;
use crate::{
    CacheScope, ContentBlock, Cursor, Icon, InputResponses, Meta, RawJson, RequestMeta,
    RequestState, ResultMeta, raw,
};

/// A tool that a client can call. Schema `Tool`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its identifier, unique on the server.
    pub name: String,
    /// What to call it before people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model that chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, an object with `"type": "object"` at its root.
    pub input_schema: RawJson,
    /// The JSON Schema of its structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints about its behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Pictures to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl Tool {
    /// The tool `name`, whose arguments follow `input_schema`.
    pub fn new(name: impl Into<String>, input_schema: impl Into<RawJson>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            icons: None,
            meta: Meta::default(),
        }
    }

    /// What to call it before people: the title, else the one of the annotations, else the name.
    pub fn display_name(&self) -> &str {
        let hint = || self.annotations.as_ref()?.title.as_deref();
        self.title.as_deref().or_else(hint).unwrap_or(&self.name)
    }
}

setters! { Tool {
    /// Sets what to call it before people.
    title: String,
    /// Sets what it does, for the model that chooses.
    description: String,
    /// Sets the JSON Schema of its structured result.
    output_schema: RawJson,
    /// Sets the hints about its behaviour.
    annotations: ToolAnnotations,
    /// Sets the pictures to show for it.
    icons: Vec<Icon>,
} }

/// Hints about how a tool behaves. They are the server's word only: no reason to trust a server that
/// is not trusted anyway. Schema `ToolAnnotations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// What to call the tool before people, where it has no title of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing. Absent is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may change what is there, rather than only add. Absent is `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it again with the same arguments changes nothing more. Absent is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It deals with things outside a closed set, such as the web. Absent is `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

setters! { ToolAnnotations {
    /// Sets what to call the tool before people.
    title: String,
    /// Says whether it changes nothing.
    read_only_hint: bool,
    /// Says whether it may change what is there, rather than only add.
    destructive_hint: bool,
    /// Says whether calling it again with the same arguments changes nothing more.
    idempotent_hint: bool,
    /// Says whether it deals with things outside a closed set.
    open_world_hint: bool,
} }

/// One page of the tools that a server offers. Schema `ListToolsResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListToolsResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The tools, in the server's order.
    pub tools: Vec<Tool>,
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

/// The parameters of `tools/call`. Schema `CallToolRequestParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// The tool to call.
    pub name: String,
    /// Its arguments, a JSON object; absent is `{}`.
    #[serde(default, deserialize_with = "arguments", skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Answers to what the server asked for in the round before.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// What the server gave the client to bring back.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub request_state: Option<RequestState>,
}

impl CallToolParams {
    /// A call of the tool `name` without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    raw::object(deserializer, "arguments").map(Some)
}

/// What a tool returned. Schema `CallToolResult`.
///
/// `content` may be absent on reading where there is structured content: servers leave it out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "ToolResultWire")]
pub struct CallToolResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The result for people and models.
    pub content: Vec<ContentBlock>,
    /// The result for programs: any JSON value, which follows the tool's output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed, in which case `content` says why. Absent is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl CallToolResult {
    /// A result of one or more pieces of content.
    pub fn new(content: impl IntoIterator<Item = ContentBlock>) -> Self {
        Self { content: content.into_iter().collect(), ..Self::default() }
    }

    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([ContentBlock::text(text)])
    }

    /// The failure of a tool, said so that a model can do better next time.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: Some(true), ..Self::text(text) }
    }

    /// A result for programs, with its JSON as text beside it for those that only take content.
    ///
    /// # Errors
    /// When `value` has no form in JSON.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        let value = RawJson::new(value)?;
        Ok(Self { structured_content: Some(value.clone()), ..Self::text(value.get()) })
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}

/// How a tool's result is read: what is required depends on what is there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResultWire {
    #[serde(rename = "_meta", default)]
    meta: ResultMeta,
    content: Option<Vec<ContentBlock>>,
    #[serde(default, deserialize_with = "raw::present")]
    structured_content: Option<RawJson>,
    is_error: Option<bool>,
}

impl TryFrom<ToolResultWire> for CallToolResult {
    type Error = &'static str;

    fn try_from(wire: ToolResultWire) -> Result<Self, Self::Error> {
        let ToolResultWire { meta, content, structured_content, is_error } = wire;
        // An empty object must not pass: it may be a result of some other kind.
        if content.is_none() && structured_content.is_none() {
            return Err("missing field `content`");
        }
        Ok(Self { meta, content: content.unwrap_or_default(), structured_content, is_error })
    }
}

has_meta!(RequestMeta: CallToolParams);
has_meta!(ResultMeta: ListToolsResult, CallToolResult);
cacheable!(ListToolsResult);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_or_absent() {
        let read = |text: &str| serde_json::from_str::<CallToolParams>(text);
        assert_eq!(read(r#"{"name":"t"}"#).unwrap().arguments, None);
        let params = read(r#"{"name":"t","arguments":{"n": 1.0}}"#).unwrap();
        assert_eq!(params.arguments.unwrap().get(), r#"{"n": 1.0}"#);
        for arguments in ["null", "[]", "1", r#""{}""#] {
            assert!(read(&format!(r#"{{"name":"t","arguments":{arguments}}}"#)).is_err());
        }
    }

    #[test]
    fn a_malformed_retry_is_no_first_call() {
        for member in [
            r#""inputResponses":null"#,
            r#""inputResponses":[]"#,
            r#""inputResponses":{"a":null}"#,
            r#""inputResponses":{"a":"accept"}"#,
            r#""requestState":null"#,
            r#""requestState":{}"#,
        ] {
            let text = format!(r#"{{"name":"t",{member}}}"#);
            assert!(serde_json::from_str::<CallToolParams>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_result_is_content_or_structured_content() {
        let read = |text: &str| serde_json::from_str::<CallToolResult>(text);
        assert!(read("{}").is_err());
        assert!(read(r#"{"isError":true}"#).is_err());
        assert_eq!(read(r#"{"content":[]}"#).unwrap(), CallToolResult::default());
        let null = read(r#"{"structuredContent":null}"#).unwrap();
        assert_eq!(null.structured_content.as_ref().unwrap().get(), "null");
        assert_eq!(
            serde_json::to_string(&null).unwrap(),
            r#"{"content":[],"structuredContent":null}"#
        );
    }

    #[test]
    fn a_structured_result_is_also_text() {
        let result = CallToolResult::structured(&[1, 2]).unwrap();
        assert_eq!(result.content, [ContentBlock::text("[1,2]")]);
        assert_eq!(result.structured_content.unwrap().get(), "[1,2]");
    }

    #[test]
    fn the_name_to_display() {
        let plain = Tool::new("n", serde_json::json!({}));
        assert_eq!(plain.display_name(), "n");
        let hinted = plain.annotations(ToolAnnotations::default().title("a"));
        assert_eq!(hinted.display_name(), "a");
        assert_eq!(hinted.title("t").display_name(), "t");
    }
}
