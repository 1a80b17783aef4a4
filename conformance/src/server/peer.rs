//! What every server under test offers, as `peers/README.md` lays down.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mcp_server::types::{CreateMessageParams, SamplingContent, SamplingMessage};
use mcp_server::{
    Args, Ask, Completing, HandlerError, Notify, Progress, Prompt, Resource, ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync;

use super::say;

/// Adds all of it. The server has to be shut down when `end` is notified: its subscriptions end with it.
pub(super) fn add_to(server: ServerBuilder, end: Arc<sync::Notify>) -> ServerBuilder {
    server
        .tools([
            Tool::new("echo", echo).description("Says it back."),
            Tool::new("fail", fail).description("Always fails."),
            Tool::new("progress", progress).description("Reports each step."),
            Tool::new("slow", slow).description("Waits."),
            Tool::new("ask", ask).description("Asks twice."),
            Tool::new("sample", sample).description("Asks the model."),
            Tool::new("roots", roots).description("Asks where it may work."),
            Tool::new("change", change).description("Says that something has changed."),
            Tool::new("end", move || {
                end.notify_one();
                ready("ended")
            })
            .description("Ends every subscription."),
        ])
        .prompt(Prompt::new("greet", greet).description("Greets.").complete("name", names))
        .resource(
            Resource::text(NOTE, "note", "a note").description("A note.").mime_type("text/plain"),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

async fn echo(Args(Echo { text }): Args<Echo>) -> String {
    text
}

async fn fail() -> Result<(), HandlerError> {
    Err(HandlerError::new("failed on purpose"))
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

async fn progress(progress: Progress, Args(Steps { steps }): Args<Steps>) -> &'static str {
    for step in 1..=steps {
        progress.report_of(step, steps);
    }
    "done"
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    ms: u64,
}

async fn slow(progress: Progress, Args(Wait { ms }): Args<Wait>) -> &'static str {
    progress.report_of(0, ms);
    let unfinished = SayCancelled;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    std::mem::forget(unfinished);
    "slept"
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Colour {
    colour: String,
}

async fn ask(ask: Ask) -> Result<String, HandlerError> {
    let nobody = || HandlerError::new("nobody answers");
    let who = ask.form::<Name>("who", "Who are you?").await.accepted();
    let Name { name } = who.ok_or_else(nobody)?;
    let which = ask.form::<Colour>("which", "Which colour?").await.accepted();
    let Colour { colour } = which.ok_or_else(nobody)?;
    Ok(format!("{name} likes {colour}"))
}

async fn sample(ask: Ask) -> String {
    let question = CreateMessageParams::new(vec![SamplingMessage::user("Two and two?")], 10);
    let said = ask.sample("sum", question).await;
    let text = said.content.as_slice().iter().find_map(SamplingContent::as_text);
    text.unwrap_or_default().to_owned()
}

async fn roots(ask: Ask) -> String {
    let roots = ask.roots("roots").await;
    roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(",")
}

async fn change(notify: Notify) -> &'static str {
    notify.tools_changed();
    notify.resource_updated(NOTE);
    "changed"
}

async fn greet(Args(Name { name }): Args<Name>) -> String {
    format!("Hello, {name}!")
}

async fn names(typed: Completing) -> Vec<&'static str> {
    let known = ["Ada", "Alan", "Grace"];
    known.into_iter().filter(|name| name.starts_with(&typed.value)).collect()
}

/// A handler that is cancelled is dropped where it waits, and what it holds with it.
struct SayCancelled;

impl Drop for SayCancelled {
    fn drop(&mut self) {
        say("cancelled");
    }
}

const NOTE: &str = "peer://note";
