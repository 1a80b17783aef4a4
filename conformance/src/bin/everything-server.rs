//! The server that the official suite, our own, and the clients of other SDKs are let loose on:
//! `conformance::server::main` says how it is started.

use std::env;
use std::error::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    conformance::server::main(env::args().skip(1)).await
}
