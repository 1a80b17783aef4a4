//! The rules for `_meta` key names. Specification: Overview, `_meta`, Key name format.

/// A key that keeps the naming rules: an optional prefix of dot-separated labels before a slash, and a
/// name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetaKey<'a> {
    key: &'a str,
    /// Where the name begins: past the slash, or 0 without a prefix.
    name: usize,
}

/// Why a key cannot be written into a `_meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMetaKey {
    /// A label of the prefix is empty, does not begin with a letter, does not end with a letter or
    /// digit, or holds something else than letters, digits and hyphens.
    #[error("a label of the key's prefix breaks the naming rules")]
    Prefix,
    /// The name does not begin and end with a letter or digit, or holds something else than letters,
    /// digits, hyphens, underscores and dots.
    #[error("the key's name breaks the naming rules")]
    Name,
    /// The key has a typed field, which is to be set instead.
    #[error("the key has a field of its own")]
    Typed,
    /// The value has no form in JSON.
    #[error("the value cannot be written as JSON")]
    Value,
}

impl<'a> MetaKey<'a> {
    /// Checks the naming rules.
    ///
    /// # Errors
    /// Which part breaks them.
    pub fn new(key: &'a str) -> Result<Self, InvalidMetaKey> {
        let (prefix, name) = match key.rsplit_once('/') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, key),
        };
        if let Some(prefix) = prefix
            && !prefix.split('.').all(is_label)
        {
            return Err(InvalidMetaKey::Prefix);
        }
        if !is_name(name) {
            return Err(InvalidMetaKey::Name);
        }
        Ok(Self { key, name: key.len() - name.len() })
    }

    /// The whole key.
    pub const fn as_str(&self) -> &'a str {
        self.key
    }

    /// The prefix without its slash.
    pub fn prefix(&self) -> Option<&'a str> {
        self.key.get(..self.name.checked_sub(1)?)
    }

    /// The part after the prefix; may be empty.
    pub fn name(&self) -> &'a str {
        self.key.get(self.name..).unwrap_or_default()
    }

    /// Whether the prefix is one that only the protocol and its official extensions use: its second label is
    /// `modelcontextprotocol` or `mcp`.
    pub fn is_reserved(&self) -> bool {
        let second = self.prefix().and_then(|prefix| prefix.split('.').nth(1));
        matches!(second, Some("modelcontextprotocol" | "mcp"))
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    matches!(bytes.first(), Some(b) if b.is_ascii_alphabetic())
        && matches!(bytes.last(), Some(b) if b.is_ascii_alphanumeric())
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_naming_rules() {
        use InvalidMetaKey::{Name, Prefix};
        let table = [
            ("progressToken", Ok((None, false))),
            ("a", Ok((None, false))),
            ("", Ok((None, false))),
            ("a.b-c_d9", Ok((None, false))),
            ("com.example/", Ok((Some("com.example"), false))),
            ("com.example/name", Ok((Some("com.example"), false))),
            ("example/name", Ok((Some("example"), false))),
            ("io.modelcontextprotocol/x", Ok((Some("io.modelcontextprotocol"), true))),
            ("dev.mcp/x", Ok((Some("dev.mcp"), true))),
            ("org.modelcontextprotocol.api/x", Ok((Some("org.modelcontextprotocol.api"), true))),
            ("com.mcp.tools/x", Ok((Some("com.mcp.tools"), true))),
            ("com.example.mcp/x", Ok((Some("com.example.mcp"), false))),
            ("mcp/x", Ok((Some("mcp"), false))),
            ("a-b.c9/x", Ok((Some("a-b.c9"), false))),
            ("-a", Err(Name)),
            ("a-", Err(Name)),
            ("a b", Err(Name)),
            ("ä", Err(Name)),
            ("com.example/-", Err(Name)),
            ("/x", Err(Prefix)),
            ("a//x", Err(Prefix)),
            ("a/b/c", Err(Prefix)),
            ("a..b/x", Err(Prefix)),
            (".a/x", Err(Prefix)),
            ("9a/x", Err(Prefix)),
            ("a-/x", Err(Prefix)),
            ("-a/x", Err(Prefix)),
            ("a_b/x", Err(Prefix)),
            ("ä.b/x", Err(Prefix)),
        ];
        for (text, expected) in table {
            let got = MetaKey::new(text).map(|key| (key.prefix(), key.is_reserved()));
            assert_eq!(got, expected, "{text:?}");
        }
    }

    #[test]
    fn a_key_comes_apart_and_together() {
        let key = MetaKey::new("com.example/name").unwrap();
        assert_eq!((key.prefix(), key.name()), (Some("com.example"), "name"));
        assert_eq!(key.as_str(), "com.example/name");
        assert_eq!(MetaKey::new("plain").unwrap().name(), "plain");
    }
}
