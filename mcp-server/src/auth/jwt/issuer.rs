//! `Issuer`: who signs, and with which keys.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_transport::jose::{JwkSet, Unverified, Verified};

use super::JwtVerifier;
use super::keys::{Location, Remote};
use crate::auth::TokenError;
use crate::auth::fetch::Fetch;

/// An issuer of tokens: its identifier, and where its keys are.
///
/// Keys are fetched by one request at a time, however many callers wait for it, and kept as long as the issuer says
/// (`Cache-Control: max-age`), within the bounds below. When none of them verifies a token they are fetched anew, though
/// not too often, so that nobody makes this server flood the issuer. While it cannot be reached, old keys do.
pub struct Issuer {
    name: String,
    keys: Keys,
}

enum Keys {
    Fixed(Arc<JwkSet>),
    Remote(Remote),
}

impl Issuer {
    /// 10 min: how long keys are good of which the issuer does not say it.
    pub const AGE: Duration = Duration::from_secs(600);
    /// 60 s: how long keys are good at least; an issuer that forbids caching is asked every minute.
    pub const MIN_AGE: Duration = Duration::from_secs(60);
    /// 1 h: how long keys are good at most; one that was withdrawn is trusted no longer.
    pub const MAX_AGE: Duration = Duration::from_secs(3600);
    /// 24 h: how old keys may get while no newer ones can be had.
    pub const STALE_AGE: Duration = Duration::from_secs(24 * 3600);
    /// 30 s: the shortest time from any fetch to one because of a token that no key verifies. Anybody can make such
    /// tokens; a new key of the issuer is known that much later at worst.
    pub const UNKNOWN_KEY: Duration = Duration::from_secs(30);
    /// 1 s: how long a token waits for newer keys while old ones would do.
    pub const PATIENCE: Duration = Duration::from_secs(1);
    /// 5 s: the shortest time from a fetch to the next because keys are too old or absent.
    pub const RETRY: Duration = Duration::from_secs(5);

    /// The issuer of this identifier, whose metadata says where its keys are: that of RFC 8414 or of OpenID Connect,
    /// whichever it has. The metadata must name the issuer as it is given here, to the letter, a final slash included.
    /// Specification: Authorization Server Discovery, Authorization Server Metadata Discovery.
    pub fn discover(issuer: impl Into<String>) -> Self {
        let name = issuer.into();
        let keys = Keys::Remote(Remote::new(Location::Issuer(name.clone())));
        Self { name, keys }
    }

    /// The issuer of this identifier, whose keys are at `jwks_uri`.
    pub fn jwks_uri(issuer: impl Into<String>, jwks_uri: impl Into<String>) -> Self {
        let keys = Keys::Remote(Remote::new(Location::Keys(jwks_uri.into())));
        Self { name: issuer.into(), keys }
    }

    /// The issuer of this identifier, with these keys and no others: nothing is fetched.
    pub fn keys(issuer: impl Into<String>, keys: JwkSet) -> Self {
        Self { name: issuer.into(), keys: Keys::Fixed(Arc::new(keys)) }
    }

    /// Its identifier, the claim `iss`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Verifies with each key that may be meant; `None` if none is the right one.
    pub(super) async fn verify<'t>(
        &self,
        token: &'t Unverified<'_>,
        fetch: &Arc<dyn Fetch>,
        now: SystemTime,
    ) -> Result<Option<Verified<'t>>, TokenError> {
        let remote = match &self.keys {
            Keys::Fixed(keys) => return Ok(by_any(keys, token)),
            Keys::Remote(remote) => remote,
        };
        let keys = remote.current(fetch, now).await?;
        if let Some(verified) = by_any(&keys, token) {
            return Ok(Some(verified));
        }
        // Perhaps they have been changed since, with or without a new name.
        let newer = remote.newer(&keys, fetch, now).await;
        Ok(newer.and_then(|keys| by_any(&keys, token)))
    }
}

fn by_any<'t>(keys: &JwkSet, token: &'t Unverified<'_>) -> Option<Verified<'t>> {
    let algorithm = token.algorithm();
    let mut candidates = keys.candidates(token.key_id(), algorithm).take(JwtVerifier::MAX_TRIES);
    candidates.find_map(|key| token.verify(key, algorithm).ok())
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("name", &self.name).finish_non_exhaustive()
    }
}
