//! The client's side.

use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::{TYP, target, token_hash};
use crate::jose::{Header, NumericDate, SignError, SigningKey, encode};

/// A proof for one request (RFC 9449, section 4.2).
#[derive(Clone, Debug)]
pub struct Proof<'a> {
    key: &'a SigningKey,
    method: &'a str,
    url: &'a str,
    token_hash: Option<String>,
    nonce: Option<&'a str>,
}

impl<'a> Proof<'a> {
    /// A proof for a request of this method to this absolute URL, whose query and fragment are left out.
    #[must_use]
    pub fn new(key: &'a SigningKey, method: &'a str, url: &'a str) -> Self {
        Self { key, method, url, token_hash: None, nonce: None }
    }

    /// The access token that the request carries. One to a token endpoint carries none.
    #[must_use]
    pub fn access_token(mut self, token: &str) -> Self {
        self.token_hash = Some(token_hash(token));
        self
    }

    /// The last `DPoP-Nonce` of the server, if it has sent one.
    #[must_use]
    pub fn nonce(mut self, nonce: &'a str) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// Signs the proof: the value of the header `DPoP`. Each is good for one request, and so each has an id of its own.
    /// `now` is in seconds since 1970.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn sign(&self, now: u64) -> Result<String, SignError> {
        let mut id = [0; ID];
        SystemRandom::new().fill(&mut id).or(Err(SignError::Failed))?;
        let jwk = serde_json::to_value(self.key.public_jwk()).map_err(SignError::Claims)?;
        let claims = Claims {
            jti: encode(id),
            htm: self.method.into(),
            htu: target::without_query(self.url).into(),
            iat: NumericDate(now),
            ath: self.token_hash.clone(),
            nonce: self.nonce.map(Into::into),
        };
        self.key.sign_jwt(&Header::new(TYP).member("jwk", jwk), &claims)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) jti: String,
    pub(super) htm: String,
    pub(super) htu: String,
    pub(super) iat: NumericDate,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nonce: Option<String>,
}

/// Bytes of randomness in an id: no two proofs of the world have the same.
const ID: usize = 16;
