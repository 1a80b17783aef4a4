//! Signing in. All scenarios are alike for the client, which reads what to do from what servers say.

use std::env;
use std::error::Error;

use mcp_client::Client;
use mcp_client::oauth::{ClientId, OAuth};
use serde::Deserialize;
use serde_json::json;

use super::Robot;

/// Who the client is, as far as the scenario has told it.
pub(super) fn settings() -> Result<OAuth, Box<dyn Error>> {
    let mut oauth = OAuth::sign_in(Robot::default())
        .client_name("everything-client")
        .client_id_metadata("https://conformance-test.local/client-metadata.json");
    if let Ok(context) = env::var("MCP_CONFORMANCE_CONTEXT") {
        let context: Context = serde_json::from_str(&context)?;
        if let (Some(issuer), Some(id), Some(secret)) =
            (context.issuer, context.client_id, context.client_secret)
        {
            oauth = oauth.registered(issuer, ClientId::confidential(id, secret));
        }
    }
    Ok(oauth)
}

#[derive(Deserialize)]
struct Context {
    issuer: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
}

/// Lists the tools and calls the one that there is.
pub(super) async fn use_tools(client: &Client) -> Result<(), Box<dyn Error>> {
    client.list_tools().await?;
    client.call_tool("test-tool", json!({})).await?;
    Ok(())
}
