//! For documents.

use std::fmt::Write as _;

use super::Report;
use crate::wire::log::printable;

pub(super) fn told(report: &Report<'_>) -> String {
    let mut out = String::new();
    if let Some(why) = report.broken {
        let _ = writeln!(out, "**Broken off, the server is gone:** {}\n", escaped(&printable(why)));
    }
    let _ = writeln!(out, "{}\n", report.counted());
    out.push_str("| check | outcome | requirement | what was found |\n|---|---|---|---|\n");
    for line in &report.lines {
        let Some(found) = line.ran.outcome.told() else { continue };
        let id = line.ran.check.id;
        let requirements = report.table.of_check(id).map(|it| format!("[{}]({})", it.id, it.url()));
        let requirements = requirements.collect::<Vec<_>>().join(", ");
        let mut found = escaped(&found);
        if let Some(reason) = line.excuse {
            let _ = write!(found, "<br>excused: {}", escaped(&printable(reason)));
        }
        let _ = writeln!(out, "| {id} | {} | {requirements} | {found} |", line.weight.word());
    }
    for entry in &report.stale {
        let _ = writeln!(out, "| {} | STALE | | excuses nothing any more |", entry.check);
    }
    out
}

/// A text within a cell. Entities are shown as they are wherever they stand, which backslashes are not.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '$' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_in_their_cell() {
        assert_eq!(escaped(r"a|b\|`c` <b>"), "a&#124;b&#92;&#124;&#96;c&#96; &#60;b&#62;");
    }
}
