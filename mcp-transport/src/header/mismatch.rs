//! The one error of every header check.

use std::borrow::Cow;
use std::fmt;

use super::Malformed;
use crate::quote;

/// A header that is missing, repeated, unreadable, or says something else than the body.
///
/// Its `Display` is the message for the `HeaderMismatch` error (-32020; specification: Streamable
/// HTTP, Server Validation): it names the header, what it holds and what the body holds, each cut
/// to [`MAX_QUOTED`](crate::limits::MAX_QUOTED) characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMismatch {
    header: Cow<'static, str>,
    fault: Fault,
}

impl HeaderMismatch {
    /// The header's name as the specification spells it.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    pub(super) fn new(header: impl Into<Cow<'static, str>>, fault: Fault) -> Self {
        Self { header: header.into(), fault }
    }
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = &self.header;
        match &self.fault {
            Fault::Missing => write!(f, "the header {header} is missing"),
            Fault::Repeated => write!(f, "the header {header} is there more than once"),
            Fault::Malformed(why) => write!(f, "the header {header} {why}"),
            Fault::Differs { found, body } => {
                write!(f, "the header {header} says {found} but the body says {body}")
            }
            Fault::NotInBody => {
                write!(f, "the header {header} is there but the body has no such value")
            }
            Fault::UnsafeInteger => {
                write!(f, "the body's value for the header {header} is beyond the safe integers")
            }
            Fault::Arguments => {
                write!(
                    f,
                    "the arguments mirrored by the header {header} repeat a key or are not JSON"
                )
            }
        }
    }
}

impl std::error::Error for HeaderMismatch {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Missing,
    Repeated,
    Malformed(Malformed),
    /// Both texts quoted.
    Differs {
        found: Box<str>,
        body: Box<str>,
    },
    NotInBody,
    UnsafeInteger,
    Arguments,
}

impl Fault {
    pub(super) fn differs(found: &str, body: &str) -> Self {
        Self::Differs { found: quote(found), body: quote(body) }
    }
}

impl From<Malformed> for Fault {
    fn from(why: Malformed) -> Self {
        Self::Malformed(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_QUOTED;

    #[test]
    fn messages_name_all_sides_and_stay_short() {
        let error = HeaderMismatch::new("Mcp-Name", Fault::differs("foo", "b\u{1b}ar"));
        assert_eq!(
            error.to_string(),
            r#"the header Mcp-Name says "foo" but the body says "b\u{1b}ar""#
        );

        let error = HeaderMismatch::new("Mcp-Name", Fault::differs(&"ä".repeat(10_000), ""));
        assert!(error.to_string().contains("\"ääää"), "{error}");
        assert!(error.to_string().chars().count() < 2 * MAX_QUOTED);
    }
}
