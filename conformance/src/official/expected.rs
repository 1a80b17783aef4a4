//! The list of what the suite is expected to find.

use std::io;
use std::str::FromStr;

use super::{Finding, Leg};

/// The checks that are known not to pass, each with its reason.
///
/// Parsed from text with one entry a line, `LEG SCENARIO CHECK  # REASON`; blank lines and lines that
/// start with `#` mean nothing. See [`Entry`] for the parts. A line without a reason, with an unknown
/// leg, or that says the same as an earlier one is an error of kind [`io::ErrorKind::InvalidData`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    entries: Vec<Entry>,
}

/// One line of [`Expected`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Where it stands in the text, counted from 1.
    pub line: usize,
    /// The side it is about.
    pub leg: Leg,
    /// The suite's name for the scenario.
    pub scenario: String,
    /// The id of a check; or its name, for checks that share an id; or `*`, everything in the scenario.
    pub check: String,
    /// Why the check does not pass.
    pub reason: String,
}

impl Expected {
    /// The entries about one side, in the order of the text.
    pub fn of(&self, leg: Leg) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.leg == leg)
    }
}

impl Entry {
    /// Whether this entry is about that finding.
    pub fn covers(&self, finding: &Finding) -> bool {
        self.scenario == finding.scenario
            && (self.check == EVERYTHING
                || self.check == finding.check
                || self.check == finding.name)
    }

    fn parse(line: usize, text: &str) -> Result<Self, &'static str> {
        let (key, reason) = text.split_once('#').ok_or("an entry needs a reason")?;
        let mut words = key.split_whitespace();
        let leg = match words.next() {
            Some("server") => Leg::Server,
            Some("client") => Leg::Client,
            _ => return Err("an entry starts with `server` or `client`"),
        };
        let (Some(scenario), Some(check), None) = (words.next(), words.next(), words.next()) else {
            return Err("an entry names one scenario and one check");
        };
        match reason.trim() {
            "" => Err("an entry needs a reason"),
            reason => Ok(Self {
                line,
                leg,
                scenario: scenario.into(),
                check: check.into(),
                reason: reason.into(),
            }),
        }
    }
}

impl FromStr for Expected {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let refuse = |why| {
                io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {why}: {text}"))
            };
            let entry = Entry::parse(line, text).map_err(refuse)?;
            let same = |old: &Entry| {
                (old.leg, &old.scenario, &old.check) == (entry.leg, &entry.scenario, &entry.check)
            };
            if entries.iter().any(same) {
                return Err(refuse("an entry is there twice"));
            }
            entries.push(entry);
        }
        Ok(Self { entries })
    }
}

/// In place of a check: all of the scenario's, and its exit code.
const EVERYTHING: &str = "*";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_entries_and_skips_the_rest() {
        let list: Expected =
            "# head\n\nserver caching *  # none yet\n client auth/dpop some-id # why # so \n"
                .parse()
                .unwrap();
        let [server] = list.of(Leg::Server).collect::<Vec<_>>()[..] else { panic!("{list:?}") };
        assert_eq!(
            (server.line, &*server.scenario, &*server.check, &*server.reason),
            (3, "caching", "*", "none yet")
        );
        let [client] = list.of(Leg::Client).collect::<Vec<_>>()[..] else { panic!("{list:?}") };
        assert_eq!((client.line, &*client.check, &*client.reason), (4, "some-id", "why # so"));
    }

    #[test]
    fn refuses_entries_that_say_too_little_or_twice() {
        for (text, why) in [
            ("server caching *", "needs a reason"),
            ("server caching * #  ", "needs a reason"),
            ("both caching * # x", "starts with"),
            ("server caching # x", "one scenario and one check"),
            ("server caching a b # x", "one scenario and one check"),
            ("server caching a # x\nserver caching a # y", "line 2: an entry is there twice"),
        ] {
            let error = text.parse::<Expected>().unwrap_err().to_string();
            assert!(error.contains(why), "{text:?} gave {error:?}");
        }
    }

    #[test]
    fn the_list_in_use_is_well_formed() {
        let list: Expected = include_str!("../../peers/official/expected.txt").parse().unwrap();
        assert!(list.of(Leg::Client).count() > 0);
    }
}
