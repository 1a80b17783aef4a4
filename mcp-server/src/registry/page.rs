//! The pages of lists, and the cursors between them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_types::{CacheHint, Outcome, RawJson, ResultMeta};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// What every page of every list says.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    pub(crate) page_size: usize,
    pub(crate) cache: CacheHint,
    pub(crate) meta: ResultMeta,
}

/// A place in a list: behind an entry. Opaque to clients, the same on every instance of a server, bound to its list.
///
/// It names the entry, so that it stays where it is when the list changes before it, and says how many entries its
/// reader had seen up to there, so that it is good even when that entry is gone, or was added anew behind others.
/// Nothing in it is secret or trusted: it means what it would mean if there were nothing but what its reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor<T> {
    /// How many entries come before the place.
    pub(super) entries: usize,
    pub(super) last: T,
}

impl<T: AsRef<str>> Cursor<T> {
    /// As a client gets it.
    pub(super) fn seal(&self, list: &str) -> String {
        STANDARD.encode(format!("{list}:{}:{}", self.entries, self.last.as_ref()))
    }
}

impl<T> Cursor<T> {
    /// How many entries came before, at most, where the one that it names is not among them any more.
    pub(super) const fn without_last(&self) -> usize {
        self.entries.saturating_sub(1)
    }
}

impl Cursor<String> {
    /// Reads one that belongs to `list`.
    pub(super) fn open(cursor: &str, list: &str) -> Option<Self> {
        let text = String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?;
        let (entries, last) = text.strip_prefix(list)?.strip_prefix(':')?.split_once(':')?;
        // `parse` would take a sign.
        let digits = entries.bytes().all(|b| b.is_ascii_digit());
        let entries = entries.parse().ok().filter(|_| digits)?;
        Some(Self { entries, last: last.to_owned() })
    }
}

/// The result of listing one page: `definitions` as the member `name`.
pub(super) fn encode(
    listing: &Listing,
    name: &'static str,
    definitions: &[&RawJson],
    next: Option<String>,
) -> String {
    let page = Page { listing, name, definitions, next };
    // Definitions hold JSON and strings, which always encode.
    serde_json::to_string(&Outcome::Complete(page)).unwrap_or_default()
}

struct Page<'a> {
    listing: &'a Listing,
    name: &'static str,
    definitions: &'a [&'a RawJson],
    next: Option<String>,
}

impl Serialize for Page<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.listing.meta.is_empty() {
            map.serialize_entry("_meta", &self.listing.meta)?;
        }
        map.serialize_entry(self.name, self.definitions)?;
        if let Some(next) = &self.next {
            map.serialize_entry("nextCursor", next)?;
        }
        map.serialize_entry("ttlMs", &self.listing.cache.ttl_ms)?;
        map.serialize_entry("cacheScope", &self.listing.cache.cache_scope)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let cursor = Cursor { entries: 7, last: "a:b ☃".to_owned() };
        let sealed = cursor.seal("tools");
        assert_eq!(Cursor::open(&sealed, "tools"), Some(cursor));
        assert_eq!(Cursor::open(&sealed, "prompts"), None);
        let encoded = |text: &str| STANDARD.encode(text);
        let wrong = ["", "x", "dG9vbHM6MTp4YQ", "/w==", "☃"].map(str::to_owned).into_iter();
        let texts =
            ["tools", "tools:", "tools:x", "tools:1", "tools::x", "tools:+1:x", "tools:-1:x"];
        let huge = format!("tools:{}0:x", usize::MAX);
        for wrong in wrong.chain(texts.map(encoded)).chain([encoded(&huge)]) {
            assert_eq!(Cursor::open(&wrong, "tools"), None, "{wrong}");
        }
    }
}
