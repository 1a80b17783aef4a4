//! What the program `everything-server` serves, and what servers that want tokens do.

mod input;
mod peer;
mod program;
mod prompts;
mod protected;
mod resources;
mod scoped;
mod slow;
mod suite;
mod tools;

use std::fmt;
use std::io::{self, Write};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mcp_server::types::CacheScope;
use mcp_server::{Announces, Key, KeyRing, Server, ServerBuilder, Tool};
use tokio::sync::Notify;

pub use program::main;
pub use protected::protected;

/// The server with everything that the official suite and the clients of other SDKs look for. It notifies `end` when
/// a client wants to see how a shutdown ends its subscriptions.
pub fn everything(end: Arc<Notify>) -> ServerBuilder {
    with([], end)
}

/// The same for the process that started this one, which can ask for its id, to kill it, and have it start a process
/// that reads and writes whatever it inherits.
pub fn over_stdio(end: Arc<Notify>) -> ServerBuilder {
    let more = [
        Tool::new("pid", async || std::process::id().to_string()),
        Tool::new("child", async || {
            let status = Command::new("sh").args(["-c", "cat; echo stray"]).status();
            status.map(|status| status.to_string())
        }),
    ];
    with(more, end)
}

fn with<const N: usize>(more: [Tool; N], end: Arc<Notify>) -> ServerBuilder {
    let server = Server::builder("everything-server", env!("CARGO_PKG_VERSION"));
    let server = resources::add_to(prompts::add_to(server))
        .tools(tools::all())
        .tools(more)
        .tools(input::tools())
        .prompt(input::prompt());
    peer::add_to(slow::add_to(suite::add_to(server)), end)
        .announces(Announces::new().tools().prompts().resources().resource_updates())
        .list_cache(FRESH, CacheScope::Public)
        .state_keys(KeyRing::new(Key::new(KEY)))
}

/// Prints a line on standard output at once, for the process that started this one.
pub fn say(line: impl fmt::Display) {
    let mut out = io::stdout().lock();
    // Nobody may be reading any more, and that is no fault of the server.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The lists change in name only, and the suite looks for a hint about caching.
const FRESH: Duration = Duration::from_mins(1);

/// All processes take the states of each other. What is secret here is nothing.
const KEY: &[u8; 32] = b"the key of all servers like this";
