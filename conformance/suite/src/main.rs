//! `mcp-conformance`: tests any server or client of the Model Context Protocol against revision 2026-07-28.

#![allow(
    clippy::indexing_slicing,
    reason = "members of JSON are looked up so; a check that is wrong about its own messages fails and names itself"
)]
#![allow(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

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
