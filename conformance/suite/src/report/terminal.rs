//! For people.

use std::fmt::Write as _;

use super::{Report, Weight};
use crate::run::Ran;
use crate::wire::log::printable;

/// What is said while checks run: how far they are.
pub(crate) fn progress(ended: usize, total: usize, ran: &Ran) -> String {
    format!("\r\x1b[K[{ended}/{total}] {}", ran.check.id)
}

pub(super) fn told(report: &Report<'_>, verbose: bool) -> String {
    let mut out = String::new();
    for line in &report.lines {
        let (ran, word) = (line.ran, line.weight.word());
        let id = ran.check.id;
        let _ = match ran.outcome.told() {
            None => writeln!(out, "{word}  {id}"),
            Some(told) => writeln!(out, "{word}  {id}: {told}"),
        };
        if let Some(reason) = line.excuse {
            let _ = writeln!(out, "      excused: {}", printable(reason));
        }
        if matches!(line.weight, Weight::Failure | Weight::Warning) {
            for ground in report.grounds(id) {
                let _ = writeln!(out, "      {ground}");
            }
        }
        if verbose || line.weight == Weight::Failure {
            for line in ran.log.lines() {
                let _ = writeln!(out, "      {line}");
            }
        }
    }
    for entry in &report.stale {
        let entry = printable(&entry.to_string());
        let _ = writeln!(
            out,
            "STALE the file of expected findings, {entry}: nothing is found any more"
        );
    }
    if let Some(why) = report.broken {
        let _ = writeln!(out, "\nBROKEN OFF, the server is gone: {}", printable(why));
    }
    let _ = writeln!(out, "\n{}", report.counted());
    if report.count(Weight::Failure) + report.count(Weight::Warning) > 0 {
        out.push_str(
            "one again: --only ID --verbose; what it is about: mcp-conformance explain ID\n",
        );
    }
    out
}
