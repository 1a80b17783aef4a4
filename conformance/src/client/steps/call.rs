//! Calls of any method, and what is said of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_client::types::{
    CompleteParams, GetPromptParams, Page, PaginatedParams, Request, SubscriptionFilter, request,
};
use mcp_client::{Backoff, Call, Change, Client, End, Error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::Step;

/// Calls the method of a step.
pub(super) async fn call(client: &Client, step: &Step) -> Value {
    let param = |name: &str| step.params.get(name).cloned().unwrap_or_default();
    let text = |name: &str| param(name).as_str().unwrap_or_default().to_owned();
    match &*step.r#do {
        "server/discover" => one(client.discover(), step).await,
        "tools/list" => list(client.list_tools(), step, "tools").await,
        "resources/list" => list(client.list_resources(), step, "resources").await,
        "resources/templates/list" => {
            list(client.list_resource_templates(), step, "resourceTemplates").await
        }
        "prompts/list" => list(client.list_prompts(), step, "prompts").await,
        "tools/call" => {
            let arguments = step.params.get("arguments").cloned();
            let arguments = arguments.unwrap_or_else(|| json!({}));
            one(client.call_tool(text("name"), arguments), step).await
        }
        "resources/read" => one(client.read_resource(text("uri")), step).await,
        "prompts/get" => match decoded::<GetPromptParams>(step) {
            Ok(params) => one(client.get_prompt(params.name, params.arguments), step).await,
            Err(told) => told,
        },
        "completion/complete" => match decoded::<CompleteParams>(step) {
            Ok(params) => outcome(client.call::<request::Complete>(params), step).await,
            Err(told) => told,
        },
        other => failed(&format!("{other} is no step that this client knows"), None),
    }
}

fn decoded<P: DeserializeOwned>(step: &Step) -> Result<P, Value> {
    let params = Value::Object(step.params.clone());
    serde_json::from_value(params).map_err(|error| failed(&error.to_string(), None))
}

/// One page, or all of them.
async fn list<R>(call: Call<R, R::Result>, step: &Step, member: &str) -> Value
where
    R: Request<Params = PaginatedParams> + 'static,
    R::Result: Page<Item: Serialize> + Serialize + Send + 'static,
{
    if step.all {
        return match bearing(call, step).all().await {
            Ok(all) => json!({ "result": { member: all } }),
            Err(error) => error_of(&error),
        };
    }
    match step.params.get("cursor").and_then(Value::as_str) {
        Some(cursor) => one(call.cursor(cursor), step).await,
        None => one(call, step).await,
    }
}

async fn outcome<R: Request + 'static>(call: Call<R>, step: &Step) -> Value
where
    R::Result: Serialize,
{
    let told = with_options(call, step).await;
    match told {
        (Ok(outcome), seen) => match outcome.complete() {
            Some(result) => seen.beside(json!({ "result": result })),
            None => failed("the server asks for input", None),
        },
        (Err(error), seen) => seen.beside(error_of(&error)),
    }
}

/// One call, to its end.
async fn one<R: Request + 'static, T: Serialize>(call: Call<R, T>, step: &Step) -> Value {
    match with_options(call, step).await {
        (Ok(result), seen) => seen.beside(json!({ "result": result })),
        (Err(error), seen) => seen.beside(error_of(&error)),
    }
}

async fn with_options<R: Request + 'static, T>(
    mut call: Call<R, T>,
    step: &Step,
) -> (Result<T, Error>, Heard) {
    let heard = Heard::default();
    if step.progress {
        let progress = Arc::clone(&heard.progress);
        call = call.on_progress(move |it| add(&progress, &it));
    }
    if let Some(level) = step.log {
        let log = Arc::clone(&heard.log);
        call = call.on_log(level, move |it| add(&log, &it));
    }
    if let Some(time) = step.timeout_ms {
        call = call.timeout(Duration::from_millis(time));
    }
    if let Some(time) = step.max_timeout_ms {
        call = call.total_timeout(Duration::from_millis(time));
    }
    (bearing(call, step).await, heard)
}

/// The call with the token of the step.
fn bearing<R: Request, T>(call: Call<R, T>, step: &Step) -> Call<R, T> {
    match &step.token {
        Some(token) => call.header("Authorization", format!("Bearer {token}")),
        None => call,
    }
}

/// What came before the result.
#[derive(Default)]
struct Heard {
    progress: Arc<Mutex<Vec<Value>>>,
    log: Arc<Mutex<Vec<Value>>>,
}

impl Heard {
    fn beside(self, mut told: Value) -> Value {
        for (name, all) in [("progress", self.progress), ("log", self.log)] {
            let all = std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner));
            if let Some(members) = told.as_object_mut().filter(|_| !all.is_empty()) {
                members.insert(name.to_owned(), all.into());
            }
        }
        told
    }
}

fn add(all: &Mutex<Vec<Value>>, it: &impl Serialize) {
    let it = serde_json::to_value(it).unwrap_or_default();
    all.lock().unwrap_or_else(PoisonError::into_inner).push(it);
}

/// Reads a subscription for as long as the step says.
pub(super) async fn listen(client: &Client, step: &Step) -> Value {
    let filter = step.params.get("notifications").cloned().unwrap_or_else(|| json!({}));
    let filter = match serde_json::from_value::<SubscriptionFilter>(filter) {
        Ok(filter) => filter,
        Err(error) => return failed(&error.to_string(), None),
    };
    let mut listen = client.listen(filter);
    if step.again {
        listen = listen.relisten(Backoff::new());
    }
    let mut changes = match listen.await {
        Ok(changes) => changes,
        Err(error) => return error_of(&error),
    };
    let end = Instant::now() + Duration::from_millis(step.ms.unwrap_or(2_000));
    let mut events = Vec::new();
    while events.len() < step.events.unwrap_or(usize::MAX) {
        match timeout_at(end, changes.next()).await {
            // That it was opened again is no notification.
            Ok(Some(Change::Stale)) => {}
            Ok(Some(change)) => events.push(event(change)),
            Ok(None) | Err(_) => break,
        }
    }
    let acknowledged = changes.acknowledged().clone();
    changes.close();
    let how = match changes.end() {
        Some(End::Graceful) => "graceful",
        Some(End::Lost(_)) => "lost",
        _ => "closed",
    };
    json!({ "events": events, "end": how, "acknowledged": acknowledged })
}

fn event(change: Change) -> Value {
    match change {
        Change::Tools => json!({ "method": "notifications/tools/list_changed" }),
        Change::Prompts => json!({ "method": "notifications/prompts/list_changed" }),
        Change::Resources => json!({ "method": "notifications/resources/list_changed" }),
        Change::Resource(updated) => {
            json!({ "method": "notifications/resources/updated", "uri": updated.uri })
        }
        Change::Other { method, .. } => json!({ "method": method }),
        _ => json!({ "method": "unknown" }),
    }
}

fn error_of(error: &Error) -> Value {
    let mut told = failed(&error.to_string(), error.rpc().map(|error| error.code.0));
    if error.rpc().is_some_and(|error| error.as_resource_not_found().is_some()) {
        told["error"]["kind"] = "not-found".into();
    }
    told
}

fn failed(message: &str, code: Option<i64>) -> Value {
    let mut error = Map::new();
    error.insert("message".to_owned(), message.into());
    if let Some(code) = code {
        error.insert("code".to_owned(), code.into());
    }
    json!({ "error": error })
}
