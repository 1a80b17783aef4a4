//! What the program `everything-client` does: one scenario of the official suite.

mod auth;
mod auth_extensions;
mod headers;
mod input;
mod robot;
mod steps;
mod tools;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, iter};

use mcp_client::Client;
pub use robot::{Browser, Robot};

/// The program: goes through the scenario that the environment names with the server of its argument. Ends with 0 if
/// it could, and says on standard error why not.
pub async fn main() -> ExitCode {
    let (Ok(scenario), Some(url)) = (env::var("MCP_CONFORMANCE_SCENARIO"), env::args().nth(1))
    else {
        eprintln!("everything-client needs a URL, and a scenario in MCP_CONFORMANCE_SCENARIO");
        return ExitCode::from(2);
    };
    match run(&scenario, &url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{scenario}: {error}");
            for cause in iter::successors(error.source(), |error| (**error).source()) {
                eprintln!("  because {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Goes through `scenario` with the suite's server at `url`. Whether the client did well is for the suite to
/// say, which sees every request.
///
/// # Errors
/// A scenario that this client does not know, a call that should have succeeded, and after some time in any case.
pub async fn run(scenario: &str, url: &str) -> Result<(), Box<dyn Error>> {
    if scenario == "steps" {
        let over_stdio = env::var("MCP_CONFORMANCE_TRANSPORT").is_ok_and(|it| it == "stdio");
        let context = env::var("MCP_CONFORMANCE_CONTEXT")?;
        let steps = steps::go_through(url, over_stdio, &context);
        return tokio::time::timeout(LIMIT_OF_STEPS, steps).await?;
    }
    let builder = input::answering(Client::builder(url));
    let client = if scenario.starts_with("auth/") {
        let oauth = match auth_extensions::settings(scenario, url).await? {
            Some(oauth) => oauth,
            None => auth::settings()?,
        };
        builder.oauth(oauth).build()?
    } else {
        builder.build()?
    };
    let steps = Box::pin(go_through(scenario, &client));
    tokio::time::timeout(LIMIT, steps).await?
}

// Scenarios of one feature stand together, in a module of their own where they take more than a line.
async fn go_through(scenario: &str, client: &Client) -> Result<(), Box<dyn Error>> {
    match scenario {
        "request-metadata" => tools::discover_and_list(client).await,
        "tools_call" => tools::add_numbers(client).await,
        "json-schema-ref-no-deref" => tools::list(client).await,
        "json-schema-2020-12-preservation" => tools::echo_schema(client).await,
        "sep-2322-client-request-state" => input::bring_back_state(client).await,
        "http-standard-headers" => headers::standard(client).await,
        "http-custom-headers" => headers::custom(client).await,
        "http-invalid-tool-headers" => headers::invalid(client).await,
        _ if scenario.starts_with("auth/") => auth::use_tools(client).await,
        _ => Err(format!("{scenario} is no scenario that this client knows").into()),
    }
}

/// More than the suite waits for a client, lest one that was left behind lives for ever.
const LIMIT_OF_STEPS: Duration = Duration::from_secs(120);
/// Less than the 30 s after which the suite kills the shell around this program, but not the program.
const LIMIT: Duration = Duration::from_secs(25);
