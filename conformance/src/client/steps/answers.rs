//! What the client declares, and what it answers when it is asked.

use std::sync::Arc;

use mcp_client::types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams,
    ElicitResult, RawJson, Root, ToolChoiceMode,
};
use mcp_client::{BoxError, ClientBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fill;

/// What is answered in place of what the client answers by itself.
#[derive(Default, Deserialize)]
pub(super) struct Answers {
    elicitation: Option<ElicitResult>,
    roots: Option<Vec<Root>>,
}

/// Has a client declare `capabilities`, or all it can do, and answer what goes with them.
pub(super) fn answering(
    builder: ClientBuilder,
    capabilities: Option<Value>,
    answers: Answers,
) -> Result<ClientBuilder, serde_json::Error> {
    let capabilities = capabilities.unwrap_or_else(everything);
    let capabilities = serde_json::from_value::<ClientCapabilities>(capabilities)?;
    let mut builder = builder.capabilities(capabilities.clone());
    let elicited = Arc::new(answers.elicitation);
    if capabilities.supports_form() {
        let elicited = Arc::clone(&elicited);
        builder = builder.on_elicit(move |form| {
            let elicited = Arc::clone(&elicited);
            async move { fill_in(&form, elicited.as_ref().as_ref()) }
        });
    }
    if capabilities.supports_url() {
        builder = builder.on_elicit_url(move |_| {
            let action = elicited.as_ref().as_ref().map_or(ElicitAction::Accept, |it| it.action);
            async move { ElicitResult::of(action) }
        });
    }
    if capabilities.sampling.is_some() {
        builder = builder.on_sample(async |params| message(&params));
    }
    if capabilities.roots.is_some() {
        let roots = answers.roots.unwrap_or_else(|| vec![Root::new("file:///root")]);
        builder = builder.on_roots(move || {
            let roots = roots.clone();
            async move { roots }
        });
    }
    Ok(builder)
}

fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} })
}

/// The answer as it was given, or one that accepts and fits.
fn fill_in(
    form: &ElicitFormParams,
    given: Option<&ElicitResult>,
) -> Result<ElicitResult, BoxError> {
    match given {
        Some(given) => Ok(given.clone()),
        None => Ok(ElicitResult {
            action: ElicitAction::Accept,
            content: Some(RawJson::new(&fill::form(form))?),
        }),
    }
}

/// What the model says: one word, or that it uses the first tool where it has to use one.
fn message(params: &CreateMessageParams) -> Result<CreateMessageResult, serde_json::Error> {
    let choice = params.tool_choice.as_ref().and_then(|choice| choice.mode);
    let tool = params.tools.iter().flatten().next();
    let (content, reason) = match tool.filter(|_| choice == Some(ToolChoiceMode::Required)) {
        Some(tool) => (
            json!({ "type": "tool_use", "id": "use-1", "name": tool.name, "input": {} }),
            "toolUse",
        ),
        None => (json!({ "type": "text", "text": "text" }), "endTurn"),
    };
    serde_json::from_value(json!({
        "role": "assistant", "content": content, "model": "none", "stopReason": reason,
    }))
}
