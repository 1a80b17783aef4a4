//! What comes of a check.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a check gives: nothing, or why it went no further.
pub(crate) type Verdict<T = ()> = Result<T, Stop>;

/// Why a check went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The tested side did something else than it has to.
    Fail {
        /// What was to be seen.
        expected: String,
        /// What was seen.
        seen: String,
    },
    /// There was nothing to be tested, for this reason.
    Skip(String),
}

impl Stop {
    pub(crate) fn fail(expected: impl Into<String>, seen: impl Into<String>) -> Self {
        Self::Fail { expected: expected.into(), seen: seen.into() }
    }

    pub(crate) fn skip(why: impl Into<String>) -> Self {
        Self::Skip(why.into())
    }

    /// The same, with a name for what it is about.
    pub(crate) fn of(self, what: impl Display) -> Self {
        match self {
            Self::Fail { expected, seen } => Self::fail(format!("{what}: {expected}"), seen),
            skip @ Self::Skip(_) => skip,
        }
    }

    /// The same, with a name for where it was seen.
    pub(crate) fn seen_at(self, place: impl Display) -> Self {
        match self {
            Self::Fail { expected, seen } => Self::fail(expected, format!("{place}: {seen}")),
            skip @ Self::Skip(_) => skip,
        }
    }

    /// There is no answer to look at.
    pub(crate) fn lost(seen: impl Into<String>) -> Self {
        Self::fail("an answer", seen)
    }

    pub(crate) fn silent(patience: Duration) -> Self {
        Self::lost(format!("nothing for {patience:?}"))
    }
}

/// Names what a verdict is about, where a check tries several variants.
pub(crate) trait Of {
    fn of(self, what: impl Display) -> Self;
}

impl<T> Of for Verdict<T> {
    fn of(self, what: impl Display) -> Self {
        self.map_err(|stop| stop.of(what))
    }
}

/// Goes on if `holds`.
///
/// # Errors
/// Says what was expected, and what was seen.
pub(crate) fn expect(holds: bool, expected: impl Into<String>, seen: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(Stop::fail(expected, seen)) }
}

/// What a check found that is no failure, since only a SHOULD asks for it, or a guess does. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<(String, String)>>>);

impl Warnings {
    /// Notes what was expected and what was seen instead, unless it `holds`. The check goes on.
    pub(crate) fn unless(&self, holds: bool, expected: impl Into<String>, seen: impl Into<String>) {
        if !holds {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((expected.into(), seen.into()));
        }
    }

    /// Notes a failure, where no statement binds the tested side or only a SHOULD does. The check goes on.
    ///
    /// # Errors
    /// Why it was skipped.
    pub(crate) fn soften(&self, verdict: Verdict) -> Verdict {
        let Err(Stop::Fail { expected, seen }) = verdict else { return verdict };
        self.unless(false, expected, seen);
        Ok(())
    }

    /// The first of them.
    pub(crate) fn first(&self) -> Option<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }
}
