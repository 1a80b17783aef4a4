//! Which proofs have been seen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use mcp_transport::jose::Thumbprint;
use ring::digest::{Context, SHA256};

/// Remembers proofs until they would not be taken any more anyway. When it is full it takes no more, since to forget one
/// would be to take it twice.
pub(super) struct Replays {
    limit: usize,
    limit_per_key: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The last second in which each is good.
    proofs: HashMap<Id, u64>,
    /// How many there are of each key.
    keys: HashMap<Key, usize>,
    /// When the first of them expires, as of the last look at all.
    look_at: u64,
}

/// Halves of a hash: nobody finds two proofs alike.
type Id = (Key, [u8; 16]);
type Key = [u8; 16];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    First,
    Seen,
    Full,
}

impl Replays {
    pub(super) fn new(limit: usize, limit_per_key: usize) -> Self {
        Self { limit, limit_per_key, seen: Mutex::default() }
    }

    /// Remembers the proof of this id of the key, which is good up to the second `until`.
    pub(super) fn claim(&self, key: Thumbprint, jti: &str, until: u64, now: u64) -> Claim {
        let key = half(key.as_bytes());
        let mut hash = Context::new(&SHA256);
        hash.update(jti.as_bytes());
        let id = (key, half(hash.finish().as_ref()));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = &mut *seen;
        let is_full = |seen: &Seen| {
            let of_key = seen.keys.get(&key).copied().unwrap_or(0);
            seen.proofs.len() >= self.limit || of_key >= self.limit_per_key
        };
        if is_full(seen) && seen.look_at < now {
            seen.forget(now);
        }
        let is_full = is_full(seen);
        match seen.proofs.entry(id) {
            Entry::Occupied(found) if *found.get() >= now => Claim::Seen,
            // One that has expired: it is counted already.
            Entry::Occupied(mut found) => {
                found.insert(until);
                Claim::First
            }
            Entry::Vacant(_) if is_full => Claim::Full,
            Entry::Vacant(place) => {
                place.insert(until);
                *seen.keys.entry(key).or_default() += 1;
                seen.look_at = seen.look_at.min(until);
                Claim::First
            }
        }
    }
}

impl Seen {
    /// Forgets those that have expired, and finds out when the next one does: until then looking is in vain.
    fn forget(&mut self, now: u64) {
        self.keys.clear();
        self.look_at = u64::MAX;
        self.proofs.retain(|(key, _), until| {
            let stays = *until >= now;
            if stays {
                *self.keys.entry(*key).or_default() += 1;
                self.look_at = self.look_at.min(*until);
            }
            stays
        });
    }
}

fn half(hash: &[u8]) -> [u8; 16] {
    hash.first_chunk().copied().unwrap_or_default()
}
