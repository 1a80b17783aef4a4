//! The headers that mirror a request.

use std::env;
use std::error::Error;

use mcp_client::Client;
use mcp_client::types::JsonMap;
use serde::Deserialize;
use serde_json::json;

/// Uses everything that is listed.
pub(super) async fn standard(client: &Client) -> Result<(), Box<dyn Error>> {
    for tool in client.list_tools().await?.tools {
        client.call_tool(tool.name, json!({})).await?;
    }
    for resource in client.list_resources().await?.resources {
        client.read_resource(resource.uri).await?;
    }
    for prompt in client.list_prompts().await?.prompts {
        client.get_prompt(prompt.name, ()).await?;
    }
    Ok(())
}

/// Makes the calls that the suite asks for, their arguments untouched.
pub(super) async fn custom(client: &Client) -> Result<(), Box<dyn Error>> {
    let context: Context = serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    client.list_tools().await?;
    for call in context.tool_calls {
        client.call_tool(call.name, call.arguments).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: JsonMap,
}

/// Calls every tool that is left: those with a wrong header are not to be among them.
pub(super) async fn invalid(client: &Client) -> Result<(), Box<dyn Error>> {
    for tool in client.list_tools().await?.tools {
        client.call_tool(tool.name, json!({ "region": "us-west1" })).await?;
    }
    Ok(())
}
