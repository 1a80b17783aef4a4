//! The client that the official suite and our own let loose on their servers, once a scenario.
//!
//!     MCP_CONFORMANCE_SCENARIO=NAME everything-client URL
//!
//! Ends with 0 if it could go through the scenario that the suite named.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    conformance::client::main().await
}
