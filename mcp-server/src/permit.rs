//! How many exchanges are under way: in all, and for each caller.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::caller::{Caller, Connection, RequestParts, host};
use crate::rejection::Reason;

/// Counts exchanges under way, or subscriptions, and refuses those over the limits.
#[derive(Debug)]
pub(crate) struct Gate {
    all: AtomicUsize,
    /// Only callers with an exchange under way, so `all` bounds it.
    callers: Mutex<HashMap<Key, usize, Cheap>>,
    limit: usize,
    limit_per_caller: usize,
}

/// Whom an exchange counts for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Caller(Caller),
    Address(IpAddr),
}

/// A hash of a few instructions, since every request takes it twice. Keys that collide on purpose gain nothing: the
/// map never holds more than `limit`.
type Cheap = BuildHasherDefault<Multiply>;

#[derive(Debug, Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.write_u64((*byte).into());
        }
    }

    fn write_u64(&mut self, n: u64) {
        // The golden ratio; the rotation brings the well mixed high bits down to where the map looks.
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }

    fn write_isize(&mut self, n: isize) {
        // The discriminant of an enum.
        self.write_u64(n.cast_unsigned() as u64);
    }
}

/// The right to one exchange; given back when the last who shares it is gone.
///
/// Only a handler that may outlive its exchange shares it, so that no other costs an allocation.
#[derive(Debug)]
pub(crate) enum Permit {
    Own(Place),
    Shared(SharedPermit),
}

/// What shares a permit.
pub(crate) type SharedPermit = Arc<Place>;

/// A place among the exchanges under way; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    gate: Arc<Gate>,
    key: Option<Key>,
    /// Keeps its connection from being taken for idle.
    requests: Option<Arc<AtomicUsize>>,
}

impl Gate {
    pub(crate) fn new(limit: usize, limit_per_caller: usize) -> Self {
        Self { all: AtomicUsize::new(0), callers: Mutex::default(), limit, limit_per_caller }
    }

    /// Lets one more exchange in. A caller who is neither authenticated nor has an address counts only
    /// towards the whole.
    pub(crate) fn enter(
        self: &Arc<Self>,
        parts: &RequestParts,
        connection: Option<&Connection>,
    ) -> Result<Permit, Reason> {
        if self.all.fetch_add(1, Ordering::Relaxed) >= self.limit {
            self.all.fetch_sub(1, Ordering::Relaxed);
            return Err(Reason::ServerBusy);
        }
        // From here on dropping it counts down again.
        let requests = connection.map(|connection| Arc::clone(&connection.requests));
        let mut place = Place { gate: Arc::clone(self), key: None, requests };
        let key = match &parts.caller {
            Some(caller) => Some(Key::Caller(caller.clone())),
            None => parts.peer_addr.map(|address| Key::Address(host(address.ip()))),
        };
        if let Some(key) = key {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            let under_way = callers.entry(key.clone()).or_insert(0);
            if *under_way >= self.limit_per_caller {
                return Err(Reason::CallerBusy);
            }
            *under_way += 1;
            place.key = Some(key);
        }
        Ok(Permit::Own(place))
    }
}

impl Permit {
    /// Another of what `this` holds, for what may outlive the exchange.
    pub(crate) fn share(this: &mut Option<Self>) -> Option<SharedPermit> {
        let place = match this.take()? {
            Self::Own(place) => Arc::new(place),
            Self::Shared(place) => place,
        };
        *this = Some(Self::Shared(Arc::clone(&place)));
        Some(place)
    }

    /// This in the place of `other`, which is given back while its connection stays in use.
    pub(crate) fn replacing(self, other: Option<Self>) -> Self {
        match (self, other) {
            (Self::Own(mut place), Some(Self::Own(mut other))) => {
                place.requests = other.requests.take();
                Self::Own(place)
            }
            // Only calls share theirs.
            (permit, _) => permit,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.all.fetch_sub(1, Ordering::Relaxed);
        let Some(key) = &self.key else { return };
        let mut callers = self.gate.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = callers.get_mut(key) {
            *under_way -= 1;
            if *under_way == 0 {
                callers.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_counted_and_given_back() {
        let gate = Arc::new(Gate::new(3, 2));
        let by =
            |name: &str| RequestParts { caller: Some(Caller::new(name)), ..Default::default() };
        let first = gate.enter(&by("a"), None).unwrap();
        let second = gate.enter(&by("a"), None).unwrap();
        assert!(matches!(gate.enter(&by("a"), None), Err(Reason::CallerBusy)));
        let third = gate.enter(&by("b"), None).unwrap();
        assert!(matches!(gate.enter(&by("c"), None), Err(Reason::ServerBusy)));
        drop(first);
        let again = gate.enter(&by("a"), None).unwrap();
        drop((second, third, again));
        assert_eq!(gate.all.load(Ordering::Relaxed), 0);
        assert!(gate.callers.lock().unwrap().is_empty());
    }
}
