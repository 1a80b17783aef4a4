//! Names of keys in `_meta` and of extensions.

/// Whether the key has the form that the specification gives it. Specification: `_meta`.
pub(super) fn is_key(key: &str) -> bool {
    let (prefix, name) = split(key);
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) && is_name(name)
}

/// Whether the key is one with a prefix.
pub(super) fn is_prefixed_key(key: &str) -> bool {
    split(key).0.is_some() && is_key(key)
}

fn split(key: &str) -> (Option<&str>, &str) {
    key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name))
}

fn is_label(label: &str) -> bool {
    let ends = label.ends_with(|it: char| it.is_ascii_alphanumeric());
    let begins = label.starts_with(|it: char| it.is_ascii_alphabetic());
    begins && ends && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

fn is_name(name: &str) -> bool {
    let is_alphanumeric = |it: char| it.is_ascii_alphanumeric();
    let all = name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it));
    name.is_empty() || all && name.starts_with(is_alphanumeric) && name.ends_with(is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for key in ["a", "progressToken", "io.modelcontextprotocol/serverInfo", "a-1.b/", "x/y.z_1"]
        {
            assert!(is_key(key), "{key}");
        }
        for key in ["/a", "1a/b", "a-/b", "a..b/c", "a/b/c", "-a", "a_", "ä", "a/ b"] {
            assert!(!is_key(key), "{key}");
        }
        assert!(is_prefixed_key("com.example/a") && !is_prefixed_key("a"));
    }
}
