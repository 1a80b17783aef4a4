//! `mcp-conformance`: tests any server or client of the Model Context Protocol against revision 2026-07-28.

mod check;
mod cli;
mod client;
mod expected;
mod issuer;
mod report;
mod requirement;
mod run;
mod server;
mod shape;
mod verdict;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
