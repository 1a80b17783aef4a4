//! Our client in the part of a peer's: the steps of `peers/README.md`, and what it saw in each.

use std::future::{IntoFuture, ready};
use std::process::Command;
use std::sync::{Arc, Mutex};

use mcp_client::types::{
    CallToolResult, CreateMessageResult, JsonMap, PromptReference, Root, SubscriptionFilter,
};
use mcp_client::{Change, Client, ClientBuilder, End, Error};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// Goes through the steps with the server at `url`.
pub(crate) fn run(url: &str) -> Value {
    runtime().block_on(report(Client::builder(url))).unwrap()
}

/// Starts a server, goes through the steps with it and ends it; returns what it wrote to standard error besides.
pub(crate) fn run_with(server: Command) -> (Value, Vec<String>) {
    let logged = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&logged);
    let report = async {
        report(
            ClientBuilder::spawn(server)
                .on_stderr(move |line| sink.lock().unwrap().push(line.to_owned())),
        )
        .await
    };
    let report = runtime().block_on(report).unwrap();
    (report, Arc::into_inner(logged).map_or_else(Vec::new, |logged| logged.into_inner().unwrap()))
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn report(builder: ClientBuilder) -> Result<Value, Error> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let client = answering(builder, Arc::clone(&asked)).build()?;
    let mut report = served(&client).await?;
    merge(&mut report, asks(&client, &asked).await);
    merge(&mut report, offered(&client).await?);
    report["listen"] = listen(&client).await?;
    report["end"] = end(&client).await?;
    client.close().await;
    Ok(report)
}

/// Has the client answer whatever the servers ask for, and note what that was.
fn answering(builder: ClientBuilder, asked: Arc<Mutex<Vec<String>>>) -> ClientBuilder {
    builder
        .on_elicit(move |form| {
            let answer = match &*form.message {
                "Who are you?" => json!({ "name": "Ada" }),
                _ => json!({ "colour": "green" }),
            };
            asked.lock().unwrap().push(form.message.clone());
            ready(form.accept(&answer))
        })
        .on_sample(async |_| {
            let text = json!({ "type": "text", "text": "four" });
            let said = json!({ "role": "assistant", "content": text, "model": "none" });
            serde_json::from_value::<CreateMessageResult>(said)
        })
        .on_roots(async || vec![Root::new("file:///work")])
}

async fn served(client: &Client) -> Result<Value, Error> {
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

/// Gives up a call of 10 s by dropping it, once its server is at work on it.
async fn cancel(client: &Client) -> Value {
    let (begun, begins) = oneshot::channel::<()>();
    let mut begun = Some(begun);
    let call =
        client.call_tool("slow", json!({ "ms": 10_000 })).on_progress(move |_| drop(begun.take()));
    let cancelled = tokio::select! {
        _ = call.into_future() => false,
        _ = begins => true,
    };
    json!({ "cancelled": cancelled })
}

/// Calls what asks: twice, the second time with a state to bring back; for a model's answer; for the roots.
async fn asks(client: &Client, asked: &Mutex<Vec<String>>) -> Value {
    let mut report = json!({
        "ask": attempt(client.call_tool("ask", json!({})).await),
        "sample": attempt(client.call_tool("sample", json!({})).await),
        "roots": attempt(client.call_tool("roots", json!({})).await),
    });
    report["ask"]["asked"] = json!(*asked.lock().unwrap());
    report
}

async fn offered(client: &Client) -> Result<Value, Error> {
    let got = client.get_prompt("greet", json!({ "name": "Ada" })).await?;
    let read = client.read_resource(NOTE).await?;
    let completed = client.complete(PromptReference::new("greet"), "name", "A").await?;
    Ok(json!({
        "prompt": got.messages.iter().map(|it| it.content.as_text()).collect::<Vec<_>>(),
        "resource": read.contents.iter().map(|it| it.as_text()).collect::<Vec<_>>(),
        "complete": completed.completion.values,
    }))
}

/// Hears of two changes and closes the subscription.
async fn listen(client: &Client) -> Result<Value, Error> {
    let mut changes = client.listen(SubscriptionFilter::new().tools().resource(NOTE)).await?;
    client.call_tool("change", json!({})).await?;
    let mut heard = Vec::new();
    while heard.len() < 2
        && let Some(change) = changes.next().await
    {
        heard.push(match change {
            Change::Tools => "tools".to_owned(),
            Change::Resource(updated) => updated.uri,
            other => format!("{other:?}"),
        });
    }
    heard.sort_unstable();
    Ok(json!({ "granted": changes.acknowledged(), "heard": heard }))
}

/// Has the server end a subscription, and says how it did. The call may end with the server.
async fn end(client: &Client) -> Result<Value, Error> {
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await?;
    let _ = client.call_tool("end", json!({})).await;
    let heard = changes.next().await;
    Ok(match (heard, changes.end()) {
        (None, Some(End::Graceful)) => json!("graceful"),
        (heard, end) => json!(format!("{heard:?}, {end:?}")),
    })
}

fn merge(report: &mut Value, mut more: Value) {
    report.as_object_mut().unwrap().append(more.as_object_mut().unwrap());
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

/// The resource that every server has.
const NOTE: &str = "peer://note";
