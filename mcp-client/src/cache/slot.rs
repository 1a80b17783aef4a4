//! `Slot`: the place in the cache of one request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use mcp_types::{CacheHint, CacheScope};
use tokio::time::Instant;

use super::{Cache, CacheKey, CachedAnswer};
use crate::client::Shared;
use crate::headers::ExtraHeaders;
use crate::link::Link;
use crate::outgoing::Outgoing;
use crate::receive::{Answer, Found};

/// How a call uses the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Takes what is fresh, else stores what it gets.
    Use,
    /// Stores what it gets.
    Refresh,
    /// Does neither.
    Bypass,
}

/// Where the answer to a request is, or will be.
pub(crate) struct Slot<'a> {
    cache: &'a Cache,
    private: CacheKey,
    public: CacheKey,
    /// What had been dropped when the request was made.
    drops: u64,
    /// On whose behalf it was made.
    signed_in: Option<Arc<str>>,
    link: &'a Link,
}

impl<'a> Slot<'a> {
    /// The slot of a request that says nothing of itself yet; `None` when its answer must not be cached.
    pub(crate) fn of(
        shared: &'a Shared,
        extra: &ExtraHeaders,
        request: &dyn Outgoing,
    ) -> Option<Self> {
        let cache = shared.cache.as_ref()?;
        // What the caller wrote into `_meta` may change the answer.
        if !request.is_cacheable() || !request.meta().is_empty() || request.has_input() {
            return None;
        }
        let params = request.params().ok()?;
        let signed_in = shared.link.signed_in();
        let context = match (&shared.cache_context, &signed_in) {
            (Some(context), None) => Arc::clone(context),
            // Whoever signs in is somebody else, whatever the application says of itself.
            (Some(context), Some(name)) => [name.as_bytes(), b"\n", context].concat().into(),
            (None, _) => {
                let lines = [
                    ("below", &*shared.below),
                    ("signed in", signed_in.as_deref().unwrap_or_default()),
                ];
                context(lines, &shared.link.headers(), extra)
            }
        };
        let public = CacheKey {
            server: Arc::clone(&shared.server),
            context: None,
            method: request.method(),
            params: params.into(),
        };
        let private = CacheKey { context: Some(context), ..public.clone() };
        let drops = *cache.drops();
        Some(Self { cache, private, public, drops, signed_in, link: &shared.link })
    }

    /// The answer, if there is one and it is fresh.
    pub(crate) fn fresh(&self) -> Option<Answer> {
        self.within(Duration::ZERO)
    }

    /// The answer, if there is one that is fresh or has ceased to be less than so long ago.
    pub(crate) fn within(&self, stale: Duration) -> Option<Answer> {
        let serves =
            |answer: &CachedAnswer| answer.received_at.elapsed() < answer.ttl.saturating_add(stale);
        let get = |key| self.cache.shared.store.get(key).filter(serves);
        let answer = get(&self.public).or_else(|| get(&self.private))?;
        let found = Found { result: answer.result, tag: None, is_tool_error: false, promise: None };
        Some(Answer { head: None, found, is_cached: true })
    }

    /// Stores an answer that has just arrived, if it may be. One that may not takes the place of one that is fresh all
    /// the same, where that was not asked for.
    pub(crate) fn store(self, mode: Mode, request: &dyn Outgoing, found: &Found) {
        let hint = serde_json::from_slice::<CacheHint>(&found.result).unwrap_or_default();
        if hint.ttl_ms == 0 {
            if mode == Mode::Refresh {
                let _drops = self.cache.drops();
                let store = &self.cache.shared.store;
                store.remove(&|key| *key == self.public || *key == self.private);
            }
            return;
        }
        // What cannot be decoded now could not be later.
        if !request.is_complete(found) {
            return;
        }
        // It may be that of a user who signed in while it was made.
        let is_own = self.link.signed_in() == self.signed_in;
        if hint.cache_scope == CacheScope::Private && !is_own {
            return;
        }
        let drops = self.cache.drops();
        if *drops != self.drops {
            return;
        }
        let (key, other) = match hint.cache_scope {
            CacheScope::Public => (self.public, self.private),
            CacheScope::Private => (self.private, self.public),
        };
        let store = &self.cache.shared.store;
        // The server may have changed its mind.
        store.remove(&|key| *key == other);
        let answer = CachedAnswer {
            // A copy, since it may be a small part of a large buffer.
            result: Bytes::copy_from_slice(&found.result),
            received_at: Instant::now(),
            ttl: Duration::from_millis(hint.ttl_ms),
        };
        store.put(key, answer);
    }
}

/// The authorization context: all headers that the caller set, since any of them may be a credential, and what
/// may add more of them.
fn context(own: [(&str, &str); 2], client: &HeaderMap, extra: &ExtraHeaders) -> Arc<[u8]> {
    let mut headers = client.clone();
    extra.apply(&mut headers);
    let mut lines: Vec<Vec<u8>> = headers
        .iter()
        .map(|(name, value)| [name.as_str().as_bytes(), b":", value.as_bytes(), b"\n"].concat())
        .collect();
    lines.sort_unstable();
    // No header has a name with a space.
    let own = own.map(|(name, value)| format!("{name} {value}\n").into_bytes());
    lines.splice(0..0, own);
    lines.concat().into()
}
