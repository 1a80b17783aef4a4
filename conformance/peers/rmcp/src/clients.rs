//! The clients, as their users write them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{CallToolRequestParams, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde::Serialize;
use serde_json::{Value, json};

use crate::now;

/// What is measured.
pub const KINDS: [&str; 3] = ["ours", "rmcp", "rmcp-pooled"];

#[derive(Clone)]
pub enum Client {
    Ours(mcp_client::Client),
    Rmcp(Arc<RunningService<RoleClient, Heard>>),
}

/// When progress was heard of last.
#[derive(Clone, Default)]
pub struct Heard(Arc<AtomicU64>);

impl ClientHandler for Heard {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.store(now(), Ordering::SeqCst);
    }
}

impl Client {
    pub async fn connect(kind: &str, url: &str) -> Self {
        let transport = match kind {
            "ours" => return Self::Ours(mcp_client::Client::http(url).unwrap()),
            "rmcp-pooled" => {
                let mut config = StreamableHttpClientTransportConfig::default();
                config.uri = url.into();
                StreamableHttpClientTransport::with_client(reqwest::Client::new(), config)
            }
            _ => StreamableHttpClientTransport::from_uri(url),
        };
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
        let service = Heard::default().serve_with_lifecycle(transport, lifecycle).await.unwrap();
        Self::Rmcp(Arc::new(service))
    }

    /// Has `text` echoed so many times, and sees that it was.
    pub async fn echo(self, text: String, calls: usize) {
        #[derive(Serialize)]
        struct Text<'a> {
            text: &'a str,
        }
        for _ in 0..calls {
            let echoed = match &self {
                Self::Ours(client) => {
                    let result = client.call_tool("echo", Text { text: &text }).await.unwrap();
                    result.content[0].as_text().map(str::len)
                }
                Self::Rmcp(service) => {
                    let Value::Object(arguments) = json!({ "text": text }) else { unreachable!() };
                    let params = CallToolRequestParams::new("echo").with_arguments(arguments);
                    let result = service.peer().call_tool(params).await.unwrap();
                    result.content[0].as_text().map(|block| block.text.len())
                }
            };
            assert_eq!(echoed, Some(text.len()));
        }
    }

    /// Calls what reports progress; when that was heard.
    pub async fn progress(&self) -> u64 {
        match self {
            Self::Ours(client) => {
                let heard = Heard::default();
                let hears = heard.clone();
                let hear = move |_| hears.0.store(now(), Ordering::SeqCst);
                client.call_tool("progress", ()).on_progress(hear).await.unwrap();
                heard.0.load(Ordering::SeqCst)
            }
            Self::Rmcp(service) => {
                let params = CallToolRequestParams::new("progress");
                service.peer().call_tool(params).await.unwrap();
                service.service().0.load(Ordering::SeqCst)
            }
        }
    }
}
