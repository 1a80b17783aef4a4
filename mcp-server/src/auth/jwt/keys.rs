//! The keys of an issuer, fetched and kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Response;
use http::header::CACHE_CONTROL;
use mcp_transport::jose::JwkSet;
use tokio::sync::watch;

use super::{Issuer, discovery};
use crate::auth::TokenError;
use crate::auth::fetch::{Fetch, FetchError, document, text};

/// Keys that somebody else publishes.
pub(super) struct Remote(Arc<Shared>);

pub(super) enum Location {
    Keys(String),
    /// To be found out from its metadata.
    Issuer(String),
}

struct Shared {
    location: Location,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loaded: Option<Loaded>,
    /// Ends with the fetch that is under way.
    under_way: Option<watch::Receiver<()>>,
    /// When the last fetch began.
    attempted: Option<SystemTime>,
    /// Where the metadata says that the keys are.
    found: Option<String>,
}

struct Loaded {
    keys: Arc<JwkSet>,
    at: SystemTime,
    good_for: Duration,
}

impl Remote {
    pub(super) fn new(location: Location) -> Self {
        Self(Arc::new(Shared { location, state: Mutex::default() }))
    }

    /// The keys, fetched if need be. The future may be dropped, and others get what it waited for.
    ///
    /// # Errors
    /// When there are none that are good, nor old ones to make do with.
    pub(super) async fn current(
        &self,
        fetch: &Arc<dyn Fetch>,
        now: SystemTime,
    ) -> Result<Arc<JwkSet>, TokenError> {
        let (old, under_way) = {
            let mut state = self.0.state();
            let good_for = state.loaded.as_ref().map_or(Duration::ZERO, |loaded| loaded.good_for);
            if let Some(keys) = state.younger(good_for / 4 * 3, now) {
                return Ok(keys);
            }
            let under_way = self.start(&mut state, Issuer::RETRY, fetch, now);
            if let Some(keys) = state.younger(good_for, now) {
                // Nobody waits for a fetch that comes a little early.
                return Ok(keys);
            }
            (state.younger(Issuer::STALE_AGE, now), under_way)
        };
        match old {
            None => ended(under_way).await,
            // In time or not: then the old ones have to do.
            Some(_) => drop(tokio::time::timeout(Issuer::PATIENCE, ended(under_way)).await),
        }
        // The fetch itself has logged why there are none.
        let keys = self.0.state().younger(Issuer::STALE_AGE, now);
        keys.ok_or_else(|| TokenError::unavailable(Issuer::RETRY))
    }

    /// Keys that were fetched later than `known`, if there are or a fetch is due that gets them.
    pub(super) async fn newer(
        &self,
        known: &Arc<JwkSet>,
        fetch: &Arc<dyn Fetch>,
        now: SystemTime,
    ) -> Option<Arc<JwkSet>> {
        let newer = |state: &State| {
            let keys = state.loaded.as_ref().map(|loaded| Arc::clone(&loaded.keys));
            keys.filter(|keys| !Arc::ptr_eq(keys, known))
        };
        let under_way = {
            let mut state = self.0.state();
            if let Some(keys) = newer(&state) {
                return Some(keys);
            }
            self.start(&mut state, Issuer::UNKNOWN_KEY, fetch, now)
        };
        ended(under_way).await;
        newer(&self.0.state())
    }

    /// Joins the fetch that is under way, or starts one unless the last was less than `interval` ago. It has a task of its
    /// own, which goes on when all that wait for it have left.
    fn start(
        &self,
        state: &mut State,
        interval: Duration,
        fetch: &Arc<dyn Fetch>,
        now: SystemTime,
    ) -> Option<watch::Receiver<()>> {
        let still = state.under_way.take_if(|under_way| under_way.has_changed().is_err());
        drop(still);
        if state.under_way.is_some() {
            return state.under_way.clone();
        }
        let since = |at: SystemTime| now.duration_since(at).unwrap_or(interval);
        if state.attempted.is_some_and(|at| since(at) < interval) {
            return None;
        }
        state.attempted = Some(now);
        let (ends, under_way) = watch::channel(());
        let (shared, fetch) = (Arc::clone(&self.0), Arc::clone(fetch));
        tokio::spawn(async move {
            shared.load(&*fetch, now).await;
            // Behind the change of the state, or else those who wait would not see it.
            drop(ends);
        });
        state.under_way = Some(under_way.clone());
        Some(under_way)
    }
}

impl Shared {
    async fn load(&self, fetch: &dyn Fetch, now: SystemTime) {
        let loaded = self.fetch(fetch).await;
        let (Location::Keys(of) | Location::Issuer(of)) = &self.location;
        let mut state = self.state();
        match loaded {
            Ok((keys, good_for)) => {
                let (usable, skipped) = (keys.iter().count(), keys.skipped());
                if usable == 0 {
                    tracing::warn!(of, skipped, "an issuer has no key that can be used");
                }
                tracing::debug!(of, usable, skipped, "the keys of an issuer have been fetched");
                state.loaded = Some(Loaded { keys: Arc::new(keys), at: now, good_for });
            }
            Err(error) => {
                state.found = None;
                let error: &dyn std::error::Error = &error;
                tracing::warn!(of, error, "the keys of an issuer cannot be fetched");
            }
        }
    }

    async fn fetch(&self, fetch: &dyn Fetch) -> Result<(JwkSet, Duration), FetchError> {
        let url = match &self.location {
            Location::Keys(url) => url.clone(),
            Location::Issuer(issuer) => {
                let found = self.state().found.clone();
                match found {
                    Some(url) => url,
                    None => discovery::jwks_uri(fetch, issuer).await?,
                }
            }
        };
        let response = document(fetch, &url).await?;
        let none = || FetchError::new(format!("there are no keys at {url}"));
        let response = response.ok_or_else(none)?;
        let keys = JwkSet::parse(text(&response)?);
        let keys = keys.map_err(|error| FetchError::caused("the key set is not right", error))?;
        self.state().found = Some(url);
        Ok((keys, good_for(&response)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of it is a single assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The keys, if they are younger than `limit`. A clock that was set back makes them old rather than young for ever.
    fn younger(&self, limit: Duration, now: SystemTime) -> Option<Arc<JwkSet>> {
        let loaded = self.loaded.as_ref()?;
        let age = now.duration_since(loaded.at).unwrap_or(loaded.good_for);
        (age < limit).then(|| Arc::clone(&loaded.keys))
    }
}

async fn ended(under_way: Option<watch::Receiver<()>>) {
    if let Some(mut under_way) = under_way {
        // Nothing is ever sent: it changes by its end.
        while under_way.changed().await.is_ok() {}
    }
}

/// How long the issuer says that its keys are good. RFC 9111, section 5.2.2.
fn good_for(response: &Response<Bytes>) -> Duration {
    let lines = response.headers().get_all(CACHE_CONTROL).iter();
    let directives = lines.flat_map(|line| line.to_str().unwrap_or_default().split(','));
    let mut good_for = Issuer::AGE;
    for directive in directives {
        let directive = directive.trim();
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        if name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache") {
            return Issuer::MIN_AGE;
        }
        if name.eq_ignore_ascii_case("max-age")
            && let Ok(seconds) = value.trim_matches('"').parse()
        {
            good_for = Duration::from_secs(seconds);
        }
    }
    good_for.clamp(Issuer::MIN_AGE, Issuer::MAX_AGE)
}
