//! The file of what is expected to be found, with reasons.

use std::fmt;

/// What a file of expected findings says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected(Vec<Entry>);

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) check: String,
    pub(crate) reason: String,
    pub(crate) line: usize,
}

impl Expected {
    /// Reads lines of the form `CHECK # REASON`; empty ones, and those that begin with `#`, say nothing.
    ///
    /// # Errors
    /// Names the line that has no reason, or the check that is there already.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut entries: Vec<Entry> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts = line.split_once('#').map(|(check, reason)| (check.trim(), reason.trim()));
            let Some((check, reason)) = parts.filter(|(_, reason)| !reason.is_empty()) else {
                return Err(format!(
                    "line {}: {line:?} gives no reason, as in `CHECK # REASON`",
                    at + 1
                ));
            };
            if entries.iter().any(|entry| entry.check == check) {
                return Err(format!("line {}: {check} is expected twice", at + 1));
            }
            entries.push(Entry {
                check: check.to_owned(),
                reason: reason.to_owned(),
                line: at + 1,
            });
        }
        Ok(Self(entries))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// Why this check is expected to find something, if it is.
    pub(crate) fn reason(&self, check: &str) -> Option<&str> {
        self.0.iter().find(|entry| entry.check == check).map(|entry| &*entry.reason)
    }

    /// The entries whose checks ran and found nothing: they are to be deleted.
    pub(crate) fn stale<'e>(
        &'e self,
        found: impl Fn(&str) -> Option<bool> + 'e,
    ) -> impl Iterator<Item = &'e Entry> {
        self.0.iter().filter(move |entry| found(&entry.check) == Some(false))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} ({})", self.line, self.check, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let expected = Expected::parse("\n# all\n a-b  #  since  \nc # d # e\n").unwrap();
        assert_eq!(expected.reason("a-b"), Some("since"));
        assert_eq!(expected.reason("c"), Some("d # e"));
        assert_eq!(expected.reason("d"), None);
        for text in ["a", "a #", "a # b\na # c"] {
            assert!(Expected::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_found_any_more_is_stale() {
        let expected = Expected::parse("still # r\ngone # r\nnot-run # r").unwrap();
        let found = |check: &str| match check {
            "still" => Some(true),
            "gone" => Some(false),
            _ => None,
        };
        let stale = expected.stale(found).map(|entry| &*entry.check).collect::<Vec<_>>();
        assert_eq!(stale, ["gone"]);
    }
}
