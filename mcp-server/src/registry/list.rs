//! `List`: things of one kind in the order of registration, with their pages encoded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use mcp_types::RawJson;

use super::Item;
use super::page::{self, Cursor, Listing};
use crate::error::BuildError;

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
    /// For those who see all of it. Encoded when they are first asked for: nobody reads all pages between two of many
    /// edits, and none where a filter makes every page another.
    pages: Vec<OnceLock<String>>,
}

/// What is to become of an entry.
pub(super) enum Change<E> {
    Add(Arc<E>),
    Replace(Arc<E>),
    Remove(String),
}

impl<E: Entry> List<E> {
    /// The list of `entries` in their order.
    ///
    /// # Errors
    /// When two of them have one key.
    pub(super) fn new(entries: Vec<Arc<E>>, listing: &Listing) -> Result<Self, BuildError> {
        let by_key = (0..entries.len()).collect();
        let list = Self::sorted(entries, by_key, listing);
        let mut neighbours = list.by_key.iter().zip(list.by_key.iter().skip(1));
        match neighbours.find(|&(&a, &b)| key(&list.entries, a) == key(&list.entries, b)) {
            Some((&twice, _)) => {
                Err(BuildError::DuplicateName(key(&list.entries, twice).to_owned()))
            }
            None => Ok(list),
        }
    }

    /// The list after `changes`, in time that grows with the list and with the changes, not with both multiplied.
    ///
    /// # Errors
    /// The first change that cannot be made.
    pub(super) fn changed(
        &self,
        changes: &[Change<E>],
        listing: &Listing,
    ) -> Result<Self, BuildError> {
        let mut slots: Vec<Option<&Arc<E>>> = self.entries.iter().map(Some).collect();
        // Where the keys are that were added or removed.
        let mut places: HashMap<&str, Option<usize>> = HashMap::new();
        for change in changes {
            let key = change.key();
            let place = places.get(key).map_or_else(|| self.place(key), |place| *place);
            let slot = place.and_then(|place| slots.get_mut(place));
            match (change, slot) {
                (Change::Add(_), Some(_)) => return Err(BuildError::DuplicateName(key.to_owned())),
                (Change::Add(entry), None) => {
                    places.insert(key, Some(slots.len()));
                    slots.push(Some(entry));
                }
                (Change::Replace(entry), Some(slot)) => *slot = Some(entry),
                (Change::Remove(_), Some(slot)) => {
                    places.insert(key, None);
                    *slot = None;
                }
                (Change::Replace(_) | Change::Remove(_), None) => {
                    return Err(BuildError::Unknown(key.to_owned()));
                }
            }
        }
        let mut entries = Vec::with_capacity(slots.len());
        let moved = slots.into_iter().map(|slot| {
            entries.push(Arc::clone(slot?));
            Some(entries.len() - 1)
        });
        let moved: Vec<Option<usize>> = moved.collect();
        // Most are sorted already, which sorting makes use of.
        let stay = self.by_key.iter().filter_map(|place| *moved.get(*place)?);
        let come = moved.iter().skip(self.entries.len()).filter_map(|place| *place);
        let by_key = stay.chain(come).collect();
        Ok(Self::sorted(entries, by_key, listing))
    }

    fn sorted(entries: Vec<Arc<E>>, mut by_key: Vec<usize>, listing: &Listing) -> Self {
        by_key.sort_by(|&a, &b| key(&entries, a).cmp(key(&entries, b)));
        // Nothing still has a page to show, an empty one.
        let pages = entries.len().div_ceil(listing.page_size).max(1);
        Self { entries, by_key, pages: (0..pages).map(|_| OnceLock::new()).collect() }
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
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let cursor = Cursor::open(cursor, E::MEMBER)?;
                let behind = self.place(&cursor.last).map(|place| place + 1);
                // One that comes later than it did was removed, and added anew.
                let behind = behind.filter(|&behind| behind <= cursor.entries);
                behind.unwrap_or_else(|| cursor.without_last().min(self.entries.len()))
            }
        };
        let encode = || Self::encode(start, self.entries.iter().skip(start), listing);
        let whole = start.is_multiple_of(listing.page_size).then_some(start / listing.page_size);
        Some(match whole.and_then(|page| self.pages.get(page)) {
            Some(page) => page.get_or_init(encode).into(),
            // The list was another when the cursor was made.
            None => encode().into(),
        })
    }

    /// The same of a list of nothing but the entries that `sees` picks: the others cannot be found with any cursor,
    /// and are not counted in one.
    pub(crate) fn page_of(
        &self,
        cursor: Option<&str>,
        sees: impl Fn(&E) -> bool,
        listing: &Listing,
    ) -> Option<String> {
        let mut visible = self.entries.iter().filter(|entry| sees(entry)).peekable();
        let mut start = 0;
        if let Some(cursor) = cursor {
            let cursor = Cursor::open(cursor, E::MEMBER)?;
            let is_last = |entry: &E| entry.key() == cursor.last;
            while start < cursor.entries
                && let Some(entry) =
                    visible.next_if(|entry| start < cursor.without_last() || is_last(entry))
            {
                start += 1;
                if is_last(entry) {
                    break;
                }
            }
        }
        Some(Self::encode(start, visible, listing))
    }

    /// The page that begins with the first of `rest`, before which come `start` entries.
    fn encode<'a>(
        start: usize,
        mut rest: impl Iterator<Item = &'a Arc<E>>,
        listing: &Listing,
    ) -> String
    where
        E: 'a,
    {
        let page: Vec<_> = rest.by_ref().take(listing.page_size).collect();
        let next = rest
            .next()
            .and_then(|_| page.last())
            .map(|last| Cursor { entries: start + page.len(), last: last.key() }.seal(E::MEMBER));
        let definitions: Vec<_> = page.iter().map(|entry| entry.json()).collect();
        page::encode(listing, E::MEMBER, &definitions, next)
    }

    fn place(&self, key: &str) -> Option<usize> {
        let found = self.by_key.binary_search_by(|&at| self::key(&self.entries, at).cmp(key));
        self.by_key.get(found.ok()?).copied()
    }
}

impl<E: Entry> Change<E> {
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Add(entry) | Self::Replace(entry) => entry.key(),
            Self::Remove(key) => key,
        }
    }
}

/// The key at a place that is in `entries`.
fn key<E: Entry>(entries: &[Arc<E>], place: usize) -> &str {
    entries.get(place).map_or("", |entry| entry.key())
}

#[cfg(test)]
mod tests;
