//! Our server, for the tests of the suite: the program `everything-server` under another name, since cargo builds the
//! examples of a package with its tests, and no programs of others.

use std::env;
use std::error::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    conformance::server::main(env::args().skip(1)).await
}
