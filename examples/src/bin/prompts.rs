//! Prompts: messages for a model, made from typed arguments.

use std::collections::BTreeMap;

use mcp_client::Client;
use mcp_server::types::{PromptMessage, PromptReference};
use mcp_server::{Args, Completing, Prompt, Server};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// What to review.
    code: String,
    /// The language it is written in.
    language: String,
    /// How many remarks at most; 3 if not given.
    remarks: Option<u8>,
}

/// Clients send strings; the handler gets a number, or is never called.
async fn review(Args(review): Args<Review>) -> Vec<PromptMessage> {
    let Review { code, language, remarks } = review;
    let remarks = remarks.unwrap_or(3);
    vec![
        PromptMessage::user(format!("Review this {language}, with {remarks} remarks at most:")),
        PromptMessage::user(code),
        PromptMessage::assistant("My remarks, the gravest first:"),
    ]
}

async fn languages(typed: Completing) -> Vec<&'static str> {
    let known = ["python", "rust", "typescript"];
    known.into_iter().filter(|name| name.starts_with(&typed.value)).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let review = Prompt::new("review", review)
        .title("Review code")
        .description("Asks for a review of some code")
        .complete("language", languages);
    let greet = Prompt::new("greet", async || "Say hello.");
    let server = Server::builder("reviewer", "1.0.0").prompt(review).prompt(greet).build()?;
    let client = Client::in_process(server.service());

    for prompt in client.list_prompts().all().await? {
        println!("{}: {}", prompt.name, prompt.description.unwrap_or_default());
        for argument in prompt.arguments.unwrap_or_default() {
            let kind = if argument.required == Some(true) { "required" } else { "optional" };
            println!("  {} ({kind}): {}", argument.name, argument.description.unwrap_or_default());
        }
    }
    let found = client.complete(PromptReference::new("review"), "language", "ru").await?;
    println!("language ru...: {:?}", found.completion.values);

    let mut arguments =
        BTreeMap::from([("code", "fn main() {}"), ("language", "rust"), ("remarks", "1")]);
    for message in client.get_prompt("review", &arguments).await?.messages {
        println!("{:?}: {}", message.role, message.content.as_text().unwrap_or_default());
    }
    arguments.remove("language");
    let error = client.get_prompt("review", &arguments).await.expect_err("there is no language");
    println!("without a language: {error}");
    Ok(())
}
