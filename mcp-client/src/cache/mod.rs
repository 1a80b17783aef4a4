//! Answers that are still fresh. Specification: Caching.

mod memory;
mod slot;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mcp_types::{Method, Request, request};
use tokio::time::Instant;

pub use memory::MemoryStore;
pub(crate) use slot::{Mode, Slot};

use crate::limits::Limits;
use crate::listen::Change;

/// What a client remembers of a server's answers, for as long as the server says that they stay fresh. A cheap
/// clone; clones are the same cache.
///
/// Cached are complete results of the methods whose results may be, under method, parameters and the server's
/// address; those that are private under the authorization context as well, which is whatever
/// [`ClientBuilder::cache_context`](crate::ClientBuilder::cache_context) says. Results that took input, requests
/// whose `_meta` the caller wrote, and errors are not cached. A change that a
/// [subscription](crate::Client::listen) tells of drops what it concerns, also when it overtakes an answer on its
/// way; so does a list of tools that turns out to be old.
///
/// Every client has one of its own unless it is given another, or [none](crate::ClientBuilder::no_cache).
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    store: Box<dyn CacheStore>,
    /// Counts what was dropped: an answer that was asked for before and arrives behind it is not stored. Held
    /// while the store changes.
    drops: Mutex<u64>,
}

impl Cache {
    /// A cache in memory, with the bounds of [`Limits::default`].
    pub fn new() -> Self {
        let limits = Limits::default();
        Self::with_store(MemoryStore::new(limits.cache_entries, limits.cache_bytes))
    }

    /// A cache that keeps its answers in `store`.
    pub fn with_store(store: impl CacheStore) -> Self {
        Self { shared: Arc::new(Shared { store: Box::new(store), drops: Mutex::default() }) }
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.drop_all(&|_| true);
    }

    /// Drops what a change of the server at `server` concerns. Specification: Caching, Interaction with
    /// Notifications.
    pub(crate) fn apply(&self, server: &str, change: &Change) {
        let concerned = |key: &CacheKey| match change {
            Change::Tools => key.is(Method::ListTools),
            Change::Prompts => key.is(Method::ListPrompts),
            Change::Resources => {
                key.is(Method::ListResources) || key.is(Method::ListResourceTemplates)
            }
            Change::Resource(updated) => key.is(Method::ReadResource) && key.reads(&updated.uri),
            Change::Stale => true,
            Change::Other { .. } => false,
        };
        self.drop_all(&|key| &*key.server == server && concerned(key));
    }

    /// Drops the pages of a list.
    pub(crate) fn forget(&self, server: &str, method: &str) {
        self.drop_all(&|key| &*key.server == server && key.method == method);
    }

    fn drop_all(&self, stale: &dyn Fn(&CacheKey) -> bool) {
        let mut drops = self.drops();
        *drops += 1;
        self.shared.store.remove(stale);
    }

    fn drops(&self) -> MutexGuard<'_, u64> {
        // It is a number.
        self.shared.drops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

/// Where a [`Cache`] keeps answers. It is called where calls are polled, so it must not block; what it forgets
/// costs a request. It must be bounded: keys and answers come from servers.
pub trait CacheStore: Send + Sync + 'static {
    /// The answer under `key`, fresh or not.
    fn get(&self, key: &CacheKey) -> Option<CachedAnswer>;

    /// Keeps `answer` under `key`, in place of one that is there.
    fn put(&self, key: CacheKey, answer: CachedAnswer);

    /// Forgets every answer under a key that is `stale`.
    fn remove(&self, stale: &dyn Fn(&CacheKey) -> bool);
}

/// What identifies a cached answer. Specification: Caching, Cache Key.
///
/// `Debug` shows neither the authorization context nor the address, whose query may be secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    server: Arc<str>,
    context: Option<Arc<[u8]>>,
    method: &'static str,
    params: Arc<str>,
}

impl CacheKey {
    /// The server's address, as the client was given it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The authorization context that the answer belongs to; `None` when it is public. It may hold credentials.
    pub fn context(&self) -> Option<&[u8]> {
        self.context.as_deref()
    }

    /// The method.
    pub const fn method(&self) -> &'static str {
        self.method
    }

    /// The parameters as JSON, without `_meta`.
    pub fn params(&self) -> &str {
        &self.params
    }

    fn is(&self, method: Method) -> bool {
        self.method == method.as_str()
    }

    /// Whether it is the read of `uri`, of what that is a part of, or of a part of it.
    fn reads(&self, uri: &str) -> bool {
        let params: Result<<request::ReadResource as Request>::Params, _> =
            serde_json::from_str(&self.params);
        params.is_ok_and(|params| params.uri.starts_with(uri) || uri.starts_with(&params.uri))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheKey")
            .field("method", &self.method)
            .field("params", &self.params)
            .field("is_public", &self.context.is_none())
            .finish_non_exhaustive()
    }
}

/// A result and how long it is fresh.
#[derive(Clone)]
pub struct CachedAnswer {
    /// The result as the server wrote it, in JSON.
    pub result: Bytes,
    /// When it arrived, by the clock of this process.
    pub received_at: Instant,
    /// How long it is fresh from then on.
    pub ttl: Duration,
}

impl CachedAnswer {
    /// Whether it may be served. Specification: Caching, Freshness Calculation.
    pub fn is_fresh(&self) -> bool {
        self.received_at.elapsed() < self.ttl
    }
}

impl fmt::Debug for CachedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedAnswer")
            .field("bytes", &self.result.len())
            .field("received_at", &self.received_at)
            .field("ttl", &self.ttl)
            .finish()
    }
}
