//! States that are good for one request only, and who remembers which have been used.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_types::ErrorObject;

use super::REFUSED;
use crate::context::Context;
use crate::layer::CallOutcome;
use crate::work::Claim;

/// Remembers which request states have been used, for a server that honours
/// [none of them twice](crate::ServerBuilder::single_use_states).
///
/// All instances that share their [keys](crate::KeyRing) must share this as well. [`LocalSpentStates`] is for a server
/// of one instance; others ask something that all of them reach, for example Redis with
/// `SET <id> 1 NX EXAT <until>`, or a database with an insert that fails on a duplicate key.
pub trait SpentStates: Send + Sync + 'static {
    /// Takes the state `id` for one request: `true` the first time, `false` ever after, for whoever asks.
    ///
    /// Of any number of claims of one id that race, exactly one gets `true`. The id may be forgotten when the
    /// clock reads `until`: the state has expired then, also by clocks that lag by a few minutes.
    ///
    /// # Errors
    /// When it cannot tell. The request is answered with -32603, the error is logged, and the handler does not run.
    ///
    /// # Cancel safety
    /// The future is dropped when the client leaves or the call takes too long. Whether the state is spent then is the
    /// store's to decide, and safe either way: the handler does not run.
    fn claim(&self, id: StateId, until: SystemTime) -> Claiming<'_>;
}

/// What a claim comes to; see [`SpentStates::claim`].
pub type Claiming<'a> =
    Pin<Box<dyn Future<Output = Result<bool, Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// Names one sealed state. It tells nothing about the state, and nobody can make a state that has the id of another.
///
/// As text it is 22 letters, digits, `-` and `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId([u8; Self::LEN]);

impl StateId {
    /// Bytes of an id.
    pub const LEN: usize = 16;

    /// The tag of a seal, which depends on all that is sealed and on the key.
    pub(super) const fn of(tag: [u8; Self::LEN]) -> Self {
        Self(tag)
    }

    /// The id in as few bytes as it has.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// [`SpentStates`] in the memory of one process: a restart forgets them, so give such a server a
/// [random key](crate::KeyRing::random), whose states do not outlive it either.
///
/// ```
/// use std::sync::Arc;
/// use mcp_server::Server;
/// use mcp_server::ask::LocalSpentStates;
///
/// let builder =
///     Server::builder("shop", "1.0.0").single_use_states(Arc::new(LocalSpentStates::new()));
/// ```
///
/// Expired states are forgotten. When as many are remembered as it holds, it refuses to take another, with an
/// error, rather than forget one that could then be used again; nor does a clock that is put back make one good
/// again. A caller who makes as many rounds within the hour uses it up for all: where that is to be feared, hold
/// more, or limit how often callers may call.
#[derive(Debug)]
pub struct LocalSpentStates {
    limit: usize,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    ids: HashSet<StateId>,
    /// The same, the next to expire on top.
    by_expiry: BinaryHeap<Reverse<(SystemTime, StateId)>>,
    /// Until when the last one that was forgotten had been remembered. Any that expires no later may be one that was:
    /// it is not fresh, even if the clock was put back since.
    forgotten: Option<SystemTime>,
}

impl LocalSpentStates {
    /// 65,536 states: as many rounds within an hour, in some 5 MiB.
    pub const LIMIT: usize = 65_536;

    /// Holds [`LIMIT`](Self::LIMIT) states.
    pub fn new() -> Self {
        Self::with_limit(Self::LIMIT)
    }

    /// Holds `limit` states.
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    fn claim_at(&self, now: SystemTime, id: StateId, until: SystemTime) -> Result<bool, Full> {
        // Every change leaves both collections alike.
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.forget(now);
        if spent.ids.contains(&id) || spent.forgotten.is_some_and(|forgotten| until <= forgotten) {
            return Ok(false);
        }
        if spent.ids.len() >= self.limit {
            return Err(Full { limit: self.limit });
        }
        spent.ids.insert(id);
        spent.by_expiry.push(Reverse((until, id)));
        Ok(true)
    }
}

impl Spent {
    fn forget(&mut self, now: SystemTime) {
        while let Some(Reverse((until, id))) = self.by_expiry.peek()
            && *until <= now
        {
            self.forgotten = self.forgotten.max(Some(*until));
            self.ids.remove(id);
            self.by_expiry.pop();
        }
    }
}

impl Default for LocalSpentStates {
    fn default() -> Self {
        Self::new()
    }
}

impl SpentStates for LocalSpentStates {
    fn claim(&self, id: StateId, until: SystemTime) -> Claiming<'_> {
        let claimed = self.claim_at(SystemTime::now(), id, until);
        Box::pin(std::future::ready(claimed.map_err(Into::into)))
    }
}

