//! The programs: ours, and the suite.

pub(crate) mod fake;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;

pub(crate) const SUITE: &str = env!("CARGO_BIN_EXE_mcp-conformance");

/// An example of this package, which cargo builds with all of its tests: not for `--test it` alone.
pub(crate) fn example(name: &str) -> PathBuf {
    let folder = Path::new(SUITE).parent().unwrap().join("examples");
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Our server. It is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = Command::new(example("our-server"));
        command.arg("--until-eof").args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening ").expect("a server says where");
        Self { url: format!("http://127.0.0.1:{port}/mcp"), child }
    }

    /// The command that stops it.
    pub(crate) fn stop(&self) -> String {
        format!("kill -TERM {}", self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of this machine where nobody listens yet.
pub(crate) fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Runs the suite, with no token of this machine's.
pub(crate) fn suite(args: &[&str]) -> Output {
    Command::new(SUITE).env_remove("MCP_CONFORMANCE_TOKEN").args(args).output().unwrap()
}

/// The same with that much memory, where a shell can say so.
pub(crate) fn suite_within(kib: u64, args: &[&str]) -> Output {
    let script = format!("ulimit -v {kib} 2>/dev/null; exec \"$0\" \"$@\"");
    let mut shell = Command::new("sh");
    // Each thread would claim address space that it does not use.
    shell.env("MALLOC_ARENA_MAX", "1").args(["-c", &script, SUITE]).args(args).output().unwrap()
}

/// What a run says that there was not: it wrote no report, and ended with 2.
pub(crate) fn complaint(ran: &Output) -> String {
    let told = String::from_utf8(ran.stderr.clone()).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(ran.stdout.is_empty(), "{}", String::from_utf8_lossy(&ran.stdout));
    told
}

/// The checks of a report in JSON: id, outcome, and all of it.
pub(crate) fn outcomes(ran: &Output) -> Vec<(String, String, Value)> {
    let told = String::from_utf8_lossy(&ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{told}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = report["checks"].as_array().unwrap().iter();
    checks.map(|it| (text(&it["id"]), text(&it["outcome"]), it.clone())).collect()
}

/// Runs the suite, which has to find nothing, to warn of nothing, and to skip nothing but for reasons that contain one of
/// `fine`.
pub(crate) fn finds_nothing(what: &str, args: &[&str], fine: &[&str]) {
    let begun = Instant::now();
    let ran = Command::new(SUITE).args(args).args(["--report", "json"]).output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{told}"));
    let checks = report["checks"].as_array().unwrap();
    let of = |outcome| checks.iter().filter(move |it| it["outcome"] == outcome);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    say(&format!(
        "{what}: {} passed, {} with a warning, {} skipped, in {:.1} s",
        report["passed"],
        report["warnings"],
        report["skipped"],
        begun.elapsed().as_secs_f64()
    ));
    let found: Vec<_> = of("fail")
        .chain(of("warn"))
        .map(|it| {
            let (expected, seen, log) =
                (text(&it["expected"]), text(&it["seen"]), text(&it["log"]));
            format!("{}: expected {expected}\n  seen {seen}\n{log}", text(&it["id"]))
        })
        .collect();
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
    assert!(ran.status.success(), "{what}: {}\n{told}", ran.status);
    let skipped: Vec<_> = of("skip")
        .filter(|it| fine.iter().all(|reason| !text(&it["why"]).contains(reason)))
        .map(|it| format!("{}: {}", text(&it["id"]), text(&it["why"])))
        .collect();
    assert!(skipped.is_empty(), "{what}: skipped without need:\n{}", skipped.join("\n"));
}

/// Not by the macro: what it prints is only shown when a test fails.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
