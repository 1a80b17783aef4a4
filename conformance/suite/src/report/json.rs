//! For programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Line, Report, Weight};
use crate::run::Outcome;

pub(super) fn told(report: &Report<'_>, verbose: bool) -> String {
    let checks = report.lines.iter().map(|line| check(report, line, verbose)).collect::<Vec<_>>();
    let stale = report.stale.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut whole = json!({
        "suite": env!("CARGO_PKG_VERSION"),
        "revision": crate::wire::message::VERSION,
        "passed": report.count(Weight::Passed),
        "failed": report.count(Weight::Failure),
        "warnings": report.count(Weight::Warning),
        "expected": report.count(Weight::Expected),
        "skipped": report.count(Weight::Skipped),
        "checks": checks,
        "stale": stale,
    });
    if let Some(why) = report.broken {
        whole["broken"] = why.into();
    }
    escaped(&format!("{whole:#}\n"))
}

/// Strings may hold these as they are, but a terminal that shows them would take them for commands.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

fn check(report: &Report<'_>, line: &Line<'_>, verbose: bool) -> Value {
    let ran = line.ran;
    let requirements = report.table.of_check(ran.check.id).map(|it| &*it.id).collect::<Vec<_>>();
    let mut check = json!({
        "id": ran.check.id,
        "outcome": line.weight.word().to_ascii_lowercase(),
        "seconds": ran.took.as_secs_f64(),
        "requirements": requirements,
    });
    match &ran.outcome {
        Outcome::Pass => {}
        Outcome::Skip(why) => check["why"] = why.as_str().into(),
        Outcome::Fail { expected, seen } | Outcome::Warn { expected, seen } => {
            check["expected"] = expected.as_str().into();
            check["seen"] = seen.as_str().into();
        }
    }
    if verbose || matches!(ran.outcome, Outcome::Fail { .. } | Outcome::Warn { .. }) {
        check["log"] = ran.log.as_str().into();
    }
    if let Some(reason) = line.excuse {
        check["excuse"] = reason.into();
    }
    check
}
