//! Reading the table.

use std::collections::HashMap;

use serde::Deserialize;

use super::Requirement;

/// All requirements, in the order of the pages.
#[derive(Debug)]
pub(crate) struct Table {
    requirements: Vec<Requirement>,
    by_id: HashMap<String, usize>,
}

/// One file: a page of the specification.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    page: String,
    /// What the ids of the page begin with.
    #[expect(dead_code, reason = "for those who write entries")]
    prefix: String,
    #[serde(default)]
    requirement: Vec<Requirement>,
}

/// The files of the table, which a test compares with the folder.
macro_rules! pages {
    ($($page:literal)*) => {
        const PAGES: &[(&str, &str)] = &[
            $(($page, include_str!(concat!("../../requirements/", $page, ".toml")))),*
        ];
    };
}

pages! {
    "basic/authorization/authorization-server-discovery"
    "basic/authorization/client-registration"
    "basic/authorization/index"
    "basic/authorization/security-considerations"
    "basic/index"
    "basic/patterns/cancellation"
    "basic/patterns/index"
    "basic/patterns/mrtr"
    "basic/patterns/progress"
    "basic/patterns/subscriptions"
    "basic/transports/index"
    "basic/transports/stdio"
    "basic/transports/streamable-http"
    "basic/versioning"
    "changelog"
    "client/elicitation"
    "client/roots"
    "client/sampling"
    "deprecated"
    "extensions/client-credentials"
    "extensions/enterprise-managed-authorization"
    "extensions/tasks"
    "index"
    "schema"
    "server/discover"
    "server/prompts"
    "server/resources"
    "server/tools"
    "server/utilities/caching"
    "server/utilities/completion"
    "server/utilities/logging"
    "server/utilities/pagination"
}

impl Table {
    /// The table that belongs to this program.
    ///
    /// # Panics
    /// When a file cannot be read, which the tests rule out.
    pub(crate) fn load() -> Self {
        let mut requirements = Vec::new();
        for (name, text) in PAGES {
            let page: Page =
                toml::from_str(text).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
            for requirement in page.requirement {
                requirements.push(Requirement { page: page.page.clone(), ..requirement });
            }
        }
        let ids = requirements.iter().enumerate().map(|(at, it)| (it.id.clone(), at));
        Self { by_id: ids.collect(), requirements }
    }

    pub(crate) fn all(&self) -> &[Requirement] {
        &self.requirements
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Requirement> {
        self.requirements.get(*self.by_id.get(id)?)
    }

    /// What a check rests on.
    pub(crate) fn of_check<'t>(&'t self, check: &str) -> impl Iterator<Item = &'t Requirement> {
        self.requirements.iter().filter(move |it| it.checks.iter().any(|id| id == check))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;
    use crate::requirement::Side;

    #[test]
    fn every_file_is_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("requirements");
        let mut files = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().with_extension("");
                    files.push(name.to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        let mut listed = PAGES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        listed.sort();
        assert_eq!(files, listed);
    }

    #[test]
    fn every_requirement_is_checked_or_says_why_not() {
        let table = Table::load();
        let mut ids = HashSet::new();
        for it in table.all() {
            assert!(ids.insert(&it.id), "{} stands twice", it.id);
            assert!(
                it.checks.is_empty() != it.unobservable.is_none(),
                "{} has neither or both",
                it.id
            );
            assert!(
                it.side != Side::Other || it.checks.is_empty(),
                "{} is nobody's who is tested",
                it.id
            );
        }
    }

    /// Both ways: checks that do not exist would count as coverage, and what rests on nothing proves nothing.
    #[test]
    fn checks_and_requirements_belong_together() {
        let table = Table::load();
        let checks = crate::check::all().map(|check| check.id).collect::<HashSet<_>>();
        let named = table
            .all()
            .iter()
            .flat_map(|it| &it.checks)
            .map(String::as_str)
            .collect::<HashSet<_>>();
        let absent = named.difference(&checks).collect::<Vec<_>>();
        assert!(absent.is_empty(), "no such check: {absent:?}");
        let baseless = checks.difference(&named).collect::<Vec<_>>();
        assert!(baseless.is_empty(), "no requirement names {baseless:?}");
    }

    #[test]
    fn nobody_fails_by_what_binds_the_other_side() {
        let table = Table::load();
        for check in crate::check::all().filter(|check| !WARN_ALONE.contains(&check.id)) {
            let side = if check.is_of_server() { Side::Server } else { Side::Client };
            let mut sides = table.of_check(check.id).map(|it| it.side);
            let binds = sides.any(|it| it == side || it == Side::Either);
            assert!(binds, "{} rests on the other side alone", check.id);
        }
    }

    /// What servers make of what clients must not send.
    const WARN_ALONE: [&str; 2] =
        ["server-stdio-duplicate-in-flight-id", "server-stdio-refuses-response"];
}
