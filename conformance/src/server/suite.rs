//! What our own suite looks for beyond the official one: `suite/README.md`, Testing a server.

use std::io;

use mcp_server::types::{
    ClientCapabilities, ContentBlock, CreateMessageParams, ElicitationCapability, JsonMap, Meta,
    OneOrMany, PromptArgument, PromptMessage, RawJson, SamplingCapability, SamplingContent,
    SamplingMessage, Tool as SampledTool, ToolChoice, ToolChoiceMode, ToolResultContent,
};
use mcp_server::{
    Args, Ask, Completing, Elicited, Notify, Prompt, Resource, ServerBuilder, Structured, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tools::WAV;

pub(super) fn add_to(server: ServerBuilder) -> ServerBuilder {
    server
        .tools([
            Tool::new("test_url_elicitation", visit)
                .description("Sends the user to a page.")
                .requires(url_elicitation()),
            Tool::new("test_sampling_with_tools", weather)
                .description("Has the model use a tool.")
                .requires(sampling_with_tools()),
            Tool::new("test_structured_output", structured).description("Returns a number."),
            Tool::new("test_trigger_resource_change", resource_change)
                .description("Says that the list of resources has changed."),
            Tool::new("test_trigger_resource_update", resource_update)
                .description("Says that a resource has changed."),
        ])
        .prompt(
            Prompt::new("test_prompt_with_completions", with_completions)
                .description("Has more candidates than an answer holds.")
                .complete("item", items),
        )
        .prompt(
            Prompt::new("test_failing_prompt", failing)
                .description("Always fails, and so does what completes its argument.")
                .arguments([PromptArgument::new("item")])
                .complete("item", no_items),
        )
        .prompt(Prompt::new("test_prompt_with_audio", with_audio).description("Plays a sound."))
        .resource(
            Resource::text("file:///everything/readme.txt", "readme.txt", "Read me.")
                .description("A file that is none.")
                .mime_type("text/plain"),
        )
        .resource(
            Resource::new("test://failing-resource", "failing-resource", failing)
                .description("Always fails.")
                .mime_type("text/plain"),
        )
}

fn url_elicitation() -> ClientCapabilities {
    let url = ElicitationCapability { url: Some(JsonMap::default()), ..Default::default() };
    ClientCapabilities { elicitation: Some(url), ..ClientCapabilities::default() }
}

fn sampling_with_tools() -> ClientCapabilities {
    let tools = SamplingCapability { tools: Some(JsonMap::default()), ..Default::default() };
    ClientCapabilities { sampling: Some(tools), ..ClientCapabilities::default() }
}

/// What is remembered gives the round a state.
async fn visit(ask: Ask) -> &'static str {
    ask.remember("state", async { true }).await;
    match ask.url("visit", "Please visit this page.", "https://example.com/visit").await {
        Elicited::Accept(()) => "Visited.",
        Elicited::Decline | Elicited::Cancel => "Not visited.",
    }
}

/// Asks the model again as long as it uses the tool, at last without letting it.
async fn weather(ask: Ask) -> String {
    let mut messages = vec![SamplingMessage::user("How is the weather in Paris and London?")];
    for turn in 0..=TURNS {
        let mut question = CreateMessageParams::new(messages.clone(), 1000);
        question.tools = Some(vec![get_weather()]);
        question.tool_choice =
            (turn == TURNS).then_some(ToolChoice { mode: Some(ToolChoiceMode::None) });
        let key = if turn == 0 { "weather".to_owned() } else { format!("weather-{turn}") };
        let said = ask.sample(&key, question).await;
        let results = results(said.content.as_slice());
        if results.is_empty() {
            let text = said.content.as_slice().iter().find_map(SamplingContent::as_text);
            return text.unwrap_or_default().to_owned();
        }
        messages.push(SamplingMessage::assistant(said.content));
        messages.push(SamplingMessage::user(OneOrMany::Many(results)));
    }
    "The model would not stop.".to_owned()
}

fn get_weather() -> SampledTool {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
    });
    SampledTool::new("get_weather", RawJson::from(schema))
}

fn results(content: &[SamplingContent]) -> Vec<SamplingContent> {
    let uses = content.iter().filter_map(|block| match block {
        SamplingContent::ToolUse(used) => Some(&used.id),
        _ => None,
    });
    let results = uses.map(|id| {
        SamplingContent::ToolResult(ToolResultContent {
            tool_use_id: id.clone(),
            content: vec![ContentBlock::text("Rain.")],
            structured_content: None,
            is_error: None,
            meta: Meta::default(),
        })
    });
    results.collect()
}

#[derive(Serialize, JsonSchema)]
struct Number {
    n: i64,
}

async fn structured() -> Structured<Number> {
    Structured(Number { n: 1 })
}

async fn resource_change(notify: Notify) -> &'static str {
    notify.resources_changed();
    "Notified."
}

#[derive(Deserialize, JsonSchema)]
struct Uri {
    uri: String,
}

async fn resource_update(notify: Notify, Args(Uri { uri }): Args<Uri>) -> &'static str {
    notify.resource_updated(uri);
    "Notified."
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    item: String,
}

async fn with_completions(Args(Item { item }): Args<Item>) -> String {
    format!("The item is {item}.")
}

async fn items(typed: Completing) -> Vec<String> {
    let all = (1..=150).map(|number| format!("item-{number:03}"));
    all.filter(|item| item.starts_with(&typed.value)).collect()
}

async fn with_audio() -> Vec<PromptMessage> {
    vec![PromptMessage::user(ContentBlock::audio(WAV, "audio/wav"))]
}

async fn failing() -> Result<String, io::Error> {
    Err(io::Error::other("the disk is on fire"))
}

async fn no_items(_typed: Completing) -> Result<Vec<String>, io::Error> {
    Err(io::Error::other("the disk is on fire"))
}

/// How often the model may use the tool.
const TURNS: u32 = 4;
