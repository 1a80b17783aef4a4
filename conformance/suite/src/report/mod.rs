//! What a run came to, in the form that is wanted.

mod about;
mod terminal;

use clap::ValueEnum;

pub(crate) use about::{coverage, explain, list};

use crate::requirement::{Level, Table};
use crate::run::{Outcome, Ran};

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Terminal,
}

/// The report.
pub(crate) fn told(form: Form, all: &[(Weight, &Ran)], table: &Table, verbose: bool) -> String {
    match form {
        Form::Terminal => terminal::told(all, table, verbose),
    }
}

/// How much a check's outcome counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Passed,
    Skipped,
    /// What only a SHOULD asks for.
    Warning,
    Failure,
}

/// How much it counts. With `strict` a SHOULD is as good as a MUST.
pub(crate) fn weight(ran: &Ran, table: &Table, strict: bool) -> Weight {
    let is_must = Level::of_check(ran.check.id, table).is_none_or(Level::is_must);
    match ran.outcome {
        Outcome::Pass => Weight::Passed,
        Outcome::Skip(_) => Weight::Skipped,
        Outcome::Fail { .. } if is_must || strict => Weight::Failure,
        Outcome::Warn { .. } if strict => Weight::Failure,
        Outcome::Fail { .. } | Outcome::Warn { .. } => Weight::Warning,
    }
}
