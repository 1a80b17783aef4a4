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
    let told = env::var("MCP_CONFORMANCE_CONTEXT");
    let known = told.map_or_else(|_| Ok(Known::default()), |told| serde_json::from_str(&told))?;
    Ok(known.settings())
}

/// What the client was told of itself.
#[derive(Default, Deserialize)]
pub(super) struct Known {
    issuer: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
}

impl Known {
    pub(super) fn settings(self) -> OAuth {
        let oauth = OAuth::sign_in(Robot::default())
            .client_name("everything-client")
            .client_id_metadata("https://conformance-test.local/client-metadata.json");
        match (self.issuer, self.client_id, self.client_secret) {
            (Some(issuer), Some(id), Some(secret)) => {
                oauth.registered(issuer, ClientId::confidential(id, secret))
            }
            _ => oauth,
        }
    }
}

/// Lists the tools and calls the one that there is.
pub(super) async fn use_tools(client: &Client) -> Result<(), Box<dyn Error>> {
    client.list_tools().await?;
    client.call_tool("test-tool", json!({})).await?;
    Ok(())
}
