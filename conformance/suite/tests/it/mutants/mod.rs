//! Mutants: our server and our client, each broken in one way by a peer in between. The suite has to catch every one by a
//! check that rests on the rule that is broken, and has to find nothing where the peer breaks none.

mod answers;
mod change;
mod client;
mod http;
mod lines;
mod offers;
mod proxy;
mod run;
mod skipped;
mod stdio;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use change::Change;
use run::{Found, run};

/// One way to be wrong.
#[derive(Clone, Copy)]
pub(crate) struct Mutant {
    id: &'static str,
    requirement: &'static str,
    /// What it does wrong.
    broken: &'static str,
    change: Change,
}

const fn mutant(
    id: &'static str,
    requirement: &'static str,
    broken: &'static str,
    change: Change,
) -> Mutant {
    Mutant { id, requirement, broken, change }
}

/// Who is broken, and over which transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Server,
    Stdio,
    Client,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Server => "server over HTTP",
            Self::Stdio => "server over stdio",
            Self::Client => "client over HTTP",
        }
    }
}

const TABLES: &[(Side, &[Mutant])] = &[
    (Side::Server, skipped::MUTANTS),
    (Side::Server, answers::HEADS),
    (Side::Server, answers::RESPONSES),
    (Side::Server, answers::FEATURES),
    (Side::Server, answers::STREAMS),
    (Side::Server, offers::OFFERED),
    (Side::Stdio, stdio::MUTANTS),
    (Side::Client, client::SENT),
    (Side::Client, client::TAKEN),
    (Side::Client, offers::ANSWERED),
];

fn all() -> impl Iterator<Item = (Side, Mutant)> {
    TABLES.iter().flat_map(|(side, mutants)| mutants.iter().map(|mutant| (*side, *mutant)))
}

/// What the peer in between cannot pass on as it is, and is no finding therefore.
const NOT_PASSED_ON: &[&str] = &[
    // It has read the body before it passes the head on.
    "server-http-origin-first",
];

/// Puts the table into `MUTANTS.md` where it is set, and compares it otherwise.
const WRITE: &str = "MCP_CONFORMANCE_WRITE_MUTANTS";

/// `MUTANT=part-of-an-id` has those tried alone whose ids contain it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mutant_is_caught() {
    let ids = all().map(|(_, mutant)| mutant.id).collect::<BTreeSet<_>>();
    assert_eq!(ids.len(), all().count(), "an id stands twice");
    let part = std::env::var("MUTANT").unwrap_or_default();
    let chosen = all().filter(|(_, mutant)| mutant.id.contains(&part)).collect::<Vec<_>>();
    let controls = [Side::Server, Side::Stdio, Side::Client].map(|side| {
        let used = chosen.iter().filter(|(of, _)| *of == side);
        let used = used.map(|(_, mutant)| mutant.requirement).collect::<BTreeSet<_>>();
        (side, Change::Nothing, Vec::from_iter(used))
    });
    let controls = controls.into_iter().filter(|(_, _, used)| !used.is_empty()).collect::<Vec<_>>();
    let mutants = chosen.iter();
    let mutants = mutants.map(|(side, mutant)| (*side, mutant.change, vec![mutant.requirement]));
    let count = controls.len();
    let mut fine = run(controls.into_iter().chain(mutants)).await;
    let found = fine.split_off(count);
    let mut wrong = Vec::new();
    for Found { failed, warned, report } in fine {
        if !failed.is_empty() || !warned.is_empty() {
            wrong.push(format!("{failed:?} and {warned:?} of what is right:\n{report}"));
        }
    }
    let levels = levels();
    let mut caught = Vec::new();
    for ((_, mutant), Found { mut failed, warned, report }) in chosen.iter().zip(found) {
        if levels[mutant.requirement].starts_with("SHOULD") {
            failed.extend(warned);
        }
        if failed.is_empty() {
            wrong.push(format!("{} gets away: {}\n{report}", mutant.id, mutant.broken));
        }
        caught.push(failed);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if part.is_empty() {
        compare(&table(&caught));
    }
}

/// The levels of all requirements, by their ids.
fn levels() -> HashMap<String, String> {
    let mut levels = HashMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("requirements")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let page = std::fs::read_to_string(path).unwrap().parse::<toml::Table>().unwrap();
            for it in page.get("requirement").and_then(|it| it.as_array()).into_iter().flatten() {
                let text =
                    |member| it.get(member).and_then(toml::Value::as_str).unwrap().to_owned();
                levels.insert(text("id"), text("level"));
            }
        }
    }
    levels
}

/// The table of all mutants with who has caught them, for people.
fn table(caught: &[Vec<String>]) -> String {
    let count = |side| all().filter(|(of, _)| *of == side).count();
    let mut text = format!(
        "# Mutants\n\n\
        Our server and our client, each broken in one way on the wire, and the checks that see it: {} servers over HTTP, {} over\n\
        stdio, {} clients. Written by the test `every_mutant_is_caught`, which fails when a mutant gets away or this file is\n\
        not what it found; `{WRITE}=1` has it written anew.\n",
        count(Side::Server),
        count(Side::Stdio),
        count(Side::Client),
    );
    let mut last = None;
    for ((side, mutant), checks) in all().zip(caught) {
        if last.replace(side) != Some(side) {
            let _ = write!(
                text,
                "\n## A {} that\n\n| mutant | | requirement | caught by |\n|---|---|---|---|\n",
                side.name()
            );
        }
        let checks = checks.iter().map(|check| format!("`{check}`")).collect::<Vec<_>>();
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` | {} |",
            mutant.id,
            mutant.broken,
            mutant.requirement,
            checks.join(", ")
        );
    }
    text
}

fn compare(text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("MUTANTS.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "MUTANTS.md is not what was found; {WRITE}=1 has it written anew:\n{text}"
    );
}
