//! A revision 2026-07-28 client on tower-mcp that goes through the steps of our suite (`conformance/suite/README.md`).
//!
//!     MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=http tower-mcp-client URL
//!     MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=stdio tower-mcp-client COMMAND

use std::collections::HashMap;
use std::env;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_mcp::client::{
    ClientHandler, HttpClientTransport, McpClient, ServerNotification, StdioClientTransport,
};
use tower_mcp::error::JsonRpcError;
use tower_mcp::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ListRootsResult,
};
use tower_mcp::{BoxError, Error, ProtocolSupport};

/// Answers by itself, and notes what it hears.
#[derive(Clone)]
struct Robot {
    context: Arc<Value>,
    heard: Arc<Heard>,
}

#[derive(Default)]
struct Heard {
    progress: Mutex<Vec<Value>>,
    log: Mutex<Vec<Value>>,
    events: Mutex<Vec<Value>>,
    event: Notify,
}

#[async_trait::async_trait]
impl ClientHandler for Robot {
    async fn handle_create_message(
        &self,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, JsonRpcError> {
        let params = serde_json::to_value(&params).unwrap_or_default();
        let sampling = &self.declared()["sampling"];
        let has_tools = params["tools"].is_array() || params["toolChoice"].is_object();
        expect_declared(sampling.is_object() && (!has_tools || sampling["tools"].is_object()))?;
        let tool = &params["tools"][0]["name"];
        let (content, reason) = if params["toolChoice"]["mode"] == "required" && tool.is_string() {
            (json!({ "type": "tool_use", "id": "use-1", "name": tool, "input": {} }), "toolUse")
        } else {
            (json!({ "type": "text", "text": "text" }), "endTurn")
        };
        typed(
            json!({ "role": "assistant", "content": content, "model": "none", "stopReason": reason }),
        )
    }

    async fn handle_elicit(
        &self,
        params: ElicitRequestParams,
    ) -> Result<ElicitResult, JsonRpcError> {
        let request = serde_json::to_value(&params).unwrap_or_default();
        let modes = &self.declared()["elicitation"];
        let has_mode = match request["mode"] == "url" {
            true => modes["url"].is_object(),
            false => modes["form"].is_object() || modes.is_object() && !modes["url"].is_object(),
        };
        expect_declared(has_mode)?;
        let given = self.context.pointer("/answers/elicitation").cloned();
        if request["mode"] == "url" {
            let action = given.map_or_else(|| json!("accept"), |given| given["action"].clone());
            return typed(json!({ "action": action }));
        }
        let fields =
            request["requestedSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let content =
            fields.iter().map(|(name, field)| (name.clone(), filled(field))).collect::<Map<_, _>>();
        typed(given.unwrap_or_else(|| json!({ "action": "accept", "content": content })))
    }

    async fn handle_list_roots(&self) -> Result<ListRootsResult, JsonRpcError> {
        expect_declared(self.declared()["roots"].is_object())?;
        let roots = self.context.pointer("/answers/roots").cloned();
        typed(json!({ "roots": roots.unwrap_or_else(|| json!([{ "uri": "file:///root" }])) }))
    }

    async fn on_notification(&self, notification: ServerNotification) {
        let event = match notification {
            ServerNotification::Progress(params) => {
                return note(&self.heard.progress, json!(params));
            }
            ServerNotification::LogMessage(params) => return note(&self.heard.log, json!(params)),
            ServerNotification::Subscription { subscription_id, notification } => {
                changed(&notification).map(|event| json!([subscription_id, event]))
            }
            _ => None,
        };
        if let Some(event) = event {
            note(&self.heard.events, event);
            self.heard.event.notify_waiters();
        }
    }
}

impl Robot {
    fn declared(&self) -> Value {
        let everything = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} });
        self.context.get("capabilities").cloned().unwrap_or(everything)
    }
}

/// The SDK asks for what was not declared, too.
fn expect_declared(is_declared: bool) -> Result<(), JsonRpcError> {
    if is_declared { Ok(()) } else { Err(JsonRpcError::invalid_params("this was not declared")) }
}

fn note(all: &Mutex<Vec<Value>>, it: Value) {
    if let Ok(mut all) = all.lock() {
        all.push(it);
    }
}

fn changed(notification: &ServerNotification) -> Option<Value> {
    match notification {
        ServerNotification::ToolsListChanged => {
            Some(json!({ "method": "notifications/tools/list_changed" }))
        }
        ServerNotification::PromptsListChanged => {
            Some(json!({ "method": "notifications/prompts/list_changed" }))
        }
        ServerNotification::ResourcesListChanged => {
            Some(json!({ "method": "notifications/resources/list_changed" }))
        }
        ServerNotification::ResourceUpdated { uri } => {
            Some(json!({ "method": "notifications/resources/updated", "uri": uri }))
        }
        _ => None,
    }
}

