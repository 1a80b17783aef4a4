//! `List`: things of one kind in the order of registration, with their pages encoded.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_types::RawJson;

use super::Item;
use super::page::{self, Cursor, Listing};

/// What can be in a [`List`].
pub(crate) trait Entry {
    /// The member of the result that has a page of them; the cursors of the list are bound to it as well.
    const MEMBER: &'static str;

    /// What it is found by, unique in its list.
    fn key(&self) -> &str;

    /// Its definition, encoded.
    fn json(&self) -> &RawJson;

    /// As a [visibility](crate::ServerBuilder::visible) filter sees it.
    fn item(&self) -> Item<'_>;
}

/// Entries in order, found by their keys, and the encoded result of each page of their definitions.
#[derive(Debug)]
pub(crate) struct List<E> {
    entries: Vec<Arc<E>>,
    /// Places in `entries`, sorted by key: faster than hashing for any number of tools that a model can
    /// choose from.
    by_key: Vec<usize>,
    /// For those who see all of it.
    pages: Vec<String>,
}

impl<E: Entry> List<E> {
    /// The list of `entries` in their order.
    ///
    /// # Errors
    /// The key that two of them have.
    pub(crate) fn new(entries: Vec<Arc<E>>, listing: &Listing) -> Result<Self, String> {
        let key = |place: usize| entries.get(place).map_or("", |entry| entry.key());
        let mut by_key: Vec<usize> = (0..entries.len()).collect();
        by_key.sort_unstable_by(|&a, &b| key(a).cmp(key(b)));
        let mut neighbours = by_key.iter().zip(by_key.iter().skip(1));
        if let Some((twice, _)) = neighbours.find(|&(&a, &b)| key(a) == key(b)) {
            return Err(key(*twice).to_owned());
        }
        let mut list = Self { entries, by_key, pages: Vec::new() };
        // Nothing still has a page to show, an empty one.
        let starts = (0..list.entries.len().max(1)).step_by(listing.page_size);
        list.pages = starts.map(|start| list.encode(start, |_| true, listing)).collect();
        Ok(list)
    }

    /// The entry with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<E>> {
        self.entries.get(self.place(key)?)
    }

    /// The entries in order.
    pub(crate) const fn entries(&self) -> &Vec<Arc<E>> {
        &self.entries
    }

    /// The encoded result of the page that `cursor` points at, the first one without; `None` when it can be none of
    /// this list.
    pub(crate) fn page(&self, cursor: Option<&str>, listing: &Listing) -> Option<Cow<'_, str>> {
        let start = self.start(cursor)?;
        let whole = start.is_multiple_of(listing.page_size).then_some(start / listing.page_size);
        Some(match whole.and_then(|page| self.pages.get(page)) {
            Some(page) => page.into(),
            // The list was another when the cursor was made.
            None => self.encode(start, |_| true, listing).into(),
        })
    }

    /// The same of the entries that `sees` picks.
    pub(crate) fn page_of(
        &self,
        cursor: Option<&str>,
        sees: impl Fn(&E) -> bool,
        listing: &Listing,
    ) -> Option<String> {
        Some(self.encode(self.start(cursor)?, sees, listing))
    }

    /// How many entries come before the page at `cursor`.
    fn start(&self, cursor: Option<&str>) -> Option<usize> {
        let Some(cursor) = cursor else { return Some(0) };
        let cursor = Cursor::open(cursor, E::MEMBER)?;
        match self.place(&cursor.last) {
            Some(place) => Some(place + 1),
            // The entry is gone, and others may be as well.
            None => Some(cursor.entries.min(self.entries.len())),
        }
    }

    fn encode(&self, start: usize, sees: impl Fn(&E) -> bool, listing: &Listing) -> String {
        let mut visible =
            (self.entries.iter().enumerate().skip(start)).filter(|(_, entry)| sees(entry));
        let mut last = None;
        let page = visible.by_ref().take(listing.page_size);
        let definitions: Vec<_> = page.inspect(|&(place, _)| last = Some(place)).collect();
        let next = visible.next().and(last).and_then(|place| {
            let last = self.entries.get(place)?.key();
            Some(Cursor { entries: place + 1, last }.seal(E::MEMBER))
        });
        let definitions: Vec<_> = definitions.iter().map(|(_, entry)| entry.json()).collect();
        page::encode(listing, E::MEMBER, &definitions, next)
    }

    fn place(&self, key: &str) -> Option<usize> {
        let found = self.by_key.binary_search_by(|&at| {
            // Every place in `by_key` is one in `entries`.
            self.entries.get(at).map_or("", |entry| entry.key()).cmp(key)
        });
        self.by_key.get(found.ok()?).copied()
    }
}
