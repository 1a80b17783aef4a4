//! The tools that the official suite calls by name, in the order of its scenarios.
//!
//! For two scenarios the first tool matters: it is called with `{}` and must answer. Texts, addresses and
//! media types are what the suite compares with.

use std::time::Duration;

use mcp_server::types::{
    ClientCapabilities, ContentBlock, ElicitFormParams, ElicitationSchema, InputRequest,
    InputRequests, InputRequired, LoggingLevel, NothingRequired, RawJson, ResourceContents,
    SamplingCapability, StringSchema,
};
use mcp_server::{Args, HandlerError, Log, Notify, Progress, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn all() -> [Tool; 14] {
    [
        Tool::new("test_simple_text", simple_text).description("Returns a text."),
        Tool::new("test_image_content", image).description("Returns an image."),
        Tool::new("test_audio_content", audio).description("Returns a sound."),
        Tool::new("test_embedded_resource", embedded_resource).description("Returns a resource."),
        Tool::new("test_multiple_content_types", several).description("Returns some of each."),
        Tool::new("test_error_handling", error).description("Always fails."),
        Tool::new("test_tool_with_progress", progress).description("Reports progress."),
        Tool::new("json_schema_2020_12_tool", simple_text)
            .description("Has an input schema with many keywords.")
            .input_schema(json_schema()),
        Tool::new("test_missing_capability", simple_text)
            .description("Needs a client that can sample.")
            .requires(sampling()),
        Tool::new("test_streaming_elicitation", elicitation).description("Asks for a name."),
        Tool::new("test_logging_tool", logging).description("Logs, if it is asked to."),
        Tool::new("test_custom_header", custom_header)
            .description("Has its arguments mirrored in headers."),
        Tool::new("test_trigger_tool_change", tool_change)
            .description("Says that the list of tools has changed."),
        Tool::new("test_trigger_prompt_change", prompt_change)
            .description("Says that the list of prompts has changed."),
    ]
}

async fn simple_text() -> &'static str {
    "This is a simple text response for testing."
}

async fn image() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

async fn audio() -> ContentBlock {
    ContentBlock::audio(WAV, "audio/wav")
}

async fn embedded_resource() -> ContentBlock {
    let text = "This is an embedded resource content.";
    let contents = ResourceContents::text("test://embedded-resource", text);
    ContentBlock::resource(contents.mime_type("text/plain"))
}

async fn several() -> Vec<ContentBlock> {
    let json = r#"{"test":"data","value":123}"#;
    let contents = ResourceContents::text("test://mixed-content-resource", json);
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::resource(contents.mime_type("application/json")),
    ]
}

async fn error() -> Result<(), HandlerError> {
    Err(HandlerError::new("This tool intentionally returns an error for testing"))
}

async fn progress(progress: Progress) -> &'static str {
    for done in [0, 50, 100] {
        progress.report_of(done, 100);
        tokio::time::sleep(STEP).await;
    }
    "Done in three steps."
}

fn sampling() -> ClientCapabilities {
    ClientCapabilities {
        sampling: Some(SamplingCapability::default()),
        ..ClientCapabilities::default()
    }
}

/// Asks by hand, for once: what the suite wants to see is that no request is sent on the stream.
async fn elicitation() -> Result<InputRequired, NothingRequired> {
    let name: StringSchema = Default::default();
    let form = ElicitFormParams {
        message: "What is your name?".to_owned(),
        requested_schema: ElicitationSchema::new().required("name", name),
    };
    let requests = InputRequests::from_iter([("name", InputRequest::Elicit(form.into()))]);
    InputRequired::new(requests, None)
}

async fn logging(log: Log) -> &'static str {
    log.send(LoggingLevel::Info, "The tool was called.");
    "Logged."
}

#[derive(Deserialize, JsonSchema)]
struct CustomHeader {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Count"))]
    count: i64,
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Flag"))]
    flag: bool,
    #[serde(default)]
    inner: Inner,
}

#[derive(Default, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Inner {
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Inner-Text"))]
    text: String,
}

async fn custom_header(Args(arguments): Args<CustomHeader>) -> String {
    let CustomHeader { value, count, flag, inner } = arguments;
    format!("{value}, {count}, {flag}, {}", inner.text)
}

async fn tool_change(notify: Notify) -> &'static str {
    notify.tools_changed();
    "Notified."
}

async fn prompt_change(notify: Notify) -> &'static str {
    notify.prompts_changed();
    "Notified."
}

/// A schema that says nothing worth validating, with every keyword that has to get through.
fn json_schema() -> RawJson {
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
    .into()
}

/// Between two reports of progress: long enough for each to travel on its own.
const STEP: Duration = Duration::from_millis(50);

/// One grey pixel.
pub(super) const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\nIDATx\xdach\0\0\0\x82\0\x81\xdaE\x08;\0\0\0\0IEND\xaeB`\x82";

/// Four samples of silence.
pub(super) const WAV: &[u8] =
    b"RIFF(\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x04\0\0\0\
    \x80\x80\x80\x80";
