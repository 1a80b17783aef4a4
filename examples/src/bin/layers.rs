//! What is done around calls: metrics for all of them, a limit of how often each caller may call, and a time limit for
//! one slow tool.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_client::Client;
use mcp_server::layer::{Call, CallLayer, CallOutcome, Next, RateLimit, from_fn};
use mcp_server::{Server, Tool};
use tower::timeout::TimeoutLayer;

/// What there is to know of the calls of each target.
#[derive(Clone, Default)]
struct Metrics(Arc<Mutex<BTreeMap<String, Count>>>);

#[derive(Debug, Default)]
struct Count {
    calls: u32,
    failures: u32,
    time: Duration,
}

impl Metrics {
    fn layer(&self) -> impl CallLayer + use<> {
        let metrics = self.clone();
        from_fn(move |call: Call, next: Next| {
            let metrics = metrics.clone();
            async move {
                let (target, begun) = (call.target().to_owned(), Instant::now());
                let outcome = next.run(call).await;
                metrics.count(target, &outcome, begun.elapsed());
                outcome
            }
        })
    }

    fn count(&self, target: String, outcome: &CallOutcome, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(target).or_default();
        count.calls += 1;
        count.failures += u32::from(outcome.is_failure());
        count.time += took;
    }
}

async fn quick() -> &'static str {
    "here you are"
}

async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    "too late"
}

fn server(metrics: &Metrics) -> Result<Server, mcp_server::BuildError> {
    Server::builder("layers", "1.0.0")
        .tool(Tool::new("quick", quick))
        .tool(Tool::new("slow", slow).layer(TimeoutLayer::new(Duration::from_millis(100))))
        // Five calls at once, and one more every ten seconds.
        .layer(RateLimit::new(6, Duration::from_secs(60)).burst(5))
        // Added last, so it lies outermost and counts what the limit refuses too.
        .layer(metrics.layer())
        .build()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = Metrics::default();
    let client = Client::in_process(server(&metrics)?.service());
    for tool in ["quick", "slow", "quick", "quick", "quick", "quick"] {
        match client.call_tool(tool, ()).await {
            Ok(result) => println!("{tool}: {:?}", result.content),
            Err(error) => println!("{tool}: {error}"),
        }
    }
    println!("{:#?}", metrics.0.lock().unwrap());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_sixth_call_is_too_many() {
        let metrics = Metrics::default();
        let client = Client::in_process(server(&metrics).unwrap().service());
        for _ in 0..5 {
            client.call_tool("quick", ()).await.unwrap();
        }
        let refused = client.call_tool("quick", ()).await.unwrap_err();
        assert_eq!(refused.status().map(|status| status.as_u16()), Some(429));
        assert_eq!(metrics.0.lock().unwrap()["quick"].failures, 1);
    }
}
