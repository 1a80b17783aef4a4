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

#[cfg(test)]
mod tests {
    use mcp_transport::jose::{Algorithm, SigningKey};

    use super::*;

    fn thumbprint() -> Thumbprint {
        SigningKey::generate(Algorithm::EdDsa).unwrap().public_jwk().thumbprint()
    }

    #[test]
    fn a_proof_is_remembered_as_long_as_it_is_good() {
        let (replays, one, other) = (Replays::new(10, 10), thumbprint(), thumbprint());
        assert_eq!(replays.claim(one, "a", 20, 10), Claim::First);
        assert_eq!(replays.claim(one, "a", 20, 20), Claim::Seen);
        // Ids are the key's own.
        assert_eq!(replays.claim(other, "a", 20, 10), Claim::First);
        assert_eq!(replays.claim(one, "b", 20, 10), Claim::First);
        assert_eq!(replays.claim(one, "a", 40, 21), Claim::First);
        assert_eq!(replays.claim(one, "a", 40, 30), Claim::Seen);
    }

    #[test]
    fn a_full_memory_forgets_nothing_that_is_good() {
        let (replays, keys) = (Replays::new(6, 3), [thumbprint(), thumbprint(), thumbprint()]);
        for jti in ["a", "b", "c"] {
            assert_eq!(replays.claim(keys[0], jti, 20, 10), Claim::First);
        }
        // One key leaves room for others.
        assert_eq!(replays.claim(keys[0], "d", 20, 10), Claim::Full);
        assert_eq!(replays.claim(keys[0], "a", 20, 10), Claim::Seen);
        for jti in ["a", "b", "c"] {
            assert_eq!(replays.claim(keys[1], jti, 30, 10), Claim::First);
        }
        assert_eq!(replays.claim(keys[2], "a", 30, 10), Claim::Full);
        assert_eq!(replays.claim(keys[2], "a", 30, 20), Claim::Full);
        // Those of the first have expired.
        assert_eq!(replays.claim(keys[2], "a", 40, 21), Claim::First);
        assert_eq!(replays.claim(keys[0], "a", 40, 21), Claim::First);
        assert_eq!(replays.claim(keys[1], "d", 40, 21), Claim::Full);
        assert_eq!(replays.claim(keys[1], "c", 40, 21), Claim::Seen);
        assert_eq!(replays.claim(keys[1], "d", 40, 31), Claim::First);
    }
}
