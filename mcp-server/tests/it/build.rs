//! Building a server: what is refused, and what is said of its tools.

use std::collections::HashMap;
use std::sync::Arc;

use mcp_server::types::{ClientCapabilities, Icon, ToolAnnotations};
use mcp_server::{Args, BuildError, Tool};
use serde_json::{Value, json};

use crate::support::{Post, Running, builder, server};

/// What cannot be served is told when the server is built, and which tool it is.
#[tokio::test]
async fn a_server_that_cannot_be_served_is_not_built() {
    let t = || Tool::new("t", async || "ok");
    let schema = |schema: Value| t().input_schema(schema);
    let annotated =
        |property: Value| schema(json!({ "type": "object", "properties": { "p": property } }));
    let table = [
        (Tool::new("", async || "ok"), "needs a name"),
        (schema(json!({})), "\"type\": \"object\""),
        (schema(json!({ "type": "array" })), "\"type\": \"object\""),
        (schema(json!({ "type": ["object", "null"] })), "\"type\": \"object\""),
        // X4.
        (schema(json!({ "oneOf": [{ "type": "object" }] })), "\"type\": \"object\""),
        (schema(json!(true)), "not an object"),
        (schema(json!(null)), "not an object"),
        (schema(json!([])), "not an object"),
        (t().output_schema(json!(5)), "output"),
        (annotated(json!({ "type": "string", "x-mcp-header": "" })), "x-mcp-header"),
        (annotated(json!({ "type": "string", "x-mcp-header": "a b" })), "x-mcp-header"),
        (annotated(json!({ "type": "string", "x-mcp-header": "ü" })), "x-mcp-header"),
        (annotated(json!({ "type": "string", "x-mcp-header": 5 })), "x-mcp-header"),
        // H12.
        (annotated(json!({ "type": "number", "x-mcp-header": "P" })), "x-mcp-header"),
        (
            annotated(
                json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "P" } }),
            ),
            "x-mcp-header",
        ),
        (Tool::new("t", async |_: Arc<u128>| "ok"), "u128"),
        (Tool::new("t", async |args: Args<Vec<i32>>| format!("{args:?}")), "\"type\": \"object\""),
    ];
    for (row, (tool, says)) in table.into_iter().enumerate() {
        let error = builder().tool(tool).build().unwrap_err();
        let text = error.to_string();
        assert!(text.contains(says), "row {row}: {text}");
        assert!(row == 0 || text.contains("\"t\""), "row {row}: {text}");
    }
    let twice = json!({
        "type": "object",
        "properties": { "a": { "type": "string", "x-mcp-header": "P" }, "b": { "type": "string", "x-mcp-header": "p" } },
    });
    assert!(matches!(builder().tool(schema(twice)).build(), Err(BuildError::ParamHeader { .. })));
    assert!(
        matches!(builder().tools([t(), t()]).build(), Err(BuildError::DuplicateName(name)) if name == "t")
    );
    assert!(matches!(builder().path("mcp").build(), Err(BuildError::Path(_))));
    assert!(matches!(builder().page_size(0).build(), Err(BuildError::PageSize)));
    assert!(matches!(builder().hosts(["a b"]).build(), Err(BuildError::HostOrOrigin(_))));
    assert!(matches!(builder().origins(["localhost"]).build(), Err(BuildError::HostOrOrigin(_))));
    for id in ["", "noprefix", "a b/c", "/x"] {
        assert!(
            matches!(builder().extension(id, &json!({})).build(), Err(BuildError::Extension(_))),
            "{id}"
        );
    }
    assert!(builder().extension("com.example/x", &5).build().is_err());
}

/// Unusual names are served, case-sensitively.
#[tokio::test]
async fn unusual_names_are_served() {
    let odd = builder()
        .tools(["T", "t", "größe", "a b", "a/b"].map(|name| Tool::new(name, async || "ok")));
    let running = Running::start(odd.build().unwrap()).await;
    for (name, header) in
        [("T", "T"), ("größe", "=?base64?Z3LDtsOfZQ==?="), ("a b", "a b"), ("a/b", "a/b")]
    {
        let reply = running.ask(&Post::call(name, json!({})).set("Mcp-Name", header)).await;
        assert_eq!(reply.tool_text(), "ok");
    }
}

/// Everything said of a tool reaches the list, and nothing else does.
#[tokio::test]
async fn a_tool_is_listed_as_it_was_described() {
    let tool = Tool::new("t", async |_: Args<HashMap<String, Value>>| "ok")
        .title("Title")
        .description("What it does")
        .icon(Icon::new("https://a.example/i.png"))
        .annotations(ToolAnnotations { read_only_hint: Some(true), ..Default::default() })
        .meta("com.example/a", &json!({ "b": 1 }))
        .meta("not a key", &1)
        .requires(ClientCapabilities::default())
        .input_schema(json!({ "type": "object", "x": 1 }))
        .output_schema(json!({ "type": "string" }));
    let reply = Running::start(server([tool])).await.ask(&Post::rpc("tools/list", json!({}))).await;
    assert_eq!(
        reply.result()["tools"],
        json!([{
            "name": "t",
            "title": "Title",
            "description": "What it does",
            "icons": [{ "src": "https://a.example/i.png" }],
            "inputSchema": { "type": "object", "x": 1 },
            "outputSchema": { "type": "string" },
            "annotations": { "readOnlyHint": true },
            "_meta": { "com.example/a": { "b": 1 } },
        }])
    );
}
