//! Which checks are meant.

use clap::Args;

use crate::check::{self, Check};
use crate::requirement::{Level, Table};

#[derive(Args)]
pub(super) struct Filter {
    /// The check of this id, or all whose ids contain this; may be given several times.
    #[arg(long = "only", value_name = "ID")]
    only: Vec<String>,
    /// Checks that rest on a page and those below it, such as basic/transports; `coverage` lists them.
    #[arg(long, value_name = "PAGE")]
    section: Option<String>,
    /// Checks that rest on this requirement; may be given several times.
    #[arg(long = "requirement", value_name = "ID")]
    requirements: Vec<String>,
    /// Checks that rest on a MUST or MUST NOT.
    #[arg(long)]
    must: bool,
}

impl Filter {
    /// The checks that are meant, in their order.
    ///
    /// # Errors
    /// Names what there is not, which is misspelt.
    pub(super) fn checks(&self, table: &Table) -> Result<Vec<&'static Check>, String> {
        for part in &self.only {
            if !check::all().any(|check| is_named(check, part)) {
                return Err(format!("no id of a check contains {part:?}; `list` has all of them"));
            }
        }
        if let Some(page) = &self.section
            && !table.all().iter().any(|it| is_below(&it.page, page))
        {
            return Err(format!("there is no page {page:?}; `coverage` has all of them"));
        }
        if let Some(id) = self.requirements.iter().find(|id| table.get(id).is_none()) {
            return Err(format!("there is no requirement {id:?}"));
        }
        let checks: Vec<_> = check::all().filter(|check| self.takes(check, table)).collect();
        if checks.is_empty() { Err("no check is all of that".to_owned()) } else { Ok(checks) }
    }

    fn takes(&self, check: &Check, table: &Table) -> bool {
        let rests = || table.of_check(check.id);
        let page = self.section.as_deref();
        (self.only.is_empty() || self.only.iter().any(|part| is_named(check, part)))
            && page.is_none_or(|page| rests().any(|it| is_below(&it.page, page)))
            && (self.requirements.is_empty()
                || rests().any(|it| self.requirements.contains(&it.id)))
            && (!self.must || Level::of_check(check.id, table).is_some_and(Level::is_must))
    }
}

/// Whether a check is meant by a text: a whole id means that check alone, even if others begin with it.
fn is_named(check: &Check, part: &str) -> bool {
    if check::all().any(|it| it.id == part) { check.id == part } else { check.id.contains(part) }
}

fn is_below(page: &str, of: &str) -> bool {
    page.strip_prefix(of.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(only: &[&str]) -> Filter {
        let only = only.iter().map(|part| (*part).to_owned()).collect();
        Filter { only, section: None, requirements: Vec::new(), must: false }
    }

    #[test]
    fn ids() {
        let table = Table::load();
        for check in check::all() {
            let found = filter(&[check.id]).checks(&table).unwrap();
            assert_eq!(found.iter().map(|it| it.id).collect::<Vec<_>>(), [check.id]);
        }
        let some = filter(&["server-stdio-eof", "client-roots"]).checks(&table).unwrap();
        assert!(some.len() > 1);
        assert_eq!(filter(&[]).checks(&table).unwrap().len(), check::all().count());
        assert!(
            filter(&["server-stdio-eof", "sever-"]).checks(&table).unwrap_err().contains("sever-")
        );
    }

    #[test]
    fn pages() {
        let table = Table::load();
        let of = |page: &str| {
            let section = Some(page.to_owned());
            Filter { section, ..filter(&[]) }.checks(&table)
        };
        let all = of("basic/transports").unwrap().len();
        assert_eq!(of("basic/transports/").unwrap().len(), all);
        assert!(of("basic/transports/stdio").unwrap().len() < all);
        for page in ["basic/transport", "nope", "transports"] {
            assert!(of(page).is_err(), "{page}");
        }
        let requirements = vec!["nope".to_owned()];
        assert!(Filter { requirements, ..filter(&[]) }.checks(&table).is_err());
    }
}
