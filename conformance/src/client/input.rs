//! Answering the server, and bringing back its state.

use std::error::Error;

use mcp_client::types::{CreateMessageResult, ElicitAction, ElicitResult, Root};
use mcp_client::{Client, ClientBuilder};
use serde_json::{Value, json};

/// Has a client answer whatever the suite asks for, and so declare that it can.
pub(super) fn answering(builder: ClientBuilder) -> ClientBuilder {
    builder
        .on_elicit(async |form| form.accept(&json!({ "confirmed": true })))
        .on_elicit_url(async |_| ElicitResult::of(ElicitAction::Accept))
        .on_sample(async |_| {
            let text = json!({ "type": "text", "text": "four" });
            let message: Value = json!({ "role": "assistant", "content": text, "model": "none" });
            serde_json::from_value::<CreateMessageResult>(message)
        })
        .on_roots(async || vec![Root::new("file:///")])
}

/// Calls the tools that ask, with another call between the rounds of the first.
pub(super) async fn bring_back_state(client: &Client) -> Result<(), Box<dyn Error>> {
    client.list_tools().await?;
    let call = async |tool: &str| client.call_tool(tool, json!({})).await.map(drop);
    let (asking, unrelated) =
        tokio::join!(call("test_mrtr_echo_state"), call("test_mrtr_unrelated"));
    asking?;
    unrelated?;
    call("test_mrtr_no_state").await?;
    call("test_mrtr_no_result_type").await?;
    Ok(())
}
