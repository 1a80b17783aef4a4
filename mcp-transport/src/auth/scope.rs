//! Scopes: what a token is good for.

use std::fmt;

use crate::limits::{MAX_SCOPE, MAX_SCOPES};

/// A set of scopes, in the order in which they came, each once. RFC 6749, section 3.3.
///
/// ```
/// use mcp_transport::auth::Scopes;
///
/// let mut scopes = Scopes::parse("files:read");
/// scopes.extend(["files:write", "files:read"]);
/// assert_eq!(scopes.to_string(), "files:read files:write");
/// assert!(scopes.contains("files:write"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scopes(Vec<Box<str>>);

impl Scopes {
    /// Reads scopes that are separated by spaces, as a parameter has them. What cannot be a scope is left out: other
    /// characters than those of ASCII that can be seen, quotes and backslashes, more than [`MAX_SCOPE`] bytes; and so
    /// is what exceeds [`MAX_SCOPES`].
    pub fn parse(text: &str) -> Self {
        text.split(' ').collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether this one is among them. Scopes are told apart by case.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|found| **found == *scope)
    }

    /// Whether all of these are among them.
    pub fn contains_all(&self, scopes: &Self) -> bool {
        scopes.iter().all(|scope| self.contains(scope))
    }

    /// Adds one, unless it is there or cannot be a scope.
    pub fn insert(&mut self, scope: &str) {
        if is_scope(scope) && self.0.len() < MAX_SCOPES && !self.contains(scope) {
            self.0.push(scope.into());
        }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|scope| &**scope)
    }
}

/// Whether a text can be a scope.
fn is_scope(text: &str) -> bool {
    let is_allowed = |byte| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~');
    !text.is_empty() && text.len() <= MAX_SCOPE && text.bytes().all(is_allowed)
}

/// Sets are equal whatever their order.
impl PartialEq for Scopes {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.contains_all(other)
    }
}

impl Eq for Scopes {}

impl<S: AsRef<str>> Extend<S> for Scopes {
    fn extend<I: IntoIterator<Item = S>>(&mut self, scopes: I) {
        for scope in scopes {
            self.insert(scope.as_ref());
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for Scopes {
    fn from_iter<I: IntoIterator<Item = S>>(scopes: I) -> Self {
        let mut out = Self::default();
        out.extend(scopes);
        out
    }
}

/// Separated by spaces.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, scope) in self.0.iter().enumerate() {
            let between = if at == 0 { "" } else { " " };
            write!(f, "{between}{scope}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        let table = [
            ("", ""),
            ("  a  b ", "a b"),
            ("a b a", "a b"),
            ("a A", "a A"),
            ("a\tb \"c\" d\\e ä ok:1/~!", "ok:1/~!"),
        ];
        for (text, expected) in table {
            assert_eq!(Scopes::parse(text).to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn sets() {
        let (some, all) = (Scopes::parse("b"), Scopes::parse("a b"));
        assert!(all.contains_all(&some) && !some.contains_all(&all));
        assert_eq!(all, Scopes::parse("b a"));
        assert_ne!(all, some);
        assert!(some.contains_all(&Scopes::default()));
    }

    #[test]
    fn limits() {
        let many = (0..MAX_SCOPES + 9).map(|n| n.to_string()).collect::<Scopes>();
        assert_eq!(many.len(), MAX_SCOPES);
        assert!(Scopes::parse(&"x".repeat(MAX_SCOPE + 1)).is_empty());
        assert_eq!(Scopes::parse(&"x".repeat(MAX_SCOPE)).len(), 1);
    }
}
