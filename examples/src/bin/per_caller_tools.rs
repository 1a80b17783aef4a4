//! Tools that only some callers see: the rest can neither list nor call them, nor tell that they exist.

use axum::{Extension, Router};
use mcp_client::Client;
use mcp_server::{Caller, Item, RequestParts, Server, Tool};

/// Asked for everything that is listed or named. Who the caller is has been established before.
fn visible(item: Item<'_>, request: &RequestParts) -> bool {
    let is_admin = request.caller.as_ref().is_some_and(|caller| caller.principal() == "ada");
    is_admin || !item.key().starts_with("admin_")
}

/// Stands for real authentication: a layer that puts a `Caller` into the request's extensions.
fn as_caller(server: &Server, name: &str) -> Client {
    let authenticated = Router::new().fallback_service(server.service());
    Client::in_process(authenticated.layer(Extension(Caller::new(name))))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("office", "1.0.0")
        .tool(Tool::new("lights", async || "on"))
        .tool(Tool::new("admin_doors", async || "unlocked"))
        .visible(visible)
        .build()?;
    for name in ["ada", "bob"] {
        let client = as_caller(&server, name);
        let tools = client.list_tools().all().await?;
        println!("{name} sees {:?}", tools.iter().map(|tool| &tool.name).collect::<Vec<_>>());
        match client.call_tool("admin_doors", ()).await {
            Ok(result) => println!("{name} calls: {:?}", result.content),
            Err(error) => println!("{name} is told: {error}"),
        }
    }
    Ok(())
}
