//! For people.

use std::fmt::Write as _;

use super::is_failure;
use crate::requirement::Table;
use crate::run::{Outcome, Ran};

pub(super) fn told(all: &[Ran], table: &Table, verbose: bool) -> String {
    let mut out = String::new();
    let (mut passed, mut failed, mut warned, mut skipped) = (0, 0, 0, 0);
    for ran in all {
        match &ran.outcome {
            Outcome::Pass => {
                passed += 1;
                let _ = writeln!(out, "pass  {}", ran.check.id);
            }
            Outcome::Skip(why) => {
                skipped += 1;
                let _ = writeln!(out, "skip  {}: {why}", ran.check.id);
            }
            Outcome::Fail { expected, seen } => {
                let is_failure = is_failure(ran, table, false);
                failed += usize::from(is_failure);
                warned += usize::from(!is_failure);
                let word = if is_failure { "FAIL" } else { "warn" };
                let _ = writeln!(out, "{word}  {}: expected {expected}; seen {seen}", ran.check.id);
                for it in table.of_check(ran.check.id) {
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
        }
        if verbose || matches!(ran.outcome, Outcome::Fail { .. }) {
            for line in ran.log.lines() {
                let _ = writeln!(out, "      {line}");
            }
        }
    }
    let _ =
        writeln!(out, "\n{passed} passed, {failed} failed, {warned} warnings, {skipped} skipped");
    out
}
