//! The verdict on a run: pure, from what was to run, what ran, and what was expected.

use std::fmt;

use super::{Check, Entry, Expected, Leg, Scenario};

/// Something that keeps a scenario from having passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The scenario's name.
    pub scenario: String,
    /// The id of the check; or `results` where a scenario left none, and `exit-code` for how a client ended.
    pub check: String,
    /// The check's name; the same as `check` where there is no check.
    pub name: String,
    /// What is the matter.
    pub problem: String,
}

/// What is left of a run when everything expected is taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The side that was tested.
    pub leg: Leg,
    /// How many checks passed.
    pub passed: usize,
    /// How many findings were expected.
    pub excused: usize,
    /// The findings that no entry covers.
    pub unexpected: Vec<Finding>,
    /// The entries that cover no finding.
    pub stale: Vec<Entry>,
}

impl Verdict {
    /// Whether all that was found was expected, and all that was expected was found.
    pub fn is_pass(&self) -> bool {
        self.unexpected.is_empty() && self.stale.is_empty()
    }
}

/// The same facts as text for a person, one finding or entry a line.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leg, passed, excused, .. } = self;
        let (unexpected, stale) = (self.unexpected.len(), self.stale.len());
        write!(
            f,
            "{leg}: {passed} checks passed, {excused} findings expected, {unexpected} not, {stale} stale entries"
        )?;
        for it in &self.unexpected {
            write!(
                f,
                "\n  unexpected: {leg} {} {} ({}): {}",
                it.scenario, it.check, it.name, it.problem
            )?;
        }
        for it in &self.stale {
            write!(
                f,
                "\n  stale, line {}: {leg} {} {}  # {}",
                it.line, it.scenario, it.check, it.reason
            )?;
        }
        Ok(())
    }
}

/// Judges a run of one side: `wanted` names the scenarios that had to run, `ran` is what is known of
/// those that did.
///
/// A finding is a check that did not plainly pass, a wanted scenario without results or with no check
/// among them, one that ran unasked, and a client that did not end with code 0, except in the few
/// scenarios whose point is that the client gives up.
pub fn judge(leg: Leg, wanted: &[String], ran: &[Scenario], expected: &Expected) -> Verdict {
    let absent = wanted.iter().filter(|name| ran.iter().all(|scenario| scenario.name != **name));
    let mut findings: Vec<Finding> =
        absent.map(|name| note(name, RESULTS, "there are none")).collect();
    for scenario in ran {
        if !wanted.contains(&scenario.name) {
            findings.push(note(&scenario.name, RESULTS, "it is not among the scenarios to run"));
        }
        examine(leg, scenario, &mut findings);
    }

    let entries = || expected.of(leg);
    let stale = entries()
        .filter(|entry| !findings.iter().any(|finding| entry.covers(finding)))
        .cloned()
        .collect();
    let found = findings.len();
    findings.retain(|finding| !entries().any(|entry| entry.covers(finding)));
    Verdict {
        leg,
        passed: ran
            .iter()
            .flat_map(|scenario| &scenario.checks)
            .filter(|check| check.is_pass())
            .count(),
        excused: found - findings.len(),
        unexpected: findings,
        stale,
    }
}

fn examine(leg: Leg, scenario: &Scenario, findings: &mut Vec<Finding>) {
    if scenario.checks.is_empty() {
        findings.push(note(&scenario.name, RESULTS, "there is no check among them"));
    }
    for Check { id, name, status, error_message } in
        scenario.checks.iter().filter(|check| !check.is_pass())
    {
        let problem = match error_message {
            Some(message) => format!("{status}: {message}"),
            None => status.clone(),
        };
        let (scenario, check, name) = (scenario.name.clone(), id.clone(), name.clone());
        findings.push(Finding { scenario, check, name, problem });
    }
    if leg == Leg::Client
        && !MAY_GIVE_UP.contains(&&*scenario.name)
        && scenario.exit_code != Some(0)
    {
        let problem = match scenario.exit_code {
            Some(code) => format!("the client ended with code {code}"),
            None => "the client did not end".to_owned(),
        };
        findings.push(note(&scenario.name, EXIT_CODE, &problem));
    }
}

/// A finding that is about no check of the suite's.
fn note(scenario: &str, check: &str, problem: &str) -> Finding {
    Finding {
        scenario: scenario.to_owned(),
        check: check.to_owned(),
        name: check.to_owned(),
        problem: problem.to_owned(),
    }
}

const RESULTS: &str = "results";
const EXIT_CODE: &str = "exit-code";

