//! A revision 2026-07-28 client on rmcp that goes through the steps of our suite (`conformance/suite/README.md`).
//!
//!     MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=http rmcp-client URL
//!     MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=stdio rmcp-client COMMAND
#![expect(deprecated, reason = "sampling, roots and logging are")]

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, RequestMetaObject,
};
use rmcp::service::{
    NotificationContext, RequestContext, RunningService, ServiceError, SubscriptionEnd,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

type Client = RunningService<RoleClient, Robot>;
type BoxError = Box<dyn Error + Send + Sync>;

/// Answers by itself, and notes what it hears.
#[derive(Clone)]
struct Robot {
    context: Arc<Value>,
    progress: Arc<Mutex<Vec<Value>>>,
    log: Arc<Mutex<Vec<Value>>>,
}

impl ClientHandler for Robot {
    fn get_info(&self) -> ClientConfig {
        let declared = serde_json::from_value::<ClientCapabilities>(self.declared());
        let declared = declared.unwrap_or_default();
        ClientConfig::new(declared, Implementation::new("rmcp-suite", "3.11.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(&request).unwrap_or_default();
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

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
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

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        expect_declared(self.declared()["roots"].is_object())?;
        let roots = self.context.pointer("/answers/roots").cloned();
        typed(json!({ "roots": roots.unwrap_or_else(|| json!([{ "uri": "file:///root" }])) }))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        note(&self.progress, &params);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        note(&self.log, &params);
    }
}

impl Robot {
    fn declared(&self) -> Value {
        let everything = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} });
        self.context.get("capabilities").cloned().unwrap_or(everything)
    }
}

/// The SDK asks for what was not declared, too.
fn expect_declared(is_declared: bool) -> Result<(), ErrorData> {
    if is_declared { Ok(()) } else { Err(ErrorData::invalid_params("this was not declared", None)) }
}

