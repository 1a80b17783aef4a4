//! For the pages of CI.

use std::fmt::Write as _;

use super::{Line, Report, Weight};
use crate::run::Outcome;

pub(super) fn told(report: &Report<'_>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"mcp-conformance\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
        report.lines.len() + report.stale.len(),
        report.count(Weight::Failure) + report.stale.len(),
        report.count(Weight::Skipped) + report.count(Weight::Expected),
    );
    for line in &report.lines {
        case(&mut out, line);
    }
    for entry in &report.stale {
        let text = escaped(&entry.to_string());
        let _ = writeln!(
            out,
            "  <testcase name=\"expected: {text}\"><failure message=\"stale\"/></testcase>"
        );
    }
    out.push_str("</testsuite>\n");
    out
}

fn case(out: &mut String, line: &Line<'_>) {
    let ran = line.ran;
    let side = if ran.check.is_of_server() { "server" } else { "client" };
    let seconds = ran.took.as_secs_f64();
    let _ = write!(
        out,
        "  <testcase classname=\"{side}\" name=\"{}\" time=\"{seconds:.3}\">",
        ran.check.id
    );
    let found = match &ran.outcome {
        Outcome::Pass => String::new(),
        Outcome::Skip(why) => escaped(why),
        Outcome::Fail { expected, seen } | Outcome::Warn { expected, seen } => {
            escaped(&format!("expected {expected}; seen {seen}"))
        }
    };
    let _ = match line.weight {
        Weight::Passed => Ok(()),
        Weight::Skipped | Weight::Expected => write!(out, "<skipped message=\"{found}\"/>"),
        Weight::Warning => write!(out, "<system-out>{found}</system-out>"),
        Weight::Failure => {
            write!(out, "<failure message=\"{found}\">{}</failure>", escaped(&ran.log))
        }
    };
    out.push_str("</testcase>\n");
}

/// A text within XML, as an attribute or between tags. What XML cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}' => {
                out.push(c)
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(escaped("a<b>&\"c\"\n\u{1}\u{fffe}ä"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;ä");
    }
}
