//! For documents.

use std::fmt::Write as _;

use super::{Report, Weight};
use crate::run::Outcome;

pub(super) fn told(report: &Report<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} passed, {} failed, {} warnings, {} expected, {} skipped\n",
        report.count(Weight::Passed),
        report.count(Weight::Failure),
        report.count(Weight::Warning),
        report.count(Weight::Expected),
        report.count(Weight::Skipped),
    );
    out.push_str("| check | outcome | requirement | what was found |\n|---|---|---|---|\n");
    for line in &report.lines {
        let found = match &line.ran.outcome {
            Outcome::Pass => continue,
            Outcome::Skip(why) => why.clone(),
            Outcome::Fail { expected, seen } | Outcome::Warn { expected, seen } => {
                format!("expected {expected}; seen {seen}")
            }
        };
        let id = line.ran.check.id;
        let requirements = report.table.of_check(id).map(|it| format!("[{}]({})", it.id, it.url()));
        let requirements = requirements.collect::<Vec<_>>().join(", ");
        let found = found.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(out, "| {id} | {} | {requirements} | {found} |", line.weight.word());
    }
    for entry in &report.stale {
        let _ = writeln!(out, "| {} | STALE | | excuses nothing any more |", entry.check);
    }
    out
}
