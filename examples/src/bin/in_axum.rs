//! A server among the routes of an axum application, with a value that the application's own layer hands to
//! the tools.
//!
//! Try it with `curl -H 'x-tenant: acme'` or any client that sends that header.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use mcp_server::{Extension, Server, Tool};

#[derive(Clone)]
struct Tenant(String);

async fn whoami(Extension(Tenant(name)): Extension<Tenant>) -> String {
    format!("You are {name}")
}

/// What an application knows about a request goes into its extensions, where handlers find it.
async fn tenant(mut request: Request, next: Next) -> Response {
    let name = request.headers().get("x-tenant").and_then(|value| value.to_str().ok());
    let tenant = Tenant(name.unwrap_or("nobody").to_owned());
    request.extensions_mut().insert(tenant);
    next.run(request).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mcp = Server::builder("in-axum", "1.0.0")
        .tool(Tool::new("whoami", whoami).description("Says who is calling"))
        .build()?;
    let app = Router::new()
        .route("/", get(async || "The MCP endpoint is at /mcp"))
        .route_service("/mcp", mcp.service())
        .layer(from_fn(tenant));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