/// Where the suite itself accepts a client that ends with an error: what it meets there is to be refused.
const MAY_GIVE_UP: [&str; 8] = [
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/resource-mismatch",
    "auth/scope-retry-limit",
    "http-invalid-tool-headers",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_pass_is_no_finding() {
        for (status, found) in [
            ("SUCCESS", 0),
            ("INFO", 0),
            ("FAILURE", 1),
            ("WARNING", 1),
            ("SKIPPED", 1),
            ("UNHEARD_OF", 1),
        ] {
            let (unexpected, _) = judge_client(&[ran("tools_call", &[("a", status)], Some(0))], "");
            assert_eq!(unexpected.len(), found, "{status}");
        }
    }

    #[test]
    fn a_finding_is_excused_by_the_entry_about_it() {
        let failed = [ran("tools_call", &[("a", "FAILURE"), ("b", "SUCCESS")], Some(0))];
        for (list, unexpected, stale) in [
            ("client tools_call a # by id", 0, vec![]),
            ("client tools_call Name_a # by name", 0, vec![]),
            ("client tools_call * # with all the rest", 0, vec![]),
            ("client tools_call b # another check", 1, vec![1]),
            ("client other a # another scenario", 1, vec![1]),
            ("server tools_call a # the other side", 1, vec![]),
            ("client tools_call a # x\nclient tools_call * # more than it takes", 0, vec![]),
        ] {
            let (findings, lines) = judge_client(&failed, list);
            assert_eq!((findings.len(), lines), (unexpected, stale), "{list}");
        }
    }

    #[test]
    fn an_entry_without_a_finding_is_stale() {
        let passed = [ran("tools_call", &[("a", "SUCCESS")], Some(0))];
        for list in ["# x\nclient tools_call a # x", "\nclient tools_call * # x"] {
            assert_eq!(judge_client(&passed, list), (vec![], vec![2]), "{list}");
        }
    }

    #[test]
    fn a_scenario_has_to_run_and_report() {
        let passed = || ran("tools_call", &[("a", "SUCCESS")], Some(0));
        let extra = ran("new", &[("a", "SUCCESS")], Some(0));
        for (case, scenarios) in [
            ("did not run", vec![]),
            ("reported nothing", vec![ran("tools_call", &[], Some(0))]),
            ("ran unasked", vec![passed(), extra]),
        ] {
            assert_eq!(
                judge_client(&scenarios, ""),
                (vec!["results".to_owned()], vec![]),
                "{case}"
            );
        }
    }

    #[test]
    fn a_client_has_to_end_well_where_it_may_not_give_up() {
        let ended = |name, code| [ran(name, &[("a", "SUCCESS")], code)];
        for code in [Some(1), None] {
            let crash = (vec![EXIT_CODE.to_owned()], vec![]);
            assert_eq!(judge_client(&ended("tools_call", code), ""), crash);
            assert_eq!(
                judge_client(&ended("tools_call", code), "client tools_call exit-code # x"),
                (vec![], vec![])
            );
            let wanted = [MAY_GIVE_UP[0].to_owned()];
            assert!(
                judge(Leg::Client, &wanted, &ended(MAY_GIVE_UP[0], code), &Expected::default())
                    .is_pass()
            );
        }
    }

    #[test]
    fn a_server_has_no_exit_code() {
        let scenario = ran("tools-list", &[("a", "SUCCESS")], None);
        assert!(
            judge(Leg::Server, &["tools-list".to_owned()], &[scenario], &Expected::default())
                .is_pass()
        );
    }

    #[test]
    fn an_id_excuses_every_check_that_has_it() {
        let scenario =
            ran("tools_call", &[("a", "FAILURE"), ("a", "SUCCESS"), ("a", "FAILURE")], Some(0));
        let list = "client tools_call a # x".parse().unwrap();
        let verdict = judge(Leg::Client, &["tools_call".to_owned()], &[scenario], &list);
        assert_eq!((verdict.is_pass(), verdict.passed, verdict.excused), (true, 1, 2));
    }

    #[test]
    fn the_text_names_everything_needed_to_act() {
        let scenario = ran("tools_call", &[("a", "WARNING")], Some(0));
        let list = "client tools_call b # later".parse().unwrap();
        let text = judge(Leg::Client, &["tools_call".to_owned()], &[scenario], &list).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "client: 0 checks passed, 0 findings expected, 1 not, 1 stale entries",
                "  unexpected: client tools_call a (Name_a): WARNING: as made up",
                "  stale, line 1: client tools_call b  # later",
            ]
        );
    }

    /// Judges a run that was to have `tools_call`: the checks found wanting, and the stale lines.
    fn judge_client(scenarios: &[Scenario], list: &str) -> (Vec<String>, Vec<usize>) {
        let verdict =
            judge(Leg::Client, &["tools_call".to_owned()], scenarios, &list.parse().unwrap());
        assert_eq!(verdict.is_pass(), verdict.unexpected.is_empty() && verdict.stale.is_empty());
        let checks = verdict.unexpected.into_iter().map(|finding| finding.check).collect();
        (checks, verdict.stale.iter().map(|entry| entry.line).collect())
    }

    fn ran(name: &str, checks: &[(&str, &str)], exit_code: Option<i32>) -> Scenario {
        let check = |(id, status): &(&str, &str)| Check {
            id: (*id).to_owned(),
            name: format!("Name_{id}"),
            status: (*status).to_owned(),
            error_message: Some("as made up".to_owned()),
        };
        Scenario { name: name.to_owned(), checks: checks.iter().map(check).collect(), exit_code }
    }
}
