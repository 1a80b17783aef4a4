//! Runs checks: side by side, told in the order of the list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::check::{Check, Run};
use crate::server::{Offer, Target};
use crate::verdict::Stop;
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
    let offer = match tested {
        Tested::Server(target) => {
            server::Cx::new(Arc::clone(target), Arc::default(), pace.patience).find_out().await
        }
        Tested::Client { .. } => Offer::default(),
    };
    let offer = Arc::new(offer);
    let total = checks.len();
    let (alone, beside): (Vec<_>, Vec<_>) =
        checks.into_iter().enumerate().partition(|(_, check)| check.is_alone);
    let turns = Arc::new(Semaphore::new(pace.jobs.max(1)));
    let mut tasks = tokio::task::JoinSet::new();
    for (at, check) in beside {
        let (work, turns) =
            (one(tested.clone(), Arc::clone(&offer), check, pace), Arc::clone(&turns));
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            (at, work.await)
        });
    }
    let mut all = vec![None; total];
    while let Some(joined) = tasks.join_next().await {
        if let Ok((at, ran)) = joined {
            done(&ran);
            if let Some(place) = all.get_mut(at) {
                *place = Some(ran);
            }
        }
    }
    for (at, check) in alone {
        let ran = one(tested.clone(), Arc::clone(&offer), check, pace).await;
        done(&ran);
        if let Some(place) = all.get_mut(at) {
            *place = Some(ran);
        }
    }
    all.into_iter().flatten().collect()
}

async fn one(tested: Tested, offer: Arc<Offer>, check: &'static Check, pace: Pace) -> Ran {
    let begun = Instant::now();
    let (log, warnings, work) = match (&tested, check.run) {
        (Tested::Server(target), Run::Server(work)) => {
            let cx = server::Cx::new(Arc::clone(target), offer, pace.patience);
            (cx.log.clone(), cx.warnings.clone(), work(cx))
        }
        (Tested::Client { command, is_http }, Run::Client(work)) => {
            let cx = client::Cx::new(Arc::clone(command), *is_http, pace.patience);
            (cx.log.clone(), cx.warnings.clone(), work(cx))
        }
        _ => return Ran::skipped(check, "it is about the other side"),
    };
    let limit = pace.patience * TIMES;
    let verdict = tokio::time::timeout(limit, work).await;
    let outcome = match verdict {
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
