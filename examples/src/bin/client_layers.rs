//! What is done around a client's calls: metrics for all of them, a time limit, and a header for each, such as a token
//! that is renewed now and then. Of tower's own layers any will do that does not clone calls; to repeat them there is
//! `ClientBuilder::retry`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_client::{CallRequest, CallResponse, CallService, Client, ClientBuilder, Error};
use mcp_server::{Server, Tool};
use tower::layer::layer_fn;
use tower::timeout::TimeoutLayer;
use tower::util::MapRequestLayer;
use tower::{Service, service_fn};

/// How many calls of each target there were, how many of them failed, and how long they took.
type Metrics = Arc<Mutex<BTreeMap<String, (u32, u32, Duration)>>>;

async fn counted(
    metrics: Metrics,
    mut inner: CallService,
    call: CallRequest,
) -> Result<CallResponse, Error> {
    let (target, begun) = (call.target().unwrap_or(call.method()).to_owned(), Instant::now());
    let made = inner.call(call).await;
    let failed = made.as_ref().map_or(true, CallResponse::is_tool_error);
    let mut counts = metrics.lock().unwrap_or_else(PoisonError::into_inner);
    let (calls, failures, time) = counts.entry(target).or_default();
    *calls += 1;
    *failures += u32::from(failed);
    *time += begun.elapsed();
    made
}

fn with_token(mut call: CallRequest) -> CallRequest {
    call.set_header("authorization", "Bearer the-latest-one").expect("it is a header");
    call
}

async fn whoami(context: mcp_server::Context) -> String {
    format!("You show a token: {}", context.headers().contains_key("authorization"))
}

async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    "too late"
}

fn client(metrics: Metrics) -> Result<Client, Box<dyn std::error::Error>> {
    let server = Server::builder("client-layers", "1.0.0")
        .tool(Tool::new("whoami", whoami))
        .tool(Tool::new("slow", slow))
        .build()?;
    let client = ClientBuilder::in_process(server.service())
        .layer(MapRequestLayer::new(with_token))
        .layer(TimeoutLayer::new(Duration::from_millis(100)))
        // Added last, so it lies outermost and counts what the time limit ends too.
        .layer(layer_fn(|inner: CallService| {
            let metrics = Arc::clone(&metrics);
            service_fn(move |call| counted(Arc::clone(&metrics), inner.clone(), call))
        }));
    Ok(client.build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = Metrics::default();
    let client = client(Arc::clone(&metrics))?;
    for tool in ["whoami", "slow", "whoami"] {
        match client.call_tool(tool, ()).await {
            Ok(result) => println!("{tool}: {:?}", result.content),
            Err(error) => println!("{tool}: {error}"),
        }
    }
    println!("{:?}", metrics.lock().unwrap());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_are_counted() {
        let metrics = Metrics::default();
        let client = client(Arc::clone(&metrics)).unwrap();
        assert!(format!("{:?}", client.call_tool("whoami", ()).await.unwrap()).contains("true"));
        assert!(client.call_tool("slow", ()).await.unwrap_err().is_layer());
        let counts = metrics.lock().unwrap();
        assert_eq!((counts["whoami"].1, counts["slow"].1), (0, 1));
    }
}
