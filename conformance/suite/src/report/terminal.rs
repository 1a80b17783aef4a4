//! For people.

use std::fmt::Write as _;

use super::Weight;
use crate::requirement::Table;
use crate::run::{Outcome, Ran};

pub(super) fn told(all: &[(Weight, &Ran)], table: &Table, verbose: bool) -> String {
    let mut out = String::new();
    for (weight, ran) in all {
        let id = ran.check.id;
        let _ = match &ran.outcome {
            Outcome::Pass => writeln!(out, "pass  {id}"),
            Outcome::Skip(why) => writeln!(out, "skip  {id}: {why}"),
            Outcome::Fail { expected, seen } | Outcome::Warn { expected, seen } => {
                let word = if *weight == Weight::Failure { "FAIL" } else { "warn" };
                writeln!(out, "{word}  {id}: expected {expected}; seen {seen}")
            }
        };
        let is_finding = matches!(weight, Weight::Failure | Weight::Warning);
        if is_finding {
            for it in table.of_check(id) {
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
        if verbose || is_finding {
            for line in ran.log.lines() {
                let _ = writeln!(out, "      {line}");
            }
        }
    }
    let count = |weight| all.iter().filter(|(found, _)| *found == weight).count();
    let _ = writeln!(
        out,
        "\n{} passed, {} failed, {} warnings, {} skipped",
        count(Weight::Passed),
        count(Weight::Failure),
        count(Weight::Warning),
        count(Weight::Skipped),
    );
    out
}
