//! For programs.

use serde_json::{Value, json};

use super::{Line, Report, Weight};
use crate::run::Outcome;

pub(super) fn told(report: &Report<'_>) -> String {
    let checks = report.lines.iter().map(|line| check(report, line)).collect::<Vec<_>>();
    let stale = report.stale.iter().map(ToString::to_string).collect::<Vec<_>>();
    let whole = json!({
        "revision": crate::wire::message::VERSION,
        "passed": report.count(Weight::Passed),
        "failed": report.count(Weight::Failure),
        "warnings": report.count(Weight::Warning),
        "expected": report.count(Weight::Expected),
        "skipped": report.count(Weight::Skipped),
        "checks": checks,
        "stale": stale,
    });
    format!("{whole:#}\n")
}

fn check(report: &Report<'_>, line: &Line<'_>) -> Value {
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
            check["log"] = ran.log.as_str().into();
        }
    }
    if let Some(reason) = line.excuse {
        check["excuse"] = reason.into();
    }
    check
}
