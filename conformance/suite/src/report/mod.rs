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
pub(crate) fn told(form: Form, all: &[Ran], table: &Table, verbose: bool) -> String {
    match form {
        Form::Terminal => terminal::told(all, table, verbose),
    }
}

/// Whether it counts: what only a SHOULD asks for is told, and counts if `strict`.
pub(crate) fn is_failure(ran: &Ran, table: &Table, strict: bool) -> bool {
    let is_must = Level::of_check(ran.check.id, table).is_none_or(Level::is_must);
    matches!(ran.outcome, Outcome::Fail { .. }) && (is_must || strict)
}
