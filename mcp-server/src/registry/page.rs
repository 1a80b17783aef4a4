//! Cursors: opaque to clients, the same on every instance of a server, bound to their list.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A place in a list: behind the entry of a name.
///
/// A name and not a number, so that instances, and later changes of the list, agree on where it is. Nothing in
/// it is secret or trusted: what a page shows is checked when it is shown.
pub(crate) struct Cursor;

impl Cursor {
    /// The cursor for what comes behind the entry `last` of `list`.
    pub(crate) fn seal(list: &str, last: &str) -> String {
        STANDARD.encode(format!("{list}:{last}"))
    }

    /// The entry that `cursor` points behind, if it belongs to `list`.
    pub(crate) fn open(cursor: &str, list: &str) -> Option<String> {
        let text = String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?;
        let last = text.strip_prefix(list)?.strip_prefix(':')?;
        Some(last.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let cursor = Cursor::seal("tools", "a:b ☃");
        assert_eq!(Cursor::open(&cursor, "tools").as_deref(), Some("a:b ☃"));
        assert_eq!(Cursor::open(&cursor, "prompts"), None);
        for wrong in ["", "x", "dG9vbHM=", "dG9vbHM6YQ", "/w==", "☃"] {
            assert_eq!(Cursor::open(wrong, "tools"), None, "{wrong}");
        }
    }
}
