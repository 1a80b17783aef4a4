//! What asks the client: official-suite scenarios `input-required-result-*`.

use mcp_server::types::{
    CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage,
};
use mcp_server::{Ask, Context, Elicited, Prompt, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct UserContext {
    context: String,
}

/// All tools that ask, in the order in which they are listed.
pub(super) fn tools() -> [Tool; 8] {
    [
        tool("elicitation", elicitation),
        tool("sampling", sampling),
        tool("list_roots", list_roots),
        tool("request_state", request_state),
        tool("multiple_inputs", multiple_inputs),
        tool("multi_round", multi_round),
        tool("tampered_state", request_state),
        tool("capabilities", capabilities),
    ]
}

/// The prompt that asks.
pub(super) fn prompt() -> Prompt {
    Prompt::new("test_input_required_result_prompt", async |ask: Ask| {
        let given = ask.form::<UserContext>("user_context", "What is this about?").await;
        let context = given.accepted().map_or_else(|| "nothing".to_owned(), |given| given.context);
        format!("Please say something about {context}.")
    })
    .description("Asks what it is about")
}

fn tool<M: 'static>(name: &str, handler: impl mcp_server::ToolHandler<M>) -> Tool {
    Tool::new(format!("test_input_required_result_{name}"), handler)
        .description("Asks the client before it answers")
}

async fn elicitation(ask: Ask) -> String {
    match ask.form::<Name>("user_name", "What is your name?").await {
        Elicited::Accept(Name { name }) => format!("Hello, {name}!"),
        Elicited::Decline | Elicited::Cancel => "Hello!".to_owned(),
    }
}

async fn sampling(ask: Ask) -> String {
    said(&ask.sample("capital_question", question("What is the capital of France?", 100)).await)
}

async fn list_roots(ask: Ask) -> String {
    let roots = ask.roots("client_roots").await;
    roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(", ")
}

/// What is remembered puts a state into the first round as well.
async fn request_state(ask: Ask) -> String {
    let state = ask.remember("state", async { "state-ok".to_owned() }).await;
    let confirmed = ask.form::<Confirmation>("confirm", "Go on?").await.accepted();
    format!("{state}, {}", if confirmed.is_some_and(|it| it.ok) { "confirmed" } else { "refused" })
}

async fn multiple_inputs(ask: Ask) -> String {
    let state = ask.remember("state", async { "state-ok".to_owned() }).await;
    let (name, greeting, roots) = tokio::join!(
        ask.form::<Name>("user_name", "What is your name?"),
        ask.sample("greeting", question("Greet somebody.", 50)),
        ask.roots("client_roots"),
    );
    let name = name.accepted().map_or_else(|| "whoever".to_owned(), |given| given.name);
    format!("{state}: {}, {name}, at {} roots", said(&greeting), roots.len())
}

async fn multi_round(ask: Ask) -> String {
    ask.remember("state", async { true }).await;
    let first = ask.form::<Name>("step1", "First, your name?").await.accepted();
    let second = ask.form::<Color>("step2", "And your favourite colour?").await.accepted();
    let name = first.map_or_else(|| "Somebody".to_owned(), |given| given.name);
    match second {
        Some(Color { color }) => format!("{name} likes {color}"),
        None => format!("{name} likes no colour"),
    }
}

/// Asks in whichever way the client can be asked.
async fn capabilities(context: Context, ask: Ask) -> String {
    if context.client_capabilities().supports_form() {
        return elicitation(ask).await;
    }
    sampling(ask).await
}

fn question(text: &str, max_tokens: u64) -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(text)], max_tokens)
}

fn said(result: &CreateMessageResult) -> String {
    let text = result.content.as_slice().iter().find_map(SamplingContent::as_text);
    text.unwrap_or_default().to_owned()
}
