//! Runs the suite against what is broken, several at once.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use super::change::Change;
use super::lines::Lines;
use super::proxy::Proxy;
use super::{NOT_PASSED_ON, Side};

/// What a run of the suite found.
#[derive(Debug)]
pub(super) struct Found {
    /// The checks that failed or warned, in their order.
    pub(super) checks: Vec<String>,
    pub(super) report: String,
}

/// What is broken, how, and the requirements that are tested.
type Job = (Side, Change, Vec<&'static str>);

/// Runs of the suite at once: most of them wait most of the time.
const AT_ONCE: usize = 8;
/// Checks at once in each.
const JOBS: &str = "12";
/// Seconds that a check waits for the next thing to happen.
const PATIENCE: &str = "3";

/// What was found by each job, in their order.
pub(super) async fn run(jobs: Vec<Job>) -> Vec<Found> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let tasks = jobs.into_iter().map(|job| {
        let turns = Arc::clone(&turns);
        tokio::spawn(async move {
            let _turn = turns.acquire().await;
            one(job).await
        })
    });
    let mut found = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        found.push(task.await.unwrap());
    }
    found
}

async fn one((side, change, requirements): Job) -> Found {
    let mut suite = Command::new(env!("CARGO_BIN_EXE_mcp-conformance"));
    let _server = match side {
        Side::Server => {
            let (server, address) = serving().await;
            let port = Proxy::start(change, Some(address)).await.unwrap();
            suite.args(["server", "--url", &format!("http://127.0.0.1:{port}/mcp")]);
            Some(server)
        }
        Side::Stdio => {
            let port = Lines::start(change, example("our-server")).await.unwrap();
            let bridge = env!("CARGO_BIN_EXE_mcp-conformance");
            suite.args(["server", "--command", &format!("exec {bridge} bridge 127.0.0.1:{port}")]);
            None
        }
        Side::Client => {
            let port = Proxy::start(change, None).await.unwrap();
            let client = example("our-client");
            // The URL goes behind it; our client gets that of the proxy, with where the server is in its path.
            let client = client.display();
            let command =
                format!("bent() {{ exec {client} http://127.0.0.1:{port}/${{1#http://}}; }}; bent");
            suite.args(["client", "--command", &command]);
            None
        }
    };
    for requirement in requirements {
        suite.args(["--requirement", requirement]);
    }
    suite.args(["--report", "json", "--jobs", JOBS, "--patience", PATIENCE]);
    let output = suite.kill_on_drop(true).output().await.unwrap();
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let parsed = serde_json::from_str::<Value>(&report).unwrap_or_else(|error| {
        panic!("{error}: {report}{}", String::from_utf8_lossy(&output.stderr))
    });
    let checks = parsed["checks"].as_array().into_iter().flatten();
    let caught = checks.filter(|check| check["outcome"] == "fail" || check["outcome"] == "warn");
    let ids = caught.filter_map(|check| check["id"].as_str().map(str::to_owned));
    let checks = ids.filter(|check| !NOT_PASSED_ON.contains(&&**check)).collect();
    Found { checks, report }
}

/// Our server, which ends with its input, and where it listens.
async fn serving() -> (Child, String) {
    let mut server = Command::new(example("our-server"))
        // Small pages, so that lists have several.
        .args(["--until-eof", "--page-size", "7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = server.stdout.take().expect("a pipe was asked for");
    let line = BufReader::new(output).lines().next_line().await.unwrap().unwrap_or_default();
    let port = line.strip_prefix("listening ").expect("a server says where");
    (server, format!("127.0.0.1:{port}"))
}

/// A program that cargo has built with the tests.
fn example(name: &str) -> PathBuf {
    let suite = PathBuf::from(env!("CARGO_BIN_EXE_mcp-conformance"));
    suite.with_file_name("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}
