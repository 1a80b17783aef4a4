//! Runs the suite against what is broken, several at once.

use std::sync::Arc;

use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

use super::change::Change;
use super::lines::Lines;
use super::proxy::Proxy;
use super::{NOT_PASSED_ON, Side};
use crate::support::{SUITE, Server, example};

/// What a run of the suite found.
#[derive(Debug)]
pub(super) struct Found {
    /// The checks that failed, in their order.
    pub(super) failed: Vec<String>,
    /// Those that warned.
    pub(super) warned: Vec<String>,
    pub(super) report: String,
}

/// What is broken, how, and the requirements that are tested.
type Job = (Side, Change, Vec<&'static str>);

/// Runs of the suite at once: most of them wait most of the time.
const AT_ONCE: usize = 8;
/// Checks at once in each.
const JOBS: &str = "12";
/// Seconds that a check waits for the next thing to happen.
const PATIENCE: &str = "20";

/// What was found by each job, in their order. Those for which the suite loses its patience begin first.
pub(super) async fn run(jobs: impl Iterator<Item = Job>) -> Vec<Found> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut jobs = jobs.enumerate().collect::<Vec<_>>();
    jobs.sort_by_key(|(_, (_, change, _))| !matches!(change, Change::Stays));
    let tasks = jobs.into_iter().map(|(at, job)| {
        let turns = Arc::clone(&turns);
        tokio::spawn(async move {
            let _turn = turns.acquire().await;
            (at, one(job).await)
        })
    });
    let mut found = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        found.push(task.await.unwrap());
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

async fn one((side, change, requirements): Job) -> Found {
    let mut suite = Command::new(SUITE);
    let _server = match side {
        Side::Server => {
            // Small pages, so that lists have several.
            let server = block_in_place(|| Server::start(&["--page-size", "7"]));
            let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
            let port = Proxy::start(change, Some(address.to_owned())).await.unwrap();
            suite.args(["server", "--url", &format!("http://127.0.0.1:{port}/mcp")]);
            Some(server)
        }
        Side::Stdio => {
            let port = Lines::start(change, example("our-server")).await.unwrap();
            suite.args(["server", "--command", &format!("exec '{SUITE}' bridge 127.0.0.1:{port}")]);
            None
        }
        Side::Client => {
            let port = Proxy::start(change, None).await.unwrap();
            let client = example("our-client");
            // The URL goes behind it; our client gets that of the proxy, with where the server is in its path.
            let client = client.display();
            let command = format!(
                "bent() {{ exec '{client}' http://127.0.0.1:{port}/${{1#http://}}; }}; bent"
            );
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
        let complaint = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {report}{complaint} ({})", output.status)
    });
    let of = |outcome| {
        let checks = parsed["checks"].as_array().into_iter().flatten();
        let found = checks.filter(|check| check["outcome"] == outcome);
        let ids = found.filter_map(|check| check["id"].as_str().map(str::to_owned));
        ids.filter(|check| !NOT_PASSED_ON.contains(&&**check)).collect::<Vec<_>>()
    };
    Found { failed: of("fail"), warned: of("warn"), report }
}
