//! What a run came to, in the form that is wanted.

mod about;
mod json;
mod junit;
mod markdown;
mod terminal;

use clap::ValueEnum;

pub(crate) use about::{coverage, explain, list};
pub(crate) use terminal::progress;

use crate::expected::{Entry, Expected};
use crate::requirement::{Level, Table};
use crate::run::{Outcome, Ran, Whole};
use crate::wire::log::printable;

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Terminal,
    /// One object, for programs.
    Json,
    /// `JUnit`'s XML, for the pages of CI.
    Junit,
    /// A table, for documents.
    Markdown,
}

/// A run and what is thought of it.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) table: &'a Table,
    pub(crate) lines: Vec<Line<'a>>,
    /// Entries of the file of expected findings that excuse nothing any more.
    pub(crate) stale: Vec<&'a Entry>,
    /// Why the run was broken off, if it was.
    pub(crate) broken: Option<&'a str>,
}

/// What came of one check, and what is thought of it.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) ran: &'a Ran,
    pub(crate) weight: Weight,
    /// Why it was expected to find what it found.
    pub(crate) excuse: Option<&'a str>,
}

/// How much a check's outcome counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Passed,
    Skipped,
    /// Found and expected.
    Expected,
    /// What only a SHOULD asks for.
    Warning,
    Failure,
}

impl Weight {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Skipped => "skip",
            Self::Expected => "expected",
            Self::Warning => "warn",
            Self::Failure => "FAIL",
        }
    }
}

impl<'a> Report<'a> {
    /// Weighs what was found. With `strict` a SHOULD is as good as a MUST.
    pub(crate) fn new(
        whole: &'a Whole,
        table: &'a Table,
        expected: &'a Expected,
        strict: bool,
    ) -> Self {
        let lines = whole.all.iter().map(|ran| {
            let found = found(ran, table, strict);
            let excuse = expected.reason(ran.check.id).filter(|_| is_finding(found));
            let weight = if excuse.is_some() { Weight::Expected } else { found };
            Line { ran, weight, excuse }
        });
        let stale = expected.stale(move |check| {
            let ran = whole.all.iter().find(|ran| ran.check.id == check);
            // What was skipped says nothing of what would have been found.
            let ran = ran.filter(|ran| !matches!(ran.outcome, Outcome::Skip(_)));
            ran.map(|ran| is_finding(found(ran, table, strict)))
        });
        let (lines, stale) = (lines.collect(), stale.collect());
        Self { table, lines, stale, broken: whole.broken.as_deref() }
    }

    /// Whether nothing was found that counts.
    pub(crate) fn is_good(&self) -> bool {
        self.broken.is_none() && self.stale.is_empty() && self.count(Weight::Failure) == 0
    }

    /// The numbers, in words.
    fn counted(&self) -> String {
        format!(
            "{} passed, {} failed, {} warnings, {} expected, {} skipped",
            self.count(Weight::Passed),
            self.count(Weight::Failure),
            self.count(Weight::Warning),
            self.count(Weight::Expected),
            self.count(Weight::Skipped),
        )
    }

    /// What a check rests on, a line each.
    fn grounds(&self, check: &str) -> impl Iterator<Item = String> {
        self.table
            .of_check(check)
            .map(|it| format!("{} {}: {} <{}>", it.level.name(), it.id, it.text, it.url()))
    }

    pub(crate) fn count(&self, weight: Weight) -> usize {
        self.lines.iter().filter(|line| line.weight == weight).count()
    }

    /// The report as a text.
    pub(crate) fn told(&self, form: Form, verbose: bool) -> String {
        match form {
            Form::Terminal => terminal::told(self, verbose),
            Form::Json => json::told(self, verbose),
            Form::Junit => junit::told(self),
            Form::Markdown => markdown::told(self),
        }
    }
}

impl Outcome {
    /// What there is to say of it, on one line; nothing if the check passed.
    fn told(&self) -> Option<String> {
        let told = match self {
            Self::Pass => return None,
            Self::Skip(why) => why.clone(),
            Self::Fail { expected, seen } | Self::Warn { expected, seen } => {
                format!("expected {expected}; seen {seen}")
            }
        };
        Some(printable(&told))
    }
}

fn found(ran: &Ran, table: &Table, strict: bool) -> Weight {
    let is_must = Level::of_check(ran.check.id, table).is_none_or(Level::is_must);
    match ran.outcome {
        Outcome::Pass => Weight::Passed,
        Outcome::Skip(_) => Weight::Skipped,
        Outcome::Fail { .. } if is_must || strict => Weight::Failure,
        Outcome::Warn { .. } if strict => Weight::Failure,
        Outcome::Fail { .. } | Outcome::Warn { .. } => Weight::Warning,
    }
}

const fn is_finding(weight: Weight) -> bool {
    matches!(weight, Weight::Warning | Weight::Failure)
}
