//! The tools that ask nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tower_mcp::protocol::{LogLevel, LoggingMessageParams, RequestOutcome};
use tower_mcp::{CallToolResult, Error, NoParams, RequestContext, Tool, ToolBuilder};

use crate::offers::{PNG, WAV, embedded};
use crate::typed;

pub(crate) fn all() -> Vec<Tool> {
    let running = Arc::new(AtomicUsize::new(0));
    let mut all = vec![
        ToolBuilder::new("test_simple_text")
            .description("Returns a text.")
            .read_only()
            .no_params_handler(|| async { Ok(CallToolResult::text("This is a simple text response for testing.")) })
            .build(),
        content("test_image_content", json!({ "type": "image", "data": PNG, "mimeType": "image/png" })),
        content("test_audio_content", json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })),
        content("test_embedded_resource", embedded("test://embedded-resource")),
        ToolBuilder::new("test_error_handling")
            .description("Always fails.")
            .no_params_handler(|| async {
                Ok(CallToolResult::error("This tool intentionally returns an error for testing"))
            })
            .build(),
        ToolBuilder::new("test_structured_output")
            .description("Returns a number.")
            .output_schema(json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }))
            .no_params_handler(|| async { Ok(CallToolResult::json(json!({ "n": 1 }))) })
            .build(),
        with_context("test_tool_with_progress", |context| async move {
            for done in [0.0, 50.0, 100.0] {
                context.report_progress(done, Some(100.0), None).await;
                // The SDK goes on sending what a handler says of a call that was cancelled.
                tokio::select! {
                    () = context.cancelled() => break,
                    () = sleep(Duration::from_millis(50)) => {}
                }
            }
            "Done in three steps."
        }),
        with_context("test_logging_tool", |context| async move {
            context.send_log(LoggingMessageParams::new(LogLevel::Info, "The tool was called."));
            "Logged."
        }),
        with_context("test_trigger_tool_change", |context| async move {
            context.notify_tools_list_changed();
            "Notified."
        }),
        with_context("test_trigger_prompt_change", |context| async move {
            context.notify_prompts_list_changed();
            "Notified."
        }),
        with_context("test_trigger_resource_change", |context| async move {
            context.notify_resources_list_changed();
            "Notified."
        }),
        ToolBuilder::new("test_trigger_resource_update")
            .description("Says that a resource has changed.")
            .input_schema(takes("uri", "string"))
            .mrtr_handler(|context: RequestContext, arguments: Value| async move {
                context.notify_resource_updated(arguments["uri"].as_str().unwrap_or_default());
                Ok(RequestOutcome::Complete(CallToolResult::text("Notified.")))
            })
            .build(),
        custom_header(),
    ];
    all.extend(slow(running));
    all
}

fn takes(name: &str, kind: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] })
}

fn content(name: &str, block: Value) -> Tool {
    let handler = move || {
        let block = block.clone();
        async move { typed::<CallToolResult>(json!({ "content": [block] })) }
    };
    ToolBuilder::new(name)
        .description("Returns what its name says.")
        .no_params_handler(handler)
        .build()
}

fn with_context<F: Future<Output = &'static str> + Send + 'static>(
    name: &str,
    work: impl Fn(RequestContext) -> F + Send + Sync + 'static,
) -> Tool {
    let handler = move |context: RequestContext, _: NoParams| {
        let work = work(context);
        async move { Ok::<_, Error>(RequestOutcome::Complete(CallToolResult::text(work.await))) }
    };
    ToolBuilder::new(name).description("Does what its name says.").mrtr_handler(handler).build()
}

fn slow(running: Arc<AtomicUsize>) -> [Tool; 2] {
    let counted = Arc::clone(&running);
    let slow = move |context: RequestContext, arguments: Value| {
        let counted = Arc::clone(&counted);
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::select! {
                () = context.cancelled() => {}
                () = sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default())) => {}
            }
            counted.fetch_sub(1, Ordering::Relaxed);
            Ok(RequestOutcome::Complete(CallToolResult::text("Done.")))
        }
    };
    let count = move || {
        let running = running.load(Ordering::Relaxed);
        async move { Ok(CallToolResult::text(running.to_string())) }
    };
    [
        ToolBuilder::new("test_slow")
            .description("Waits that long.")
            .input_schema(takes("ms", "integer"))
            .mrtr_handler(slow)
            .build(),
        ToolBuilder::new("test_slow_running")
            .description("Says how many calls wait.")
            .no_params_handler(count)
            .build(),
    ]
}

fn custom_header() -> Tool {
    let inner = json!({ "text": { "type": "string", "x-mcp-header": "Inner-Text" } });
    let properties = json!({
        "value": { "type": "string", "x-mcp-header": "Value" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "flag": { "type": "boolean", "x-mcp-header": "Flag" },
        "inner": { "type": "object", "properties": inner },
    });
    ToolBuilder::new("test_custom_header")
        .description("Has its arguments mirrored in headers.")
        .input_schema(json!({ "type": "object", "properties": properties, "required": ["value"] }))
        .mrtr_handler(|_: RequestContext, arguments: Value| async move {
            Ok(RequestOutcome::Complete(CallToolResult::text(arguments.to_string())))
        })
        .build()
}
