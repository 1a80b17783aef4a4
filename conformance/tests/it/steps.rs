//! Our client in the part of a peer's: the steps of `peers/README.md`, and what it saw in each.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{CallToolResult, JsonMap};
use mcp_client::{Client, ClientBuilder, Error};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Goes through the steps with the server at `url`.
pub(crate) fn run(url: &str) -> Value {
    runtime().block_on(async { report(&Client::http(url)?).await }).unwrap()
}

/// Starts a server, goes through the steps with it and ends it; returns what it wrote to standard error besides.
pub(crate) fn run_with(server: Command) -> (Value, Vec<String>) {
    let logged = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&logged);
    let report = async {
        let client = ClientBuilder::spawn(server)
            .on_stderr(move |line| sink.lock().unwrap().push(line.to_owned()))
            .build()?;
        let report = report(&client).await;
        client.close().await;
        report
    };
    let report = runtime().block_on(report).unwrap();
    (report, Arc::into_inner(logged).map_or_else(Vec::new, |logged| logged.into_inner().unwrap()))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn report(client: &Client) -> Result<Value, Error> {
    let discovered = client.discover().await?;
    let listed = client.list_tools().await?;
    Ok(json!({
        "discover": {
            "protocolVersion": client.protocol_version(),
            "supportedVersions": discovered.supported_versions,
            "capabilities": keys(&discovered.capabilities),
            "server": discovered.meta.server_info.map(|server| server.name),
        },
        "list": listed.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>(),
        "echo": attempt(client.call_tool("echo", json!({ "text": TEXT })).await),
        "fail": attempt(client.call_tool("fail", json!({})).await),
        "unknown": attempt(client.call_tool("no_such_tool", json!({})).await),
        "progress": progress(client).await,
        "cancel": cancel(client).await,
        "after": attempt(client.call_tool("echo", json!({ "text": "still here" })).await),
    }))
}

async fn progress(client: &Client) -> Value {
    let values = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&values);
    let call = client
        .call_tool("progress", json!({ "steps": 5 }))
        .on_progress(move |update| sink.lock().unwrap().push(json!(update.progress)));
    let mut report = attempt(call.await);
    report["values"] = values.lock().unwrap().drain(..).collect();
    report
}

/// Gives up a call of 10 s, by dropping it.
async fn cancel(client: &Client) -> Value {
    let call = client.call_tool("slow", json!({ "ms": 10_000 }));
    let ended = tokio::time::timeout(PATIENCE, call).await;
    json!({ "cancelled": ended.is_err() })
}

fn attempt(ended: Result<CallToolResult, Error>) -> Value {
    match ended {
        Ok(result) => {
            let text: Vec<_> = result.content.iter().filter_map(|block| block.as_text()).collect();
            json!({ "isError": result.is_error(), "text": text.join(",") })
        }
        Err(error) => match error.rpc() {
            Some(rpc) => json!({ "error": { "code": rpc.code, "message": rpc.message } }),
            None => json!({ "failed": error.to_string() }),
        },
    }
}

fn keys<T: serde::Serialize>(object: &T) -> Vec<String> {
    let members: JsonMap = serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap();
    let mut keys: Vec<_> = members.iter().map(|(key, _)| key.to_owned()).collect();
    keys.sort_unstable();
    keys
}

/// What is said and has to come back: more than ASCII, and a line end.
pub(crate) const TEXT: &str = "Grüße, 世界 🦀\nline two";

/// Long enough for a request to have reached a server on a busy machine, which is what has to be given up.
const PATIENCE: Duration = Duration::from_millis(500);
