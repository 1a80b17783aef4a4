//! Servers that are not there, have no end, or go away: the run ends, soon, and says so once.

use std::net::TcpStream;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use super::support::fake::{Fake, discovered, pour};
use super::support::{complaint, free_address, outcomes, suite, suite_within};

type Answer = fn(&mut TcpStream, &str);

/// Waits for the end of the test.
fn hold() {
    loop {
        thread::park();
    }
}

/// Impatient with what is silent on purpose.
const HASTE: [&str; 6] = ["--patience", "0.3", "--wait", "0", "--report", "json"];

fn tested(url: &str, more: &[&str]) -> Output {
    suite(&[&["server", "--url", url], HASTE.as_slice(), more].concat())
}

#[test]
fn nobody_answers() {
    let fakes: [(&str, Answer); 5] = [
        ("nothing for 300ms", |_, _| hold()),
        ("a head of more than", |stream, _| pour(stream, "HTTP/1.1 200 OK\r\n", b"X: y\r\n")),
        ("a head of more than", |stream, _| pour(stream, "", b"garbage\0\x1b[31m")),
        ("the connection was closed without a response", |stream, _| pour(stream, "ga", b"")),
        ("the connection was closed without a response", |_, _| ()),
    ];
    for (why, answer) in fakes {
        let ran = tested(&Fake::start(answer).url, &[]);
        let told = complaint(&ran);
        assert!(told.starts_with("the server cannot be tested: http://127.0.0.1:"), "{told}");
        assert!(told.contains(why), "{why}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    let told = complaint(&tested(&format!("http://{}", free_address()), &[]));
    assert!(told.contains("no connection to 127.0.0.1:"), "{told}");
}

#[test]
fn replies_without_end() {
    const JSON: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    let fakes: [(&str, Answer); 6] = [
        ("a body", |stream, _| pour(stream, &format!("{JSON}\r\n["), &b"1,".repeat(1 << 15))),
        ("a line of an event", |stream, _| {
            pour(stream, &format!("{STREAM}\r\ndata: "), &[b'x'; 1 << 16]);
        }),
        ("events", |stream, _| {
            pour(stream, &format!("{STREAM}\r\n"), &b"data: {\"method\":\"x\"}\n\n".repeat(1000));
        }),
        ("a line between chunks", |stream, _| {
            pour(stream, &format!("{JSON}Transfer-Encoding: chunked\r\n\r\n"), &[b'0'; 1 << 16]);
        }),
        ("a chunk", |stream, _| {
            let head = format!("{JSON}Transfer-Encoding: chunked\r\n\r\nffffff\r\n");
            pour(stream, &head, &[b' '; 1 << 16]);
        }),
        ("a gigabyte", |stream, _| {
            pour(stream, &format!("{JSON}Content-Length: 1000000000\r\n\r\n"), &[b' '; 1 << 16]);
        }),
    ];
    for (what, answer) in fakes {
        let fake = Fake::start(answer);
        let args = ["server", "--url", &fake.url, "--only", "server-discover-implemented"];
        let ran = suite_within(MEMORY_KIB, &[&args, ["--report", "json"].as_slice()].concat());
        let outcomes = outcomes(&ran);
        let [(_, outcome, check)] = &*outcomes else { panic!("{what}: {outcomes:?}") };
        assert_eq!(outcome, "fail", "{what}: {check}");
        let seen = check["seen"].as_str().unwrap();
        assert!(seen.contains("no end of") || seen.contains("more than"), "{what}: {seen}");
        assert_eq!(ran.status.code(), Some(1), "{what}");
    }
}

/// Address space of a run, in KiB: far more than it takes, and far less than what it is sent.
const MEMORY_KIB: u64 = 3 << 20;

/// The run is broken off, once, and what was left is skipped.
fn broken(ran: &Output) {
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let why = report["broken"].as_str().unwrap_or_else(|| panic!("{report:#}"));
    assert!(why.contains("http://127.0.0.1:"), "{why}");
    assert_eq!(ran.status.code(), Some(1));
    let outcomes = outcomes(ran);
    let failed = outcomes.iter().filter(|(_, outcome, _)| outcome == "fail").count();
    let gone = |(_, outcome, check): &&(String, String, Value)| {
        outcome == "skip" && check["why"].as_str().is_some_and(|why| why.contains("was gone"))
    };
    let skipped = outcomes.iter().filter(gone).count();
    assert!(skipped > 100 && failed < 60, "{skipped} skipped, {failed} failed");
}

#[test]
fn a_server_that_dies() {
    broken(&tested(&Fake::start_for(30, discovered).url, &[]));
    let fake = Fake::start_for(30, discovered);
    let ran = suite(&["server", "--url", &fake.url, "--patience", "0.3", "--report", "junit"]);
    let xml = String::from_utf8(ran.stdout).unwrap();
    assert!(xml.contains("<testcase name=\"the server is there to the end\"><failure"), "{xml}");
}

#[test]
fn a_server_that_falls_silent() {
    let count = AtomicUsize::new(0);
    let fake = Fake::start(move |stream, request| {
        if count.fetch_add(1, Ordering::SeqCst) >= 30 {
            hold();
        }
        discovered(stream, request);
    });
    broken(&tested(&fake.url, &[]));
}

#[test]
fn a_server_that_starts_late_is_waited_for() {
    let address = free_address();
    let url = format!("http://{address}/mcp");
    let run = thread::spawn(move || {
        let only = ["--wait", "60", "--only", "server-discover-implemented"];
        suite(&[&["server", "--url", &url, "--report", "json"], only.as_slice()].concat())
    });
    let fake = Fake::start_at(&address, discovered);
    let ran = run.join().unwrap();
    assert!(fake.asked() > 0);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
}
