//! For the pages of CI.

use std::fmt::Write as _;

use super::{Line, Report, Weight};
use crate::wire::log::printable;

pub(super) fn told(report: &Report<'_>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"mcp-conformance\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
        report.lines.len() + report.stale.len() + usize::from(report.broken.is_some()),
        report.count(Weight::Failure) + report.stale.len() + usize::from(report.broken.is_some()),
        report.count(Weight::Skipped) + report.count(Weight::Expected),
    );
    for line in &report.lines {
        case(&mut out, report, line);
    }
    for entry in &report.stale {
        let text = escaped(&entry.to_string());
        let _ = writeln!(
            out,
            "  <testcase name=\"expected: {text}\"><failure message=\"stale\"/></testcase>"
        );
    }
    if let Some(why) = report.broken {
        let why = escaped(&printable(why));
        let _ = writeln!(
            out,
            "  <testcase name=\"the server is there to the end\"><failure message=\"{why}\"/></testcase>"
        );
    }
    out.push_str("</testsuite>\n");
    out
}

fn case(out: &mut String, report: &Report<'_>, line: &Line<'_>) {
    let ran = line.ran;
    let side = if ran.check.is_of_server() { "server" } else { "client" };
    let seconds = ran.took.as_secs_f64();
    let _ = write!(
        out,
        "  <testcase classname=\"{side}\" name=\"{}\" time=\"{seconds:.3}\">",
        ran.check.id
    );
    let found = escaped(&ran.outcome.told().unwrap_or_default());
    let grounds =
        || report.grounds(ran.check.id).map(|ground| escaped(&ground) + "\n").collect::<String>();
    let _ = match line.weight {
        Weight::Passed => Ok(()),
        Weight::Skipped => write!(out, "<skipped message=\"{found}\"/>"),
        Weight::Expected => {
            let reason = escaped(&printable(line.excuse.unwrap_or_default()));
            write!(out, "<skipped message=\"excused: {reason}; {found}\"/>")
        }
        Weight::Warning => write!(out, "<system-out>{found}\n{}</system-out>", grounds()),
        Weight::Failure => {
            let log = escaped(&ran.log);
            write!(out, "<failure message=\"{found}\">{}{log}</failure>", grounds())
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