fn note(all: &Mutex<Vec<Value>>, it: &impl Serialize) {
    if let (Ok(mut all), Ok(it)) = (all.lock(), serde_json::to_value(it)) {
        all.push(it);
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

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn connect(robot: Robot, target: &str, token: Option<&str>) -> Result<Client, BoxError> {
    let lifecycle =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    if env::var("MCP_CONFORMANCE_TRANSPORT")? == "stdio" {
        let mut shell = Command::new("sh");
        shell.args(["-c", target]);
        return Ok(robot.serve_with_lifecycle(TokioChildProcess::new(shell)?, lifecycle).await?);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(target);
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    Ok(robot
        .serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle)
        .await?)
}

/// Takes a step, and gives the line that is to be printed.
async fn take(client: &Client, step: &Value) -> Value {
    // A future that is dropped is a call that is given up.
    let limits = ["cancel_ms", "timeout_ms", "max_timeout_ms"];
    let limit = limits.iter().filter_map(|name| step[name].as_u64()).min().unwrap_or(20_000);
    let taking = async {
        if step["do"] == "subscriptions/listen" {
            listen(client, step).await
        } else {
            call(client, step).await
        }
    };
    let told = timeout(Duration::from_millis(limit), taking).await;
    let told = told.unwrap_or_else(|_| Err(json!({ "message": "given up" })));
    let mut line = told.unwrap_or_else(|error| json!({ "error": error }));
    let robot = client.service();
    for (name, all) in [("progress", &robot.progress), ("log", &robot.log)] {
        let all = all.lock().map(|mut all| std::mem::take(&mut *all)).unwrap_or_default();
        // Every request asks for progress.
        if !all.is_empty() && (name == "log" || step["progress"] == true) {
            line[name] = all.into();
        }
    }
    line
}

async fn call(client: &Client, step: &Value) -> Result<Value, Value> {
    let mut params = step.get("params").cloned().unwrap_or_else(|| json!({}));
    if step["log"].is_string() {
        params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": step["log"] });
    }
    let all = step["all"] == true;
    match step["do"].as_str().unwrap_or_default() {
        "server/discover" => result(client.discover(RequestMetaObject::default()).await),
        "tools/call" => result(client.call_tool(given(params)?).await),
        "prompts/get" => result(client.get_prompt(given(params)?).await),
        "resources/read" => result(client.read_resource(given(params)?).await),
        "completion/complete" => result(client.complete(given(params)?).await),
        "tools/list" if all => entries("tools", client.list_all_tools().await),
        "prompts/list" if all => entries("prompts", client.list_all_prompts().await),
        "resources/list" if all => entries("resources", client.list_all_resources().await),
        "resources/templates/list" if all => {
            entries("resourceTemplates", client.list_all_resource_templates().await)
        }
        "tools/list" => result(client.list_tools(Some(given(params)?)).await),
        "prompts/list" => result(client.list_prompts(Some(given(params)?)).await),
        "resources/list" => result(client.list_resources(Some(given(params)?)).await),
        "resources/templates/list" => {
            result(client.list_resource_templates(Some(given(params)?)).await)
        }
        other => Err(json!({ "message": format!("{other} is no step that this client knows") })),
    }
}

fn given<T: DeserializeOwned>(params: Value) -> Result<T, Value> {
    serde_json::from_value(params).map_err(|error| json!({ "message": error.to_string() }))
}

fn result<T: Serialize>(told: Result<T, ServiceError>) -> Result<Value, Value> {
    told.map(|result| json!({ "result": result })).map_err(|error| error_of(&error))
}

fn entries<T: Serialize>(member: &str, told: Result<Vec<T>, ServiceError>) -> Result<Value, Value> {
    told.map(|all| json!({ "result": { member: all } })).map_err(|error| error_of(&error))
}

fn error_of(error: &ServiceError) -> Value {
    match error {
        ServiceError::McpError(error) => json!({ "message": error.message, "code": error.code.0 }),
        error => json!({ "message": error.to_string() }),
    }
}

async fn listen(client: &Client, step: &Value) -> Result<Value, Value> {
    let filter = given(step["params"]["notifications"].clone())?;
    let mut subscription = client.listen(filter).await.map_err(|error| error_of(&error))?;
    let end = Instant::now() + Duration::from_millis(step["ms"].as_u64().unwrap_or(2_000));
    let mut events = Vec::new();
    while (events.len() as u64) < step["events"].as_u64().unwrap_or(u64::MAX) {
        match timeout_at(end, subscription.next()).await {
            Ok(Ok(Some(event))) => {
                let event = serde_json::to_value(&event).unwrap_or_default();
                events.push(json!({ "method": event["method"], "uri": event["params"]["uri"] }));
            }
            _ => break,
        }
    }
    let acknowledged = json!(subscription.acknowledged());
    let how = match subscription.end() {
        Some(SubscriptionEnd::Graceful(_)) => "graceful",
        Some(SubscriptionEnd::Abrupt) => "lost",
        _ => "closed",
    };
    let _ = subscription.cancel().await;
    Ok(json!({ "events": events, "end": how, "acknowledged": acknowledged }))
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
    let mut clients = HashMap::<Option<String>, Arc<Client>>::new();
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
            let robot = Robot {
                context: Arc::clone(&context),
                progress: Arc::default(),
                log: Arc::default(),
            };
            match connect(robot, &target, token.as_deref()).await {
                Ok(client) => drop(clients.insert(token.clone(), Arc::new(client))),
                Err(error) => {
                    say(number, json!({ "error": { "message": error.to_string() } }));
                    continue;
                }
            }
        }
        let client = Arc::clone(&clients[&token]);
        if step["beside"] == true {
            beside.spawn(async move { say(number, take(&client, &step).await) });
        } else {
            say(number, take(&client, &step).await);
        }
    }
    while beside.join_next().await.is_some() {}
    for client in clients.into_values() {
        if let Ok(client) = Arc::try_unwrap(client) {
            client.cancel().await?;
        }
    }
    Ok(())
}
