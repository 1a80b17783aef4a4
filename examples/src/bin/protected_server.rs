//! A server for those who have a token: tools that take scopes, and callers with a name.
//!
//! ```sh
//! cargo run -p examples --bin protected_server
//! ```
//!
//! In another terminal:
//!
//! ```sh
//! call() { curl -si http://127.0.0.1:8080/mcp -H 'Content-Type: application/json' \
//!     -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
//!     -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" ${2:+-H "Authorization: Bearer $2"} \
//!     -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'$1'","_meta":{
//!         "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!         "io.modelcontextprotocol/clientCapabilities":{}}}}'; echo; }
//!
//! call read            # 401: a token is needed, and where to learn about it
//! curl -s http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp
//! call read ann        # 200
//! call write ann       # 403: the scopes that it takes
//! call write bob       # 200
//! ```
//!
//! With the issuer of an authorization server, it takes the tokens of that in place of these two; `signing_in` has the
//! other side:
//!
//! ```sh
//! cargo run -p examples --bin protected_server -- http://127.0.0.1:9000
//! ```

use std::env;
use std::error::Error;
use std::sync::Arc;

use mcp_server::auth::{Access, JwtVerifier, ResourceServer, StaticTokens, TokenVerifier};
use mcp_server::{Server, Tool};

async fn read(access: Access) -> String {
    format!("The notes that {} may read", access.subject())
}

async fn write(access: Access) -> String {
    format!("{} has written a note", access.subject())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let issuer = env::args().nth(1);
    let verifier: Arc<dyn TokenVerifier> = match &issuer {
        Some(issuer) => Arc::new(JwtVerifier::discover(issuer)),
        None => Arc::new(two_tokens()),
    };
    let auth = ResourceServer::new("http://127.0.0.1:8080/mcp")
        .authorization_server(issuer.as_deref().unwrap_or("http://127.0.0.1:9000"))
        .verifier(verifier)
        .scopes_supported(["notes:read"])
        .implies("notes:write", ["notes:read"]);
    Server::builder("notes", "1.0.0")
        .tool(Tool::new("read", read).description("Read notes").scopes(["notes:read"]))
        .tool(Tool::new("write", write).description("Write a note").scopes(["notes:write"]))
        .auth(auth)
        .build()?
        .serve("127.0.0.1:8080")
        .await?;
    Ok(())
}

/// Good for trying things out, and for nothing else.
fn two_tokens() -> StaticTokens {
    StaticTokens::new()
        .token("ann", Access::new("example", "Ann").with_scopes(["notes:read"]))
        .token("bob", Access::new("example", "Bob").with_scopes(["notes:write"]))
}
