//! A resource that changes, and a client that reads it again whenever it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Change, Client};
use mcp_server::{Announces, Notify, Resource, Server, Tool};

const GAUGE: &str = "plant:///boiler/temperature";

#[derive(Default)]
struct Boiler(AtomicI32);

async fn read(boiler: Arc<Boiler>) -> String {
    format!("{} degrees", boiler.0.load(Ordering::Relaxed))
}

/// Handlers take a `Notify`; everything else gets one from `Server::notify`.
async fn heat(boiler: Arc<Boiler>, notify: Notify) -> &'static str {
    boiler.0.fetch_add(10, Ordering::Relaxed);
    notify.resource_updated(GAUGE);
    "warmer"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("plant", "1.0.0")
        .resource(Resource::new(GAUGE, "temperature", read))
        .tool(Tool::new("heat", heat))
        // What is not announced cannot be listened for.
        .announces(Announces::new().resource_updates())
        .state(Arc::new(Boiler::default()))
        .build()?;
    let service = server.service();
    let client = Client::in_process(service.clone());
    let mut changes = client.listen(SubscriptionFilter::new().resource(GAUGE)).await?;
    for _ in 0..2 {
        client.call_tool("heat", ()).await?;
        if let Some(Change::Resource(update)) = changes.next().await {
            let read = client.read_resource(&update.uri).await?;
            println!("{}: {:?}", update.uri, read.contents);
        }
    }
    // `serve` does this by itself when it shuts down.
    service.end_subscriptions();
    println!("{:?}, {:?}", changes.next().await, changes.end());
    Ok(())
}
