//! The client that the official suite lets loose on its servers, once a scenario.
//!
//!     MCP_CONFORMANCE_SCENARIO=NAME everything-client URL
//!
//! Ends with 0 if it could go through the scenario that the suite named.

use std::process::ExitCode;
use std::{env, iter};

use conformance::client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (Ok(scenario), Some(url)) = (env::var("MCP_CONFORMANCE_SCENARIO"), env::args().nth(1))
    else {
        eprintln!("everything-client needs a URL, and a scenario in MCP_CONFORMANCE_SCENARIO");
        return ExitCode::from(2);
    };
    match client::run(&scenario, &url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{scenario}: {error}");
            for cause in iter::successors(error.source(), |error| error.source()) {
                eprintln!("  because {cause}");
            }
            ExitCode::FAILURE
        }
    }
}
