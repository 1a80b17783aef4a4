//! Tools that come and go while the server serves, and a client that follows them.

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Change, Client};
use mcp_server::{Announces, Args, BuildError, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Plugin {
    name: String,
}

/// A handler gets at its own server, and edits what that offers.
async fn install(
    server: Server,
    Args(Plugin { name }): Args<Plugin>,
) -> Result<String, BuildError> {
    let says = format!("{name} at work");
    let tool = Tool::new(name.clone(), move || std::future::ready(says.clone()));
    // Nothing happens before `apply`, and then all of it does, or nothing.
    server.edit().add_tool(tool).apply()?;
    Ok(format!("{name} is installed"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("plugins", "1.0.0")
        .tool(Tool::new("install", install))
        // Clients that listen are told by every edit.
        .announces(Announces::new().tools())
        .build()?;
    let client = Client::in_process(server.service());
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await?;

    client.call_tool("install", Plugin { name: "weather".to_owned() }).await?;
    if changes.next().await == Some(Change::Tools) {
        for tool in client.list_tools().all().await? {
            println!("there is {}", tool.name);
        }
    }
    println!("{:?}", client.call_tool("weather", ()).await?.content);

    // Twice is once too often, and says so.
    let again = client.call_tool("install", Plugin { name: "weather".to_owned() }).await?;
    println!("again: failed {}", again.is_error());

    // From outside of a handler it is the same.
    server.edit().remove_tool("weather").remove_tool("install").apply()?;
    println!("{:?}, then {} tools", changes.next().await, client.list_tools().all().await?.len());
    Ok(())
}
