//! Sets of public keys.

use serde_json::value::RawValue;

use super::{Algorithm, InvalidJwk, Jwk};
use crate::json::Object;
use crate::limits::MAX_JWKS_KEYS;

/// The keys of an issuer (RFC 7517, section 5), those of them that can be used.
///
/// Issuers publish keys for other purposes and other algorithms beside those that matter here; such a key is
/// skipped and costs nobody a login.
#[derive(Clone, Debug, Default)]
pub struct JwkSet {
    keys: Vec<Jwk>,
    skipped: usize,
}

impl JwkSet {
    /// Reads an object with an array `keys`. What is no usable [`Jwk`] is skipped.
    ///
    /// # Errors
    /// When it is no such object, or has more than [`MAX_JWKS_KEYS`] keys.
    pub fn parse(text: &str) -> Result<Self, InvalidJwk> {
        let object = Object::parse(text).map_err(|error| InvalidJwk::Set(error.into()))?;
        let keys = object.get("keys").unwrap_or("null");
        let keys: Vec<&RawValue> =
            serde_json::from_str(keys).map_err(|error| InvalidJwk::Set(error.into()))?;
        if keys.len() > MAX_JWKS_KEYS {
            return Err(InvalidJwk::Many);
        }
        let total = keys.len();
        let keys: Vec<_> = keys.into_iter().flat_map(|key| Jwk::parse(key.get())).collect();
        Ok(Self { skipped: total - keys.len(), keys })
    }

    /// The keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &Jwk> {
        self.keys.iter()
    }

    /// The keys that a token could be signed by: with its key id those of that id, or else those that have none, and
    /// without one all; in any case those that [fit](Jwk::fits) the algorithm.
    pub fn candidates(
        &self,
        key_id: Option<&str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &Jwk> {
        let named = key_id.filter(|_| self.knows(key_id));
        let is_candidate = move |key: &&Jwk| match key_id {
            Some(_) => key.key_id() == named,
            None => true,
        };
        self.iter().filter(is_candidate).filter(move |key| key.fits(algorithm))
    }

    /// Whether a key has this id.
    #[must_use]
    pub fn knows(&self, key_id: Option<&str>) -> bool {
        key_id.is_some() && self.iter().any(|key| key.key_id() == key_id)
    }

    /// How many keys were passed over because they cannot be used.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

impl FromIterator<Jwk> for JwkSet {
    fn from_iter<I: IntoIterator<Item = Jwk>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect(), skipped: 0 }
    }
}
