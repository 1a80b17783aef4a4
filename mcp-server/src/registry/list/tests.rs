use mcp_types::{CacheHint, CacheScope, ResultMeta};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// An entry that tells which one it is of its key.
struct Named {
    definition: mcp_types::Tool,
    json: RawJson,
}

impl Entry for Named {
    const MEMBER: &'static str = "tools";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn json(&self) -> &RawJson {
        &self.json
    }

    fn item(&self) -> Item<'_> {
        Item::Tool(&self.definition)
    }
}

fn named(key: u8, which: usize) -> Arc<Named> {
    let definition = mcp_types::Tool::new(format!("t{key}"), RawJson::from(json!({})));
    Arc::new(Named { definition, json: json!([format!("t{key}"), which]).into() })
}

fn list(keys: u8, listing: &Listing) -> List<Named> {
    List::new((0..keys).map(|key| named(key, 0)).collect(), listing).ok().unwrap()
}

fn listing(page_size: usize) -> Listing {
    let cache = CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private };
    Listing { page_size, cache, meta: ResultMeta::default() }
}

fn text(entry: &Arc<Named>) -> String {
    entry.json.get().to_owned()
}

fn texts(list: &List<Named>) -> Vec<String> {
    list.entries().iter().map(text).collect()
}

/// The keys on a page, and the cursor behind it.
fn read(page: &str) -> (Vec<String>, Option<String>) {
    let page: Value = serde_json::from_str(page).unwrap();
    let entries = page["tools"].as_array().unwrap();
    let next = page.get("nextCursor").map(|next| next.as_str().unwrap().to_owned());
    let keys = entries.iter().map(|entry| entry[0].as_str().unwrap().to_owned());
    (keys.collect(), next)
}

/// Kinds of changes, to keys.
fn changes() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((0..3_u8, 0..8_u8), 0..8)
}

fn change(&(kind, key): &(u8, u8), which: usize) -> Change<Named> {
    match kind {
        0 => Change::Add(named(key, which)),
        1 => Change::Replace(named(key, which)),
        _ => Change::Remove(format!("t{key}")),
    }
}

/// The changes one by one, as one would say them.
fn naively(entries: &[Arc<Named>], changes: &[Change<Named>]) -> Option<Vec<Arc<Named>>> {
    let mut entries = entries.to_vec();
    for change in changes {
        let place = entries.iter().position(|entry| entry.key() == change.key());
        match (change, place) {
            (Change::Add(entry), None) => entries.push(Arc::clone(entry)),
            (Change::Replace(entry), Some(place)) => entries[place] = Arc::clone(entry),
            (Change::Remove(_), Some(place)) => drop(entries.remove(place)),
            _ => return None,
        }
    }
    Some(entries)
}

proptest! {
    #[test]
    fn changes_are_made_in_their_order(edits in proptest::collection::vec(changes(), 0..6)) {
        let listing = listing(3);
        let mut list = list(4, &listing);
        for (nth, edit) in edits.iter().enumerate() {
            let changes: Vec<_> =
                edit.iter().enumerate().map(|(n, one)| change(one, 1 + nth * 10 + n)).collect();
            let expected = naively(list.entries(), &changes);
            let changed = list.changed(&changes, &listing).ok();
            prop_assert_eq!(changed.is_some(), expected.is_some());
            let (Some(changed), Some(expected)) = (changed, expected) else { continue };
            prop_assert_eq!(texts(&changed), expected.iter().map(text).collect::<Vec<_>>());
            for key in 0..8 {
                let key = format!("t{key}");
                let found = expected.iter().find(|entry| entry.key() == key);
                prop_assert_eq!(changed.get(&key).map(text), found.map(text));
            }
            list = changed;
        }
    }

    /// With a filter that shows everything as without one; with any other, as if there were nothing else.
    #[test]
    fn a_filtered_list_is_one_of_the_rest(
        shown in proptest::collection::vec(any::<bool>(), 8),
        page_size in 1..5_usize,
        entries in 0..10_usize,
        last in 0..10_u8,
    ) {
        let listing = listing(page_size);
        let all = list(8, &listing);
        let sees = |entry: &Named| {
            shown.iter().enumerate().any(|(key, shown)| *shown && entry.key() == format!("t{key}"))
        };
        let rest = all.entries().iter().filter(|entry| sees(entry)).cloned().collect();
        let rest = List::new(rest, &listing).ok().unwrap();
        let cursor = Cursor { entries, last: format!("t{last}") }.seal(Named::MEMBER);
        for cursor in [None, Some(&*cursor)] {
            let expected = rest.page(cursor, &listing).unwrap().into_owned();
            prop_assert_eq!(all.page_of(cursor, sees, &listing), Some(expected));
            let expected = all.page(cursor, &listing).unwrap().into_owned();
            prop_assert_eq!(all.page_of(cursor, |_| true, &listing), Some(expected));
        }
    }

    /// Whoever reads page by page misses nothing that stays, as long as no more is removed at a time than the entry at
    /// which the last page ended.
    #[test]
    fn what_stays_is_listed(
        edits in proptest::collection::vec((0..4_u8, 0..6_u8), 0..6),
        page_size in 1..4_usize,
        filtered: bool,
    ) {
        let listing = listing(page_size);
        let mut list = list(6, &listing);
        let (mut seen, mut cursor, mut edits) = (Vec::new(), None::<String>, edits.iter());
        loop {
            let page = match filtered {
                true => list.page_of(cursor.as_deref(), |_| true, &listing).unwrap(),
                false => list.page(cursor.as_deref(), &listing).unwrap().into_owned(),
            };
            let (page, next) = read(&page);
            seen.extend(page);
            let (Some(next), Some(last)) = (next, seen.last()) else { break };
            cursor = Some(next);
            if let Some(&(kind, key)) = edits.next() {
                let changes = match kind {
                    0 => vec![Change::Add(named(6 + key % 4, 1))],
                    1 => vec![Change::Replace(named(key, 1))],
                    2 => vec![Change::Remove(last.clone())],
                    _ => vec![Change::Remove(last.clone()), Change::Add(named(key, 1))],
                };
                if let Ok(changed) = list.changed(&changes, &listing) {
                    list = changed;
                }
            }
        }
        // What was removed had been listed before.
        for key in 0..6 {
            prop_assert!(seen.contains(&format!("t{key}")), "{key}: {seen:?}");
        }
    }
}
