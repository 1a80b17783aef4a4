//! `Params`: names and values as forms and queries have them.

use super::super::Seen;

/// Names and values, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// What an encoded text says.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Self(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
    }

    /// The query of a request.
    pub(super) fn of_query(seen: &Seen) -> Self {
        Self::parse(seen.target().split_once('?').map_or("", |(_, query)| query))
    }

    /// The body of a request.
    pub(super) fn of_form(seen: &Seen) -> Self {
        Self::parse(&String::from_utf8_lossy(&seen.body))
    }

    /// The first value of that name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// The same; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// All values of that name.
    pub(super) fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// With one more value.
    pub(super) fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without the values of that name.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(found, _)| found != name);
        self
    }

    /// With this value in the place of others.
    pub(super) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    pub(super) fn encode(&self) -> String {
        let pairs = self.0.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// Everything escaped that is not unreserved.
pub(super) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// The text that a form means; what is no escape stays.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let escaped = behind.get(..2).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|two| std::str::from_utf8(two).ok());
        match escaped.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
