//! `List`: things of one kind in the order of registration, with their pages encoded.

use std::sync::Arc;

use super::page::Cursor;

/// What can be in a [`List`].
pub(crate) trait Entry {
    /// What it is found by, unique in its list.
    fn key(&self) -> &str;
}

/// Entries in order, found by their keys, and the encoded result of each page of their definitions.
#[derive(Debug)]
pub(crate) struct List<E> {
    /// What the cursors of this list are bound to.
    name: &'static str,
    entries: Vec<Arc<E>>,
    /// Places in `entries`, sorted by key: faster than hashing for any number of tools that a model can
    /// choose from.
    by_key: Vec<usize>,
    page_size: usize,
    pages: Vec<String>,
}

impl<E: Entry> List<E> {
    pub(crate) const fn new(name: &'static str, page_size: usize) -> Self {
        Self { name, entries: Vec::new(), by_key: Vec::new(), page_size, pages: Vec::new() }
    }

    /// Adds an entry at the end; gives it back when its key is taken.
    pub(crate) fn push(&mut self, entry: E) -> Result<(), E> {
        match self.search(entry.key()) {
            Ok(_) => Err(entry),
            Err(at) => {
                self.by_key.insert(at, self.entries.len());
                self.entries.push(Arc::new(entry));
                Ok(())
            }
        }
    }

    /// Encodes the pages of `definitions`, which are those of the entries in their order. `encode` gets those of
    /// one page and the cursor of the next.
    pub(crate) fn encode<D>(
        &mut self,
        definitions: &[D],
        encode: impl Fn(&[D], Option<String>) -> String,
    ) {
        let mut listed = 0;
        // Nothing still has a page to show, an empty one.
        let chunks = definitions.chunks(self.page_size);
        let chunks = chunks.chain(definitions.is_empty().then_some(&[][..]));
        self.pages = chunks
            .map(|chunk| {
                listed += chunk.len();
                let last = (listed < definitions.len())
                    .then(|| self.entries.get(listed - 1))
                    .flatten()
                    .map(|entry| Cursor::seal(self.name, entry.key()));
                encode(chunk, last)
            })
            .collect();
    }

    /// The entry with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<E>> {
        self.entries.get(self.place(key)?)
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<E>> {
        self.entries.iter()
    }

    /// The encoded result of the page that `cursor` points at, the first one without; `None` when no list of
    /// this server gave that cursor.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Option<&str> {
        let page = match cursor {
            None => 0,
            Some(cursor) => {
                let last = Cursor::open(cursor, self.name)?;
                let next = self.place(&last)? + 1;
                if !next.is_multiple_of(self.page_size) {
                    return None;
                }
                next / self.page_size
            }
        };
        self.pages.get(page).map(String::as_str)
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.by_key.get(self.search(key).ok()?).copied()
    }

    fn search(&self, key: &str) -> Result<usize, usize> {
        self.by_key.binary_search_by(|&at| {
            // Every place in `by_key` is one in `entries`.
            self.entries.get(at).map_or("", |entry| entry.key()).cmp(key)
        })
    }
}
