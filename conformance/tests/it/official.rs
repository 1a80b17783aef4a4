//! The official conformance suite, both legs.

use std::path::Path;

use conformance::official::{Subject, Suite};

use crate::support::{Serving, alone, is_installed, peers};

#[test]
fn the_server_is_as_expected() {
    if is_installed(SUITE) {
        let server = Serving::ours();
        check(Subject::Server { url: &server.url });
    }
}

#[test]
fn the_client_is_as_expected() {
    if is_installed(SUITE) {
        check(Subject::Client { program: Path::new(env!("CARGO_BIN_EXE_everything-client")) });
    }
}

fn check(subject: Subject<'_>) {
    let _alone = alone();
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let verdict = Suite::new(peers(), out).check(subject).unwrap();
    assert!(verdict.is_pass(), "{verdict}");
    println!("{verdict}");
}

const SUITE: &str = "node_modules/.bin/conformance";
