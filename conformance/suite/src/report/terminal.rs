//! For people.

use std::fmt::Write as _;

use super::{Report, Weight};
use crate::run::{Outcome, Ran};

/// What is said while checks run: how far they are.
pub(crate) fn progress(ended: usize, total: usize, ran: &Ran) -> String {
    format!("\r\x1b[K[{ended}/{total}] {}", ran.check.id)
}

pub(super) fn told(report: &Report<'_>, verbose: bool) -> String {
    let mut out = String::new();
    for line in &report.lines {
        let (ran, word) = (line.ran, line.weight.word());
        let id = ran.check.id;
        let _ = match &ran.outcome {
            Outcome::Pass => writeln!(out, "{word}  {id}"),
            Outcome::Skip(why) => writeln!(out, "{word}  {id}: {why}"),
            Outcome::Fail { expected, seen } | Outcome::Warn { expected, seen } => {
                writeln!(out, "{word}  {id}: expected {expected}; seen {seen}")
            }
        };
        if let Some(reason) = line.excuse {
            let _ = writeln!(out, "      excused: {reason}");
        }
        let is_finding = matches!(line.weight, Weight::Failure | Weight::Warning);
        if is_finding {
            for it in report.table.of_check(id) {
                let _ = writeln!(
                    out,
                    "      {} {}: {} <{}>",
                    it.level.name(),
                    it.id,
                    it.text,
                    it.url()
                );
            }
        }
        if verbose || line.weight == Weight::Failure {
            for line in ran.log.lines() {
                let _ = writeln!(out, "      {line}");
            }
        }
    }
    for entry in &report.stale {
        let _ = writeln!(
            out,
            "STALE the file of expected findings, {entry}: nothing is found any more"
        );
    }
    let _ = writeln!(
        out,
        "\n{} passed, {} failed, {} warnings, {} expected, {} skipped",
        report.count(Weight::Passed),
        report.count(Weight::Failure),
        report.count(Weight::Warning),
        report.count(Weight::Expected),
        report.count(Weight::Skipped),
    );
    out
}
