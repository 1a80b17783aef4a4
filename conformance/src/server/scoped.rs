//! The same server for those alone who have a token.

use mcp_server::auth::{Dpop, JwtVerifier, ResourceServer};
use mcp_server::{ServerBuilder, Tool};

/// Protects `server`, which is known as `resource`: it takes tokens of `issuer` with the scope `conformance:read`, and has a
/// tool that needs `conformance:write` as well.
pub(super) fn scoped(server: ServerBuilder, resource: &str, issuer: &str) -> ServerBuilder {
    let scoped = Tool::new("test_scoped", async || "You may.")
        .description("Needs the scope conformance:write.")
        .scopes(["conformance:write"]);
    server.tool(scoped).auth(
        ResourceServer::new(resource)
            .authorization_server(issuer)
            .verifier(Dpop::new(JwtVerifier::discover(issuer)))
            .required_scopes(["conformance:read"]),
    )
}