fn filled(field: &Value) -> Value {
    let first = field["enum"].get(0).or_else(|| field["oneOf"].get(0)?.get("const"));
    if let Some(value) = field.get("default").or(first) {
        return value.clone();
    }
    match field["type"].as_str() {
        Some("boolean") => true.into(),
        Some("number" | "integer") => field.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("array") => {
            let items = &field["items"];
            let first = items["enum"].get(0).or_else(|| items["anyOf"].get(0)?.get("const"));
            first.into_iter().cloned().collect()
        }
        _ => match field["format"].as_str() {
            Some("email") => "text@example.com".into(),
            Some("uri") => "https://example.com/".into(),
            Some("date") => "2026-07-28".into(),
            Some("date-time") => "2026-07-28T00:00:00Z".into(),
            _ => "text".into(),
        },
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, JsonRpcError> {
    serde_json::from_value(value).map_err(|error| JsonRpcError::internal_error(error.to_string()))
}

async fn connect(robot: Robot, target: &str, token: Option<&str>) -> Result<McpClient, BoxError> {
    let declared = robot.declared();
    let builder = McpClient::builder()
        .protocol_support(ProtocolSupport::try_new(["2026-07-28"])?)
        .with_capabilities(serde_json::from_value(declared)?)
        .request_progress();
    let client = if env::var("MCP_CONFORMANCE_TRANSPORT")? == "stdio" {
        let mut shell = Command::new("sh");
        shell.args(["-c", target]);
        builder.connect(StdioClientTransport::spawn_command(&mut shell).await?, robot).await?
    } else {
        let transport = HttpClientTransport::new(target);
        let transport = match token {
            Some(token) => transport.bearer_token(token),
            None => transport,
        };
        builder.connect(transport, robot).await?
    };
    client.discover("tower-mcp-suite", "0.25.0").await?;
    Ok(client)
}

/// Takes a step, and gives the line that is to be printed.
async fn take(client: &McpClient, heard: &Heard, step: &Value) -> Value {
    // A future that is dropped is a call that is given up.
    let limits = ["cancel_ms", "timeout_ms", "max_timeout_ms"];
    let limit = limits.iter().filter_map(|name| step[name].as_u64()).min().unwrap_or(20_000);
    let taking = async {
        if step["do"] == "subscriptions/listen" {
            listen(client, heard, step).await
        } else {
            call(client, step).await
        }
    };
    let level = serde_json::from_value(step["log"].clone()).ok();
    client.set_request_log_level(level).await;
    let told = timeout(Duration::from_millis(limit), taking).await;
    let told = told.unwrap_or_else(|_| Err(json!({ "message": "given up" })));
    let mut line = told.unwrap_or_else(|error| json!({ "error": error }));
    for (name, all) in [("progress", &heard.progress), ("log", &heard.log)] {
        let all = all.lock().map(|mut all| std::mem::take(&mut *all)).unwrap_or_default();
        // Every request asks for progress.
        if !all.is_empty() && (name == "log" || step["progress"] == true) {
            line[name] = all.into();
        }
    }
    line
}

async fn call(client: &McpClient, step: &Value) -> Result<Value, Value> {
    let params = step.get("params").cloned().unwrap_or_else(|| json!({}));
    let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
    let cursor = params["cursor"].as_str().map(str::to_owned);
    let all = step["all"] == true;
    match step["do"].as_str().unwrap_or_default() {
        // The client discovers when it connects, and keeps what it was told.
        "server/discover" => {
            client.discovery().await.map(|found| json!({ "result": found })).ok_or(Value::Null)
        }
        "tools/call" => {
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            result(client.call_tool(&text("name"), arguments).await)
        }
        "prompts/get" => {
            let arguments = serde_json::from_value::<Option<HashMap<String, String>>>(
                params["arguments"].clone(),
            );
            result(client.get_prompt(&text("name"), arguments.unwrap_or_default()).await)
        }
        "resources/read" => result(client.read_resource(&text("uri")).await),
        "completion/complete" => {
            result(client.request::<_, Value>("completion/complete", &params).await)
        }
        "tools/list" if all => entries("tools", client.list_all_tools().await),
        "prompts/list" if all => entries("prompts", client.list_all_prompts().await),
        "resources/list" if all => entries("resources", client.list_all_resources().await),
        "resources/templates/list" if all => {
            entries("resourceTemplates", client.list_all_resource_templates().await)
        }
        "tools/list" => result(client.list_tools_with_cursor(cursor).await),
        "prompts/list" => result(client.list_prompts_with_cursor(cursor).await),
        "resources/list" => result(client.list_resources_with_cursor(cursor).await),
        "resources/templates/list" => {
            result(client.list_resource_templates_with_cursor(cursor).await)
        }
        other => Err(json!({ "message": format!("{other} is no step that this client knows") })),
    }
}

fn result<T: Serialize>(told: Result<T, Error>) -> Result<Value, Value> {
    told.map(|result| json!({ "result": result })).map_err(|error| error_of(&error))
}

fn entries<T: Serialize>(member: &str, told: Result<Vec<T>, Error>) -> Result<Value, Value> {
    told.map(|all| json!({ "result": { member: all } })).map_err(|error| error_of(&error))
}

fn error_of(error: &Error) -> Value {
    match error {
        Error::JsonRpc(error) => json!({ "message": error.message, "code": error.code }),
        error => json!({ "message": error.to_string() }),
    }
}

async fn listen(client: &McpClient, heard: &Heard, step: &Value) -> Result<Value, Value> {
    let filter = serde_json::from_value(step["params"]["notifications"].clone());
    let filter = filter.map_err(|error| json!({ "message": error.to_string() }))?;
    let mut subscription =
        client.listen_subscriptions(filter).await.map_err(|error| error_of(&error))?;
    let acknowledged = subscription.acknowledged().await.map_err(|error| error_of(&error))?;
    let wanted = step["events"].as_u64().unwrap_or(u64::MAX);
    let id = json!(subscription.id());
    let own = || {
        let all = heard.events.lock().map(|events| events.clone()).unwrap_or_default();
        let own = all.into_iter().filter(|event| event[0] == id);
        own.map(|event| event[1].clone()).collect::<Vec<_>>()
    };
    let enough = async {
        loop {
            let event = heard.event.notified();
            if own().len() as u64 >= wanted {
                break;
            }
            event.await;
        }
    };
    let limit = Duration::from_millis(step["ms"].as_u64().unwrap_or(2_000));
    let _ = timeout(limit, enough).await;
    // How it ends is told to who waits for it, and only then.
    let end = match timeout(Duration::ZERO, subscription.wait()).await {
        Ok(Ok(_)) => "graceful",
        Ok(Err(_)) => "lost",
        Err(_) => "closed",
    };
    Ok(json!({ "events": own(), "end": end, "acknowledged": acknowledged }))
}

fn say(number: usize, mut line: Value) {
    line["step"] = number.into();
    println!("{line}");
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    timeout(Duration::from_secs(150), go_through()).await?
}

async fn go_through() -> Result<(), BoxError> {
    let target = env::args().nth(1).ok_or("a URL or a command is missing")?;
    let context = Arc::new(serde_json::from_str::<Value>(&env::var("MCP_CONFORMANCE_CONTEXT")?)?);
    // A user is a client.
    let mut clients = HashMap::<Option<String>, (Arc<McpClient>, Arc<Heard>)>::new();
    let mut beside = JoinSet::new();
    for (number, step) in
        context["steps"].as_array().cloned().unwrap_or_default().into_iter().enumerate()
    {
        if step["do"] == "sleep" || step["do"] == "wait" {
            sleep(Duration::from_millis(step["ms"].as_u64().unwrap_or_default())).await;
            while step["do"] == "wait" && beside.join_next().await.is_some() {}
            say(number, json!({ "result": {} }));
            continue;
        }
        let token = step["token"].as_str().map(str::to_owned);
        if !clients.contains_key(&token) {
            let heard = Arc::new(Heard::default());
            let robot = Robot { context: Arc::clone(&context), heard: Arc::clone(&heard) };
            match connect(robot, &target, token.as_deref()).await {
                Ok(client) => drop(clients.insert(token.clone(), (Arc::new(client), heard))),
                Err(error) => {
                    say(number, json!({ "error": { "message": error.to_string() } }));
                    continue;
                }
            }
        }
        let (client, heard) = clients[&token].clone();
        if step["beside"] == true {
            beside.spawn(async move { say(number, take(&client, &heard, &step).await) });
        } else {
            say(number, take(&client, &heard, &step).await);
        }
    }
    while beside.join_next().await.is_some() {}
    for (client, _) in clients.into_values() {
        if let Ok(client) = Arc::try_unwrap(client) {
            client.shutdown().await?;
        }
    }
    Ok(())
}
