//! What the suite wrote down: one folder a scenario, with a `checks.json` in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;

use super::Leg;

/// What is known about one scenario after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "tests put them together")]
pub struct Scenario {
    /// The suite's name for it, such as `tools-list` or `auth/dpop`.
    pub name: String,
    /// Every check it reported, in its order.
    pub checks: Vec<Check>,
    /// How the client under test ended; none for a server, or for a client of which no end is known.
    pub exit_code: Option<i32>,
}

/// One check of a scenario, as the suite reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "tests put them together")]
pub struct Check {
    /// Names the requirement; several checks of a scenario may share it.
    pub id: String,
    /// Names the check.
    #[serde(default)]
    pub name: String,
    /// `SUCCESS`, `INFO`, `FAILURE`, `WARNING` or `SKIPPED`.
    pub status: String,
    /// What was wrong, in the suite's words.
    #[serde(default)]
    pub error_message: Option<String>,
}

impl Check {
    /// Whether there is nothing to say against it. A status that is not known counts against it.
    pub fn is_pass(&self) -> bool {
        matches!(&*self.status, "SUCCESS" | "INFO")
    }
}

/// Reads all that the suite wrote below `results`, and the exit codes below `exits`, sorted by name.
///
/// # Errors
/// Fails if a file cannot be read or is not what it should be, and if a scenario is there twice, which
/// means that the folder holds more than one run.
pub fn read_results(leg: Leg, results: &Path, exits: &Path) -> io::Result<Vec<Scenario>> {
    let mut scenarios = BTreeMap::new();
    collect(leg, results, "", &mut scenarios)?;
    for scenario in scenarios.values_mut() {
        scenario.exit_code = read_exit_code(&exits.join(&scenario.name))?;
    }
    Ok(scenarios.into_values().collect())
}

/// Folders without a timestamp (`auth`) only group others, one level deep.
fn collect(
    leg: Leg,
    folder: &Path,
    group: &str,
    into: &mut BTreeMap<String, Scenario>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))? {
        let path = entry?.path();
        let Some(folder_name) =
            path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_dir())
        else {
            continue;
        };
        let Some(name) = scenario_name(leg, folder_name) else {
            if group.is_empty() {
                collect(leg, &path, &format!("{folder_name}/"), into)?;
            }
            continue;
        };
        let name = format!("{group}{name}");
        let file = path.join("checks.json");
        let checks = serde_json::from_slice(&fs::read(&file).map_err(|e| at(&file, &e))?)
            .map_err(|e| at(&file, &e.into()))?;
        if into.insert(name.clone(), Scenario { name, checks, exit_code: None }).is_some() {
            return Err(at(&path, &io::Error::other("a second result for the same scenario")));
        }
    }
    Ok(())
}

/// `server-tools-list-2026-01-02T03-04-05-678Z` holds the results of `tools-list`; the client leg has no prefix.
fn scenario_name(leg: Leg, folder: &str) -> Option<&str> {
    let (name, stamp) = folder.split_at_checked(folder.len().checked_sub(STAMP.len())?)?;
    let is_stamp = stamp.bytes().zip(STAMP.bytes()).all(|(is, form)| match form {
        b'0' => is.is_ascii_digit(),
        _ => is == form,
    });
    match leg {
        _ if !is_stamp => None,
        Leg::Server => name.strip_prefix("server-"),
        Leg::Client => Some(name),
    }
}

fn read_exit_code(file: &Path) -> io::Result<Option<i32>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(file, &error)),
    }
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// How the end of a scenario's folder looks, 0 standing for any digit.
const STAMP: &str = "-0000-00-00T00-00-00-000Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_scenario_in_a_folder_name() {
        for (leg, folder, name) in [
            (Leg::Server, "server-tools-list-2026-01-02T03-04-05-678Z", Some("tools-list")),
            (
                Leg::Server,
                "server-server-stateless-2026-01-02T03-04-05-678Z",
                Some("server-stateless"),
            ),
            (
                Leg::Client,
                "json-schema-2020-12-2026-01-02T03-04-05-678Z",
                Some("json-schema-2020-12"),
            ),
            (Leg::Client, "server-x-2026-01-02T03-04-05-678Z", Some("server-x")),
            (Leg::Server, "tools-list-2026-01-02T03-04-05-678Z", None),
            (Leg::Client, "auth", None),
            (Leg::Client, "tools_call-2026-01-02", None),
            (Leg::Client, "", None),
        ] {
            assert_eq!(scenario_name(leg, folder), name, "{folder}");
        }
    }

    #[test]
    fn reads_a_tree_of_results() {
        let tree = Tree::new("reads_a_tree");
        tree.write("results/tools_call-2026-01-02T03-04-05-678Z/checks.json", CHECKS);
        tree.write("results/auth/dpop-2026-01-02T03-04-05-678Z/checks.json", "[]");
        tree.write("results/summary.txt", "not a folder");
        tree.write("exits/tools_call", "0\n");
        tree.write("exits/auth/dpop", "killed\n");
        let read = tree.read().unwrap();
        let [dpop, tools_call] = &read[..] else { panic!("{read:?}") };
        assert_eq!((&*dpop.name, dpop.checks.len(), dpop.exit_code), ("auth/dpop", 0, None));
        assert_eq!((&*tools_call.name, tools_call.exit_code), ("tools_call", Some(0)));
        let [good, bad] = &tools_call.checks[..] else { panic!("{tools_call:?}") };
        assert!(good.is_pass() && !bad.is_pass());
        assert_eq!((&*bad.id, bad.error_message.as_deref()), ("b", Some("not sent")));
    }

    #[test]
    fn refuses_a_tree_it_cannot_trust() {
        let missing = Tree::new("missing_file");
        missing.write("results/tools_call-2026-01-02T03-04-05-678Z/stdout.txt", "");
        let twice = Tree::new("twice");
        twice.write("results/tools_call-2026-01-02T03-04-05-678Z/checks.json", "[]");
        twice.write("results/tools_call-2026-01-02T03-04-05-679Z/checks.json", "[]");
        let broken = Tree::new("broken");
        broken.write("results/tools_call-2026-01-02T03-04-05-678Z/checks.json", r#"[{"id":"a"}]"#);
        let empty = Tree::new("no_results");
        for (tree, why) in [
            (missing, "checks.json"),
            (twice, "a second result"),
            (broken, "missing field"),
            (empty, "results"),
        ] {
            let error = tree.read().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    const CHECKS: &str = r#"[
        {"id": "a", "name": "A", "status": "SUCCESS", "timestamp": "", "details": {"x": 1}},
        {"id": "b", "name": "B", "status": "WARNING", "errorMessage": "not sent"}
    ]"#;

    /// A folder of its own for one test, removed with it.
    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(test: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("conformance-{}-{test}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, file: &str, text: &str) {
            let file = self.0.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn read(&self) -> io::Result<Vec<Scenario>> {
            read_results(Leg::Client, &self.0.join("results"), &self.0.join("exits"))
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }
}
