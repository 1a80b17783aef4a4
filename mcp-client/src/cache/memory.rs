//! `MemoryStore`: answers in memory, the oldest out first.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{CacheKey, CacheStore, CachedAnswer};

/// A bounded store in memory. When there is no room, what was stored longest ago goes first, fresh or not.
pub struct MemoryStore {
    kept: Mutex<Kept>,
    entries: usize,
    bytes: usize,
}

#[derive(Default)]
struct Kept {
    answers: HashMap<CacheKey, (u64, CachedAnswer)>,
    /// The same keys by the time they were stored.
    order: BTreeMap<u64, CacheKey>,
    clock: u64,
    bytes: usize,
}

impl MemoryStore {
    /// A store of up to so many answers, and so many bytes of answers and parameters.
    pub fn new(entries: usize, bytes: usize) -> Self {
        Self { kept: Mutex::default(), entries, bytes }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // At worst a forgotten answer, which costs a request.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheStore for MemoryStore {
    fn get(&self, key: &CacheKey) -> Option<CachedAnswer> {
        self.kept().answers.get(key).map(|(_, answer)| answer.clone())
    }

    fn put(&self, key: CacheKey, answer: CachedAnswer) {
        let mut kept = self.kept();
        kept.forget(&key);
        if size(&key, &answer) > self.bytes {
            return;
        }
        kept.store(key, answer);
        while kept.answers.len() > self.entries || kept.bytes > self.bytes {
            let Some((_, oldest)) = kept.order.pop_first() else {
                return;
            };
            kept.forget(&oldest);
        }
    }

    fn remove(&self, stale: &dyn Fn(&CacheKey) -> bool) {
        let mut kept = self.kept();
        let keys: Vec<_> = kept.order.values().filter(|key| stale(key)).cloned().collect();
        for key in keys {
            kept.forget(&key);
        }
    }
}

impl Kept {
    fn store(&mut self, key: CacheKey, answer: CachedAnswer) {
        self.bytes += size(&key, &answer);
        self.order.insert(self.clock, key.clone());
        self.answers.insert(key, (self.clock, answer));
        self.clock += 1;
    }

    fn forget(&mut self, key: &CacheKey) {
        if let Some((stored_at, answer)) = self.answers.remove(key) {
            self.order.remove(&stored_at);
            self.bytes -= size(key, &answer);
        }
    }
}

fn size(key: &CacheKey, answer: &CachedAnswer) -> usize {
    key.params.len() + answer.result.len()
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept();
        f.debug_struct("MemoryStore")
            .field("entries", &kept.answers.len())
            .field("bytes", &kept.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    fn key(params: &str) -> CacheKey {
        CacheKey { server: "s".into(), context: None, method: "m", params: params.into() }
    }

    fn answer(bytes: usize) -> CachedAnswer {
        let (received_at, ttl) = (Instant::now(), Duration::MAX);
        CachedAnswer { result: vec![b' '; bytes].into(), received_at, ttl }
    }

    fn kept(store: &MemoryStore) -> (usize, usize, usize) {
        let kept = store.kept();
        (kept.answers.len(), kept.order.len(), kept.bytes)
    }

    #[test]
    fn the_oldest_goes_first() {
        let store = MemoryStore::new(2, 100);
        for params in ["a", "b", "a", "c"] {
            store.put(key(params), answer(10));
        }
        assert!(store.get(&key("b")).is_none());
        assert!(store.get(&key("a")).is_some() && store.get(&key("c")).is_some());
        assert_eq!(kept(&store), (2, 2, 22));
        store.put(key("d"), answer(95));
        assert_eq!(kept(&store), (1, 1, 96));
        // What has no room at all displaces nothing but what it would have replaced.
        store.put(key("e"), answer(100));
        assert!(store.get(&key("d")).is_some());
        store.put(key("d"), answer(100));
        assert_eq!(kept(&store), (0, 0, 0));
    }

    #[test]
    fn what_is_stale_is_forgotten() {
        let store = MemoryStore::new(9, 99);
        for params in ["a", "b", "c"] {
            store.put(key(params), answer(1));
        }
        store.remove(&|key| key.params() != "b");
        assert_eq!(kept(&store), (1, 1, 2));
    }
}
