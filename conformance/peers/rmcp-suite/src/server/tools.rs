//! The tools that ask nobody.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, schemars, tool, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use crate::offers::{PNG, WAV, embedded};
use crate::{Change, Suite, typed};

#[derive(Deserialize, schemars::JsonSchema)]
struct Slow {
    ms: u64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Uri {
    uri: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Mirrored {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Count"))]
    count: i64,
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Flag"))]
    flag: bool,
    #[serde(default)]
    inner: Inner,
}

#[derive(Default, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
struct Inner {
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Inner-Text"))]
    text: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Number {
    n: i64,
}

#[tool_router(router = tools, vis = "pub(crate)")]
impl Suite {
    #[tool(
        name = "test_simple_text",
        description = "Returns a text.",
        annotations(read_only_hint = true)
    )]
    async fn simple_text(&self) -> String {
        "This is a simple text response for testing.".to_owned()
    }

    #[tool(name = "test_image_content", description = "Returns an image.")]
    async fn image(&self) -> Result<CallToolResult, ErrorData> {
        content(json!({ "type": "image", "data": PNG, "mimeType": "image/png" }))
    }

    #[tool(name = "test_audio_content", description = "Returns a sound.")]
    async fn audio(&self) -> Result<CallToolResult, ErrorData> {
        content(json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" }))
    }

    #[tool(name = "test_embedded_resource", description = "Returns a resource.")]
    async fn embedded(&self) -> Result<CallToolResult, ErrorData> {
        content(embedded("test://embedded-resource"))
    }

    #[tool(name = "test_error_handling", description = "Always fails.")]
    async fn error(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )])
    }

    #[tool(name = "test_structured_output", description = "Returns a number.")]
    async fn structured(&self) -> Json<Number> {
        Json(Number { n: 1 })
    }

    #[tool(name = "test_tool_with_progress", description = "Reports progress.")]
    async fn progress(&self, context: RequestContext<RoleServer>) -> String {
        for done in [0.0, 50.0, 100.0] {
            if let Some(token) = context.meta.get_progress_token() {
                let params = ProgressNotificationParam::new(token, done).with_total(100.0);
                let _ = context.peer.notify_progress(params).await;
            }
            // The SDK goes on sending what a handler says of a call that was cancelled.
            tokio::select! {
                () = context.ct.cancelled() => break,
                () = sleep(Duration::from_millis(50)) => {}
            }
        }
        "Done in three steps.".to_owned()
    }

    #[tool(name = "test_logging_tool", description = "Logs, if it is asked to.")]
    async fn logging(&self, context: RequestContext<RoleServer>) -> String {
        // The SDK leaves it to the handler which messages the caller asked for.
        if matches!(context.meta.log_level(), Some(LoggingLevel::Debug | LoggingLevel::Info)) {
            let params = LoggingMessageNotificationParam::new(
                LoggingLevel::Info,
                json!("The tool was called."),
            );
            let _ = context.peer.notify_logging_message(params).await;
        }
        "Logged.".to_owned()
    }

    #[tool(name = "test_slow", description = "Waits that long.")]
    async fn slow(
        &self,
        Parameters(Slow { ms }): Parameters<Slow>,
        context: RequestContext<RoleServer>,
    ) -> String {
        self.running.fetch_add(1, Ordering::Relaxed);
        tokio::select! {
            () = context.ct.cancelled() => {}
            () = sleep(Duration::from_millis(ms)) => {}
        }
        self.running.fetch_sub(1, Ordering::Relaxed);
        "Done.".to_owned()
    }

    #[tool(name = "test_slow_running", description = "Says how many calls wait.")]
    async fn slow_running(&self) -> String {
        self.running.load(Ordering::Relaxed).to_string()
    }

    #[tool(name = "test_custom_header", description = "Has its arguments mirrored in headers.")]
    async fn custom_header(
        &self,
        Parameters(Mirrored { value, count, flag, inner }): Parameters<Mirrored>,
    ) -> String {
        format!("{value}, {count}, {flag}, {}", inner.text)
    }

    #[tool(
        name = "test_trigger_tool_change",
        description = "Says that the list of tools has changed."
    )]
    async fn tool_change(&self) -> String {
        self.changed(Change::Tools)
    }

    #[tool(
        name = "test_trigger_prompt_change",
        description = "Says that the list of prompts has changed."
    )]
    async fn prompt_change(&self) -> String {
        self.changed(Change::Prompts)
    }

    #[tool(
        name = "test_trigger_resource_change",
        description = "Says that the list of resources has changed."
    )]
    async fn resource_change(&self) -> String {
        self.changed(Change::Resources)
    }

    #[tool(
        name = "test_trigger_resource_update",
        description = "Says that a resource has changed."
    )]
    async fn resource_update(&self, Parameters(Uri { uri }): Parameters<Uri>) -> String {
        self.changed(Change::Resource(uri))
    }
}

impl Suite {
    fn changed(&self, change: Change) -> String {
        // There may be no subscription.
        let _ = self.changes.send(change);
        "Notified.".to_owned()
    }
}

fn content(block: serde_json::Value) -> Result<CallToolResult, ErrorData> {
    Ok(CallToolResult::success(vec![typed(block)?]))
}
