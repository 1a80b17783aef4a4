//! The prompts that the official suite gets by name; that which asks is with the tools that ask.

use mcp_server::types::{ContentBlock, PromptMessage, ResourceContents};
use mcp_server::{Args, Completing, Prompt, ServerBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::tools::PNG;

pub(super) fn add_to(server: ServerBuilder) -> ServerBuilder {
    server
        .prompt(Prompt::new("test_simple_prompt", simple).description("Is a text."))
        .prompt(
            Prompt::new("test_prompt_with_arguments", with_arguments)
                .description("Repeats its arguments.")
                .complete("arg1", known),
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource", with_resource)
                .description("Embeds a resource."),
        )
        .prompt(Prompt::new("test_prompt_with_image", with_image).description("Shows an image."))
}

async fn simple() -> &'static str {
    "This is a simple prompt for testing."
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// The first of them.
    arg1: String,
    /// The second of them.
    arg2: String,
}

async fn with_arguments(Args(Two { arg1, arg2 }): Args<Two>) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

async fn known(typed: Completing) -> Vec<&'static str> {
    let known = ["testing", "testbed", "hello"];
    known.into_iter().filter(|value| value.starts_with(&typed.value)).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// The URI of the resource.
    resource_uri: String,
}

async fn with_resource(Args(Embedded { resource_uri }): Args<Embedded>) -> Vec<PromptMessage> {
    let text = "Embedded resource content for testing.";
    let contents = ResourceContents::text(resource_uri, text).mime_type("text/plain");
    vec![
        PromptMessage::user(ContentBlock::resource(contents)),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(ContentBlock::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}
