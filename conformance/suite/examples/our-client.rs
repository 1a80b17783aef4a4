//! Our client, for the tests of the suite: the program `everything-client` under another name, since cargo builds the
//! examples of a package with its tests, and no programs of others.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    conformance::client::main().await
}
