//! What there is to know of checks and requirements, without a run.

use std::fmt::Write as _;

use crate::check::{self, Check};
use crate::requirement::{Level, Requirement, Side, Table};

/// The checks, a line each.
pub(crate) fn list(checks: &[&'static Check], table: &Table) -> String {
    let mut out = String::new();
    for check in checks {
        let level = Level::of_check(check.id, table).map_or("-", Level::name);
        let _ = writeln!(out, "{:<55} {level:<10} {:?}", check.id, check.over);
    }
    out
}

/// A check and what it rests on, or a requirement and what checks it.
///
/// # Errors
/// There is neither; names those that are meant, maybe.
pub(crate) fn explain(id: &str, table: &Table) -> Result<String, String> {
    let mut out = String::new();
    if let Some(it) = table.get(id) {
        let _ = writeln!(out, "{}", line(it));
        if !it.also.is_empty() {
            let _ = writeln!(out, "Also: {}", it.also.join(", "));
        }
        match &it.unobservable {
            Some(why) => drop(writeln!(out, "No check: {why}")),
            None => drop(writeln!(out, "Checks: {}", it.checks.join(", "))),
        }
        return Ok(out);
    }
    let check = check::all().find(|check| check.id == id).ok_or_else(|| meant(id, table))?;
    let _ = writeln!(out, "{} ({:?})", check.id, check.over);
    for it in table.of_check(id) {
        let _ = writeln!(out, "  {}", line(it));
    }
    Ok(out)
}

/// The ids that contain what was asked for.
fn meant(part: &str, table: &Table) -> String {
    let ids = check::all().map(|check| check.id).chain(table.all().iter().map(|it| &*it.id));
    let found = ids.filter(|id| id.contains(part)).map(|id| format!("\n    {id}"));
    let found = found.collect::<String>();
    let told = format!("{part:?} is no check and no requirement");
    if found.is_empty() { told } else { format!("{told}; these contain it:{found}") }
}

fn line(it: &Requirement) -> String {
    format!("{} ({}, {}): {} <{}>", it.id, it.level.name(), it.side.name(), it.text, it.url())
}

/// Coverage by page and level, as Markdown.
pub(crate) fn coverage(table: &Table) -> String {
    let mut out = String::from(
        "| page | level | statements | observable | checked |\n|---|---|---|---|---|\n",
    );
    let mut pages = table.all().iter().map(|it| &*it.page).collect::<Vec<_>>();
    pages.dedup();
    for page in pages.iter().copied().map(Some).chain([None]) {
        for level in Level::ALL {
            let of = table
                .all()
                .iter()
                .filter(|it| it.level == level && page.is_none_or(|page| it.page == page));
            let all = of.collect::<Vec<_>>();
            let seen =
                all.iter().filter(|it| it.unobservable.is_none() && it.side != Side::Other).count();
            let checked = all.iter().filter(|it| !it.checks.is_empty()).count();
            if !all.is_empty() {
                let name = page.unwrap_or("**all**");
                let _ = writeln!(
                    out,
                    "| {name} | {} | {} | {seen} | {checked} |",
                    level.name(),
                    all.len()
                );
            }
        }
    }
    out
}
