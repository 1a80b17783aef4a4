//! Follows the changes of the server at URL, or at `http://127.0.0.1:8080/mcp`, until it is told to stop.

use std::time::Duration;

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Backoff, Change, Client};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8080/mcp".to_owned());
    let client = Client::http(url)?;
    let mut changes = client
        .listen(SubscriptionFilter::new().tools().prompts().resources())
        // Four keep-alive comments missed: the connection is gone, though nobody said so.
        .lost_after(Duration::from_secs(60))
        .relisten(Backoff::new())
        .await?;
    println!("the server grants {:?}", changes.acknowledged());
    loop {
        let change = tokio::select! {
            change = changes.next() => change,
            _ = tokio::signal::ctrl_c() => {
                changes.close();
                None
            }
        };
        match change {
            // After an interruption anything may have changed, tools too.
            Some(Change::Tools | Change::Stale) => {
                println!("{} tools", client.list_tools().all().await?.len());
            }
            Some(other) => println!("{other:?}"),
            None => break,
        }
    }
    println!("it ended: {:?}", changes.end());
    Ok(())
}
