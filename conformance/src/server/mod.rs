//! What the program `everything-server` serves.

mod input;
mod peer;
mod prompts;
mod resources;
mod tools;

use std::fmt;
use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

use mcp_server::types::CacheScope;
use mcp_server::{Announces, BuildError, Server, Tool};

/// The server with everything that the official suite and the clients of other SDKs look for.
///
/// # Errors
/// None that its definitions do not cause themselves.
pub fn everything() -> Result<Server, BuildError> {
    with([])
}

/// The same for the process that started this one, which can ask for its id, to kill it, and have it start a process
/// that reads and writes whatever it inherits.
///
/// # Errors
/// None that its definitions do not cause themselves.
pub fn over_stdio() -> Result<Server, BuildError> {
    with([
        Tool::new("pid", async || std::process::id().to_string()),
        Tool::new("child", async || {
            let status = Command::new("sh").args(["-c", "cat; echo stray"]).status();
            status.map(|status| status.to_string())
        }),
    ])
}

fn with<const N: usize>(more: [Tool; N]) -> Result<Server, BuildError> {
    let server = Server::builder("everything-server", env!("CARGO_PKG_VERSION"));
    resources::add_to(prompts::add_to(server))
        .tools(tools::all())
        .tools(more)
        .tools(input::tools())
        .tools(peer::all())
        .prompt(input::prompt())
        .announces(Announces::new().tools().prompts().resources().resource_updates())
        .list_cache(FRESH, CacheScope::Public)
        .build()
}

/// Prints a line on standard output at once, for the process that started this one.
pub fn say(line: impl fmt::Display) {
    let mut out = io::stdout().lock();
    // Nobody may be reading any more, and that is no fault of the server.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The lists change in name only, and the suite looks for a hint about caching.
const FRESH: Duration = Duration::from_mins(1);
