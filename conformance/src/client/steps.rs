//! Going through steps, as this project's own suite wants of a client. See `conformance/suite/README.md`.

mod answers;
mod call;
mod fill;

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use mcp_client::types::LoggingLevel;
use mcp_client::{Client, ClientBuilder, Restart};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What the suite says.
#[derive(Deserialize)]
struct Context {
    steps: Vec<Step>,
    #[serde(default)]
    answers: answers::Answers,
    capabilities: Option<Value>,
}

#[derive(Deserialize)]
struct Step {
    r#do: String,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    progress: bool,
    log: Option<LoggingLevel>,
    timeout_ms: Option<u64>,
    max_timeout_ms: Option<u64>,
    cancel_ms: Option<u64>,
    ms: Option<u64>,
    events: Option<usize>,
    token: Option<String>,
    #[serde(default)]
    beside: bool,
    #[serde(default)]
    again: bool,
}

/// Goes through the steps that `context` names with the server at `target`.
pub(super) async fn go_through(
    target: &str,
    over_stdio: bool,
    context: &str,
) -> Result<(), Box<dyn Error>> {
    let builder = if over_stdio {
        let mut shell = Command::new("sh");
        shell.args(["-c", target]);
        ClientBuilder::spawn(shell).restart(Restart::new())
    } else {
        Client::builder(target)
    };
    let context: Context = serde_json::from_str(context)?;
    let builder = answers::answering(builder, context.capabilities, context.answers)?;
    let client = builder.build()?;
    let mut beside = JoinSet::new();
    for (number, step) in context.steps.into_iter().enumerate() {
        if step.r#do == "wait" {
            while beside.join_next().await.is_some() {}
            say(number, Some(json!({ "result": {} })));
        } else if step.beside {
            let client = client.clone();
            beside.spawn(async move { say(number, take(&client, step).await) });
        } else {
            say(number, take(&client, step).await);
        }
    }
    while beside.join_next().await.is_some() {}
    client.close().await;
    Ok(())
}

/// Takes a step, and gives what is to be said of it; nothing if it was cancelled.
async fn take(client: &Client, step: Step) -> Option<Value> {
    let cancel = step.cancel_ms.map(Duration::from_millis);
    let taking = async {
        match &*step.r#do {
            "sleep" => {
                sleep(Duration::from_millis(step.ms.unwrap_or_default())).await;
                json!({ "result": {} })
            }
            "subscriptions/listen" => call::listen(client, &step).await,
            _ => call::call(client, &step).await,
        }
    };
    match cancel {
        Some(time) => timeout(time, taking).await.ok(),
        None => Some(taking.await),
    }
}

/// Prints the line of a step.
fn say(number: usize, told: Option<Value>) {
    let mut told = told.unwrap_or_else(|| json!({ "error": { "message": "cancelled" } }));
    if let Some(members) = told.as_object_mut() {
        members.insert("step".to_owned(), number.into());
    }
    // The suite is gone if nobody reads.
    let _ = writeln!(std::io::stdout(), "{told}");
}
