//! A revision 2026-07-28 server on rmcp, with what our suite looks for (`conformance/suite/README.md`).
//!
//!     rmcp-server [PORT]
//!     rmcp-server --stdio
//!
//! Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
//! Serves until its standard input closes, so it cannot outlive the process that started it.
#![expect(deprecated, reason = "sampling and logging are")]

mod asking;
mod offers;
mod tools;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::error::Error;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::{env, io, process, thread};

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    RequestStateCodec, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, tool_handler};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::broadcast;

/// What has changed.
#[derive(Clone)]
enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

#[derive(Clone)]
struct Suite {
    tools: ToolRouter<Self>,
    running: Arc<AtomicUsize>,
    changes: broadcast::Sender<Change>,
    /// Who listens from before the client is told so, which is before `listen` is called.
    listeners: Arc<Mutex<VecDeque<broadcast::Receiver<Change>>>>,
    states: Arc<RequestStateCodec>,
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Suite {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("rmcp-suite", "3.11.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2026_07_28])
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(typed(offers::prompts())?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        offers::prompt(&request, &asking::declared(&context))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::new(typed(offers::completed(&request))?))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(typed(offers::resources())?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(typed(offers::templates())?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        offers::resource(&request.uri)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.listeners.lock().ok()?.push_back(self.changes.subscribe());
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let listener = self.listeners.lock().ok().and_then(|mut all| all.pop_front());
        let mut changes = listener.unwrap_or_else(|| self.changes.subscribe());
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink itself refuses what was not asked for.
            let sink = context.sink();
            let _ = match change {
                Ok(Change::Tools) => sink.notify_tool_list_changed().await,
                Ok(Change::Prompts) => sink.notify_prompt_list_changed().await,
                Ok(Change::Resources) => sink.notify_resource_list_changed().await,
                Ok(Change::Resource(uri)) => sink.notify_resource_updated(uri).await,
                Err(_) => return Ok(()),
            };
        }
    }
}

/// A value of the SDK's from how it looks on the wire.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let argument = env::args().nth(1);
    let server = Suite {
        tools: Suite::tools() + Suite::asking(),
        running: Arc::default(),
        changes: broadcast::channel(64).0,
        listeners: Arc::default(),
        states: Arc::new(RequestStateCodec::try_new([7; 32])?),
    };
    if argument.as_deref() == Some("--stdio") {
        server.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let port = argument.map_or(Ok(0), |port| port.parse::<u16>())?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let port = listener.local_addr()?.port();
    let origins = [format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}")];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_allowed_origins(origins);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    println!("listening {port}");
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
