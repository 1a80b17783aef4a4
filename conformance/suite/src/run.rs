//! Runs checks: side by side, told in the order of the list.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{RwLock, Semaphore};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::timeout;

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
    /// How long a server that is not there yet is waited for.
    pub(crate) wait: Duration,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    /// In the order of the list.
    pub(crate) all: Vec<Ran>,
    /// Why it was broken off, if it was: from then on checks are skipped.
    pub(crate) broken: Option<String>,
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
///
/// # Errors
/// Says why there is nothing to be tested: nobody answers, or the client does nothing that it is told.
pub(crate) async fn run(
    tested: &Tested,
    checks: Vec<&'static Check>,
    pace: Pace,
    done: impl Fn(&Ran),
) -> Result<Whole, String> {
    let record = Record::default();
    let offer = begin(tested, &record, pace).await?;
    let given = Given { tested: tested.clone(), offer: Arc::new(offer), record, pace };
    let lost = Arc::new(Lost::default());
    let mut all = vec![None; checks.len()];
    let mut put = |at: usize, ran: Ran| {
        done(&ran);
        if let Some(place) = all.get_mut(at) {
            *place = Some(ran);
        }
    };
    let turns = Arc::new(Semaphore::new(pace.jobs));
    let mut tasks = JoinSet::new();
    let of = |when| checks.iter().copied().enumerate().filter(move |(_, check)| check.when == when);
    for (at, check) in of(When::Beside) {
        let (given, turns, lost) = (given.clone(), Arc::clone(&turns), Arc::clone(&lost));
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            (at, lost.or_else(&given, check).await)
        });
    }
    while let Some(joined) = tasks.join_next().await {
        if let Ok((at, ran)) = joined {
            put(at, ran);
        }
    }
    for (at, check) in of(When::Alone) {
        put(at, lost.or_else(&given, check).await);
    }
    for (at, check) in of(When::Last) {
        // One of them stops the server, which then is no loss.
        put(at, if lost.is_lost() { lost.skipped(check) } else { one(given.clone(), check).await });
    }
    let broken = lost.why.get().cloned();
    Ok(Whole { all: all.into_iter().flatten().collect(), broken })
}

/// Makes sure that there is something to be tested, and finds out what it offers.
async fn begin(tested: &Tested, record: &Record, pace: Pace) -> Result<Offer, String> {
    match tested {
        Tested::Server(target) => {
            let cx =
                server::Cx::new(Arc::clone(target), Arc::default(), record.clone(), pace.patience);
            let there = cx.is_there(pace.wait).await;
            there.map_err(|why| format!("the server cannot be tested: {why}"))?;
            Ok(timeout(pace.patience * TIMES, cx.find_out()).await.unwrap_or_default())
        }
        Tested::Client { command, is_http } => {
            let cx =
                client::Cx::new(Arc::clone(command), *is_http, Record::default(), pace.patience);
            let there = cx.is_there().await;
            there.map_err(|why| format!("the client cannot be tested: {why}"))?;
            Ok(Offer::default())
        }
    }
}

/// Whether the server is still there. One that has died would fail every check that is left, each in its own time.
#[derive(Default)]
struct Lost {
    /// How it was noticed.
    why: OnceLock<String>,
    /// Read by checks while they run: who writes has the server for itself.
    checks: RwLock<()>,
}

impl Lost {
    fn is_lost(&self) -> bool {
        self.why.get().is_some()
    }

    fn skipped(&self, check: &'static Check) -> Ran {
        Ran::skipped(check, "the server was gone by then")
    }

    /// Runs the check, unless the server is lost, and looks for the server if the check fails.
    async fn or_else(&self, given: &Given, check: &'static Check) -> Ran {
        let ran = {
            let _running = self.checks.read().await;
            if self.is_lost() {
                return self.skipped(check);
            }
            one(given.clone(), check).await
        };
        let Tested::Server(target) = &given.tested else { return ran };
        let patience = given.pace.patience;
        let cx = server::Cx::new(Arc::clone(target), Arc::default(), Record::default(), patience);
        // Over standard streams every check has a process of its own.
        if !matches!(ran.outcome, Outcome::Fail { .. }) || !cx.is_http() {
            return ran;
        }
        if cx.is_there(Duration::ZERO).await.is_ok() {
            return ran;
        }
        // It may have been busy with the others.
        let _alone = self.checks.write().await;
        if !self.is_lost()
            && let Err(why) = cx.is_there(patience).await
        {
            let _ = self.why.set(format!("{why}, since {} or a check beside it", check.id));
        }
        ran
    }
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
    let verdict = timeout(limit, &mut task.0).await;
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
    let outcome = outcome.map(|text| log.hide(&text));
    Ran { check, outcome, took: begun.elapsed(), log: log.text() }
}

impl Outcome {
    /// The same with other words.
    fn map(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Pass => Self::Pass,
            Self::Skip(why) => Self::Skip(change(why)),
            Self::Fail { expected, seen } => {
                Self::Fail { expected: change(expected), seen: change(seen) }
            }
            Self::Warn { expected, seen } => {
                Self::Warn { expected: change(expected), seen: change(seen) }
            }
        }
    }
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
