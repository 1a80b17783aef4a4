//! A revision 2026-07-28 server on tower-mcp, with what our suite looks for (`conformance/suite/README.md`).
//!
//!     tower-mcp-server [PORT]
//!     tower-mcp-server --stdio
//!
//! Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
//! Serves until its standard input closes, so it cannot outlive the process that started it.

mod asking;
mod offers;
mod tools;

use std::{env, io, process, thread};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_mcp::{BoxError, Error, HttpTransport, McpRouter, ProtocolSupport, StdioTransport};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let argument = env::args().nth(1);
    let router = McpRouter::new()
        .server_info("tower-mcp-suite", "0.25.0")
        .tools_list_changed(true)
        .prompts_list_changed(true)
        .resources_list_changed(true)
        .resource_subscriptions(true)
        .mcp_logging(true)
        .tools(tools::all())
        .tools(asking::all()?);
    let router = offers::add_to(router);
    let support = ProtocolSupport::try_new(["2026-07-28"])?;
    if argument.as_deref() == Some("--stdio") {
        StdioTransport::new(router).protocol_support(support).run().await?;
        return Ok(());
    }
    let port = argument.map_or(Ok(0), |port| port.parse::<u16>())?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening {}", listener.local_addr()?.port());
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
    let service = HttpTransport::new(router).protocol_support(support).into_router_at("/mcp");
    axum::serve(listener, service).await?;
    Ok(())
}

/// A value of the SDK's from how it looks on the wire.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| Error::internal(error.to_string()))
}
