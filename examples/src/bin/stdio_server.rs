//! A server for whoever starts it: one message a line, over standard input and output.
//!
//! ```sh
//! cargo build -p examples
//! cargo run -p examples --bin child_process -- target/debug/stdio_server
//! ```

use std::time::Duration;

use mcp_server::{Args, Progress, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// How far to count.
    to: u32,
}

async fn count(progress: Progress, Args(Count { to }): Args<Count>) -> String {
    for n in 1..=to {
        // Would break the protocol if standard output were still it; on Unix it is standard error by now.
        println!("counting {n}");
        progress.report_of(n, to);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    format!("{to} it is")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Logs belong on standard error.
    eprintln!("waiting for a client");
    Server::builder("stdio-server", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("count", count).description("Counts aloud"))
        .build()?
        .serve_stdio()
        // The end of its input ends it anyway.
        .shutdown_on(async { drop(tokio::signal::ctrl_c().await) })
        .await?;
    Ok(())
}
