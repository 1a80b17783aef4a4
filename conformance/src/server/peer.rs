//! The four tools that every server under test offers, as `peers/README.md` lays down.

use std::time::Duration;

use mcp_server::{Args, HandlerError, Progress, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::say;

pub(super) fn all() -> [Tool; 4] {
    [
        Tool::new("echo", echo).description("Says it back."),
        Tool::new("fail", fail).description("Always fails."),
        Tool::new("progress", progress).description("Reports each step."),
        Tool::new("slow", slow).description("Waits."),
    ]
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

/// A handler that is cancelled is dropped where it waits, and what it holds with it.
struct SayCancelled;

impl Drop for SayCancelled {
    fn drop(&mut self) {
        say("cancelled");
    }
}