/// More states were used within their time than are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit} used request states are remembered, and no more are held")]
struct Full {
    limit: usize,
}

/// What a request that brought a state has to wait for, where states are good for one use.
pub(crate) fn claim(context: &Context) -> Option<Claim> {
    let store = Arc::clone(context.shared().spent_states.as_ref()?);
    let asks = context.asks()?;
    let (id, expires) = asks.unclaimed()?;
    let context = context.clone();
    Some(Box::pin(async move {
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(expires) + CLOCKS_DIFFER;
        match store.claim(id, until).await {
            Ok(true) => {
                context.asks().inspect(|asks| asks.is_claimed());
                Ok(())
            }
            Ok(false) => {
                tracing::debug!("a request state was refused that had been used");
                Err(CallOutcome::refused(REFUSED))
            }
            Err(error) => {
                tracing::error!(error = &*error, "no telling whether a request state was used");
                Err(ErrorObject::internal_error("Internal error").into())
            }
        }
    }))
}

/// 5 min longer than a state is good is it remembered: clocks of instances and of what they share differ.
const CLOCKS_DIFFER: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn id(byte: u8) -> StateId {
        StateId::of([byte; StateId::LEN])
    }

    #[test]
    fn once_is_once_until_it_has_expired() {
        let store = LocalSpentStates::new();
        assert_eq!(store.claim_at(at(0), id(1), at(10)), Ok(true));
        for now in [0, 1, 9] {
            assert_eq!(store.claim_at(at(now), id(1), at(10)), Ok(false));
        }
        assert_eq!(store.claim_at(at(9), id(2), at(10)), Ok(true));
        assert_eq!(store.claim_at(at(10), id(1), at(20)), Ok(true), "forgotten, and nobody minds");
    }

    /// A clock that jumps ahead makes the store forget. Put back, it makes states good again, which are refused then,
    /// and so are those that could be among them; what is made later counts.
    #[test]
    fn a_clock_that_is_put_back_revives_nothing() {
        let store = LocalSpentStates::new();
        assert_eq!(store.claim_at(at(0), id(1), at(10)), Ok(true));
        assert_eq!(store.claim_at(at(100), id(2), at(110)), Ok(true), "1 is forgotten");
        for _ in 0..2 {
            assert_eq!(store.claim_at(at(1), id(1), at(10)), Ok(false));
            assert_eq!(store.claim_at(at(1), id(3), at(9)), Ok(false));
        }
        assert_eq!(store.claim_at(at(1), id(4), at(11)), Ok(true));
    }

    /// It refuses rather than forgets, and what has expired, in whatever order it came, makes room.
    #[test]
    fn it_is_bounded() {
        let store = LocalSpentStates::with_limit(3);
        for (n, until) in [(1, 30), (2, 10), (3, 20)] {
            assert_eq!(store.claim_at(at(0), id(n), at(until)), Ok(true));
        }
        assert_eq!(store.claim_at(at(9), id(4), at(40)), Err(Full { limit: 3 }));
        assert_eq!(store.claim_at(at(9), id(2), at(10)), Ok(false), "what is known is still known");
        assert_eq!(store.claim_at(at(10), id(4), at(40)), Ok(true));
        assert_eq!(store.claim_at(at(19), id(5), at(40)), Err(Full { limit: 3 }));
        assert_eq!(store.claim_at(at(39), id(5), at(40)), Ok(true));
        let spent = store.spent.lock().unwrap();
        assert_eq!((spent.ids.len(), spent.by_expiry.len()), (2, 2));
    }

    #[test]
    fn ids_are_short_texts() {
        assert_eq!(id(0xFF).to_string(), "_____________________w");
        assert_eq!(id(7).as_bytes(), &[7; 16]);
    }
}
