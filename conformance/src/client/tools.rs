//! Discovery and tools.

use std::error::Error;

use mcp_client::Client;
use serde_json::json;

pub(super) async fn discover_and_list(client: &Client) -> Result<(), Box<dyn Error>> {
    client.discover().await?;
    list(client).await
}

/// A schema may refer to another on the network, and to read the list is no reason to fetch that.
pub(super) async fn list(client: &Client) -> Result<(), Box<dyn Error>> {
    client.list_tools().await?;
    Ok(())
}

pub(super) async fn add_numbers(client: &Client) -> Result<(), Box<dyn Error>> {
    list(client).await?;
    client.call_tool("add_numbers", json!({ "a": 5, "b": 3 })).await?;
    Ok(())
}

/// Sends a schema back as it came, for the suite to look for what got lost.
pub(super) async fn echo_schema(client: &Client) -> Result<(), Box<dyn Error>> {
    let listed = client.list_tools().await?;
    let tool = listed.tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = &tool.ok_or("the tool with the schema is not listed")?.input_schema;
    client.call_tool("json_schema_echo", json!({ "schema": schema })).await?;
    Ok(())
}
