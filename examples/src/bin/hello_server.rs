//! The smallest server: `http://127.0.0.1:8080/mcp` with one tool.

use mcp_server::{Args, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Hello {
    /// Who is to be greeted.
    name: String,
}

async fn hello(Args(Hello { name }): Args<Hello>) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Server::builder("hello-server", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("hello", hello).description("Greets somebody"))
        .build()?
        .serve("127.0.0.1:8080")
        .shutdown_on(async { drop(tokio::signal::ctrl_c().await) })
        .await?;
    Ok(())
}
