//! What is wrong on the command line is said, by its name, before anything is asked of anybody.

use super::support::fake::{Fake, discovered};
use super::support::{complaint, suite};

#[test]
fn wrong_arguments() {
    let fake = Fake::start(discovered);
    let url = &*fake.url;
    let rows: &[(&[&str], &str)] = &[
        (&["server"], "--url"),
        (&["server", "--url", url, "--command", "x"], "--command"),
        (&["server", "--url", "ftp://h"], "only http:// and https://"),
        (&["server", "--url", "http://"], "no host"),
        (&["server", "--url", "http://u:p@h/"], "credentials"),
        (&["server", "--url", "http://h/a b"], "percent-encoded"),
        (&["server", "--url", url, "--jobs", "0"], "1..=256"),
        (&["server", "--url", url, "--jobs", "18446744073709551615"], "--jobs"),
        (&["server", "--url", url, "--patience", "0"], "from 0.1 to 600"),
        (&["server", "--url", url, "--patience", "1e19"], "from 0.1 to 600"),
        (&["server", "--url", url, "--patience", "nan"], "from 0.1 to 600"),
        (&["server", "--url", url, "--patience=-1"], "from 0.1 to 600"),
        (&["server", "--url", url, "--header", "x"], "NAME: VALUE"),
        (&["server", "--url", url, "--header", "a: b\r\nX: y"], "control characters"),
        (&["server", "--url", url, "--header", "@/no/such/file"], "/no/such/file"),
        (&["server", "--url", url, "--only", "nope"], "\"nope\""),
        (&["server", "--url", url, "--only", "client-roots"], "other side"),
        (&["server", "--url", url, "--only", "server-stdio-eof"], "other transport"),
        (&["server", "--url", url, "--section", "nope"], "no page \"nope\""),
        (&["server", "--url", url, "--requirement", "nope"], "no requirement \"nope\""),
        (&["server", "--url", url, "--expected", "/no/such/file"], "/no/such/file"),
        (&["server", "--url", url, "--output", "/no/such/folder/file"], "/no/such/folder/file"),
        (&["server", "--url", url, "--report", "html"], "html"),
        (&["client"], "--command"),
        (&["list", "--only", "nope"], "\"nope\""),
        (&["list", "--section", "basic/transport"], "no page"),
        (&["explain", "nope"], "no check and no requirement"),
        (&["explain", "meta-missing"], "server-meta-missing"),
    ];
    for (args, said) in rows {
        let ran = suite(args);
        assert_eq!(ran.status.code(), Some(2), "{args:?}");
        let told = complaint(&ran);
        assert!(told.contains(said), "{args:?}: {told}");
        assert!(!told.contains("panicked"), "{args:?}: {told}");
    }
    assert_eq!(fake.asked(), 0, "nobody was asked anything");
}

#[test]
fn ids_are_explained_as_they_are_listed() {
    let listed =
        String::from_utf8(suite(&["list", "--section", "basic/transports"]).stdout).unwrap();
    assert!(listed.lines().count() > 50);
    let id = listed.split_whitespace().next().unwrap();
    let explained = String::from_utf8(suite(&["explain", id]).stdout).unwrap();
    assert!(explained.starts_with(id) && explained.contains("/basic/"), "{explained}");
}
