//! What every server under test offers that wants tokens, as `peers/README.md` lays down.

use mcp_server::auth::{Access, ResourceServer};
use mcp_server::{Announces, BuildError, Server, Tool};

/// The server that `auth` protects. It tells of changes of its tools, by whoever has its
/// [`notify`](Server::notify): there are none.
///
/// # Errors
/// Those of `auth`.
pub fn protected(auth: ResourceServer) -> Result<Server, BuildError> {
    Server::builder("protected-server", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("whoami", whoami).description("Says who calls."))
        .tool(
            Tool::new("write", async || "written")
                .description("Needs files:write.")
                .scopes(["files:write"]),
        )
        .auth(auth.required_scopes(["mcp"]))
        .announces(Announces::new().tools())
        .build()
}

async fn whoami(access: Access) -> String {
    let client = access.client_id().unwrap_or_default();
    format!("{} by {client}: {}", access.subject(), access.scopes())
}
