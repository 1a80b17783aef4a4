//! `Secret`: a text that is never shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A token, a password, a key: what may be sent to one party and told to nobody else.
///
/// `Debug` does not show it, and it has no `Display`. Serialised it is its text: whoever stores it protects the store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(Box<str>);

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself. Do not log it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_not_shown() {
        let secret = Secret::new("s3cret");
        assert_eq!(format!("{secret:?} {secret:#?}"), "Secret(..) Secret(..)");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"s3cret\"");
        assert_eq!(serde_json::from_str::<Secret>("\"s3cret\"").unwrap(), secret);
    }
}
