//! The server's side.

use std::fmt;
use std::time::Duration;

use super::proof::Claims;
use super::{TYP, target, token_hash};
use crate::jose::{Algorithm, InvalidJwt, Thumbprint, Unverified};

/// What a proof has to prove. Its `Debug` form does not show the access token.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "whoever checks has to decide about each of these")]
pub struct Expected<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// The absolute URL of the request as clients know it; query and fragment are left aside.
    pub url: &'a str,
    /// The access token that came with the request. `None` only where there is none, at a token endpoint.
    pub access_token: Option<&'a str>,
    /// The nonces that are good now; the proof must have one of them. Empty where nonces are not used, and then a
    /// proof may have any.
    pub nonces: &'a [&'a str],
    /// The algorithms that are accepted.
    pub algorithms: &'a [Algorithm],
    /// The time, in seconds since 1970.
    pub now: u64,
    /// How far the proof's time may lie from `now`, before or behind it.
    pub window: Duration,
}

impl fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("now", &self.now)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

/// What a good proof has told. Whether it is the first with its id is not known yet, nor whether the token is bound
/// to the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The key that the sender holds.
    pub thumbprint: Thumbprint,
    /// The id of the proof, not empty, chosen by the sender. It is unique to the key at best.
    pub jti: String,
    /// When the proof was made, in seconds since 1970.
    pub issued_at: u64,
    /// The nonce that it has.
    pub nonce: Option<String>,
}

/// Checks the value of a `DPoP` header (RFC 9449, section 4.3, all but that there is one such header, and what
/// [`Checked`] names).
///
/// The methods are compared as they are. Of the URLs, schemes and hosts are compared without case, a default port is as
/// good as none, an empty path is `/`, and anything else in a path must be the same byte by byte.
///
/// # Errors
/// The first fault that is found. A missing or old nonce comes last, so that whoever gets a new one for it has
/// sent an otherwise good proof.
pub fn check(proof: &str, expected: &Expected<'_>) -> Result<Checked, DpopFault> {
    let token = Unverified::parse(proof)?;
    if !token.is_typ(TYP) {
        return Err(DpopFault::Type);
    }
    let key = token.jwk().ok_or(DpopFault::NoKey)?;
    if !expected.algorithms.contains(&token.algorithm()) {
        return Err(DpopFault::Algorithm(token.algorithm()));
    }
    let verified = token.verify(key, token.algorithm())?;
    let claims: Claims = verified.decode().map_err(DpopFault::Claims)?;
    if claims.jti.is_empty() {
        return Err(DpopFault::NoId);
    }
    if claims.htm != expected.method {
        return Err(DpopFault::Method);
    }
    if !target::same(&claims.htu, expected.url) {
        return Err(DpopFault::Url);
    }
    if claims.iat.0.abs_diff(expected.now) > expected.window.as_secs() {
        return Err(DpopFault::Time);
    }
    if claims.ath != expected.access_token.map(token_hash) {
        return Err(DpopFault::AccessToken);
    }
    let is_good = |nonce: &String| expected.nonces.contains(&nonce.as_str());
    if !expected.nonces.is_empty() && !claims.nonce.as_ref().is_some_and(is_good) {
        return Err(DpopFault::Nonce);
    }
    let (thumbprint, issued_at) = (key.thumbprint(), claims.iat.0);
    Ok(Checked { thumbprint, jti: claims.jti, issued_at, nonce: claims.nonce })
}

/// Why a proof is not accepted. All are `invalid_dpop_proof`, except for [`Nonce`](Self::Nonce), which is
/// `use_dpop_nonce`. `Display` says it in one clause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DpopFault {
    /// It is no token, or its signature is wrong.
    #[error(transparent)]
    Token(#[from] InvalidJwt),
    /// Its `typ` is not `dpop+jwt`.
    #[error("the proof's typ is not {TYP}")]
    Type,
    /// It brings no key.
    #[error("the proof's header has no jwk")]
    NoKey,
    /// It is signed by an algorithm that is not accepted.
    #[error("the algorithm {0} is not accepted for proofs")]
    Algorithm(Algorithm),
    /// One of `jti`, `htm`, `htu` and `iat` is absent, or a claim is of another type than it must have.
    #[error("the proof's claims are not right")]
    Claims(#[source] serde_json::Error),
    /// Its `jti` is empty.
    #[error("the proof's jti is empty")]
    NoId,
    /// It is for another method.
    #[error("the proof's htm is not the method of the request")]
    Method,
    /// It is for another URL.
    #[error("the proof's htu is not the URL of the request")]
    Url,
    /// It was made too long ago, or lies in the future.
    #[error("the proof's iat is too far from now")]
    Time,
    /// It is for another access token, or lacks one, or has one where there is none.
    #[error("the proof's ath is not the hash of the access token")]
    AccessToken,
    /// It has no nonce, or none that is good now.
    #[error("the proof needs a nonce of this server")]
    Nonce,
}
