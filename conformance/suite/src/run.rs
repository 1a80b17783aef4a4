//! Runs checks: side by side, told in the order of the list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle, JoinSet};

use crate::check::{Check, Run, When};
use crate::server::{Offer, Target};
use crate::verdict::{Stop, Verdict};
use crate::wire::Record;
use crate::{client, server};

/// What is tested.
#[derive(Clone, Debug)]
pub(crate) enum Tested {
    Server(Arc<Target>),
    Client { command: Arc<str>, is_http: bool },
}

/// How checks are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// How many at once.
    pub(crate) jobs: usize,
    /// How long a check waits for the next thing to happen.
    pub(crate) patience: Duration,
}

/// What came of one check.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) check: &'static Check,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    /// What passed, mark and line.
    pub(crate) log: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Pass,
    Fail {
        expected: String,
        seen: String,
    },
    /// Nothing that is forbidden, but something that should not be.
    Warn {
        expected: String,
        seen: String,
    },
    Skip(String),
}

/// Runs `checks` and gives what came of each, in their order; `done` is called as they end, in whatever order that is.
pub(crate) async fn run(
    tested: &Tested,
    checks: Vec<&'static Check>,
    pace: Pace,
    done: impl Fn(&Ran),
) -> Vec<Ran> {
    let record = Record::default();
    let offer = match tested {
        Tested::Server(target) => {
            let target = Arc::clone(target);
            server::Cx::new(target, Arc::default(), record.clone(), pace.patience).find_out().await
        }
        Tested::Client { .. } => Offer::default(),
    };
    let given = Given { tested: tested.clone(), offer: Arc::new(offer), record, pace };
    let mut all = vec![None; checks.len()];
    let mut put = |at: usize, ran: Ran| {
        done(&ran);
        if let Some(place) = all.get_mut(at) {
            *place = Some(ran);
        }
    };
    let turns = Arc::new(Semaphore::new(pace.jobs.max(1)));
    let mut tasks = JoinSet::new();
    let of = |when| checks.iter().copied().enumerate().filter(move |(_, check)| check.when == when);
    for (at, check) in of(When::Beside) {
        let (given, turns) = (given.clone(), Arc::clone(&turns));
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            (at, one(given, check).await)
        });
    }
    while let Some(joined) = tasks.join_next().await {
        if let Ok((at, ran)) = joined {
            put(at, ran);
        }
    }
    for (at, check) in of(When::Alone).chain(of(When::Last)) {
        put(at, one(given.clone(), check).await);
    }
    all.into_iter().flatten().collect()
}

/// What every check of a run is given.
#[derive(Clone)]
struct Given {
    tested: Tested,
    offer: Arc<Offer>,
    record: Record,
    pace: Pace,
}

async fn one(given: Given, check: &'static Check) -> Ran {
    let Given { tested, offer, record, pace } = given;
    let begun = Instant::now();
    let (log, warnings, work) = match (&tested, check.run) {
        (Tested::Server(target), Run::Server(work)) => {
            let cx = server::Cx::new(Arc::clone(target), offer, record, pace.patience);
            (cx.log.clone(), cx.warnings.clone(), work(cx))
        }
        (Tested::Client { command, is_http }, Run::Client(work)) => {
            let cx = client::Cx::new(Arc::clone(command), *is_http, record, pace.patience);
            (cx.log.clone(), cx.warnings.clone(), work(cx))
        }
        _ => return Ran::skipped(check, "it is about the other side"),
    };
    let times = if check.is_of_server() { TIMES } else { CLIENT_TIMES };
    let limit = pace.patience * times;
    // A task of its own, so that a check that panics is told of like any other.
    let mut task = AbortOnDrop(tokio::spawn(work));
    let verdict = tokio::time::timeout(limit, &mut task.0).await;
    let outcome = match verdict.map(|joined| joined.unwrap_or_else(|lost| Err(panicked(lost)))) {
        Ok(Ok(())) => match warnings.first() {
            Some((expected, seen)) => Outcome::Warn { expected, seen },
            None => Outcome::Pass,
        },
        Ok(Err(Stop::Skip(why))) => Outcome::Skip(why),
        Ok(Err(Stop::Fail { expected, seen })) => Outcome::Fail { expected, seen },
        Err(_) => Outcome::Fail {
            expected: "an end of the check".into(),
            seen: format!("none after {limit:?}"),
        },
    };
    Ran { check, outcome, took: begun.elapsed(), log: log.text() }
}

/// A check's work, which ends with the wait for it.
struct AbortOnDrop(JoinHandle<Verdict>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn panicked(lost: JoinError) -> Stop {
    Stop::fail("a check that makes no mistake itself", lost.to_string())
}

impl Ran {
    fn skipped(check: &'static Check, why: &str) -> Self {
        Self {
            check,
            outcome: Outcome::Skip(why.to_owned()),
            took: Duration::ZERO,
            log: String::new(),
        }
    }
}

/// A check as a whole has that many times the patience for one thing.
const TIMES: u32 = 8;
/// One of a client has more: it runs the client many times, each of which has a limit of its own.
const CLIENT_TIMES: u32 = 40;
