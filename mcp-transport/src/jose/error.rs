//! Why keys and tokens are refused.

use std::error::Error as StdError;

use super::Algorithm;
use crate::json::InvalidObject;
use crate::limits::{MAX_JOSE_HEADER, MAX_JWKS_KEYS, MAX_JWT};

/// Why a token cannot be read or does not verify. `Display` says it in one clause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidJwt {
    /// It is longer than [`MAX_JWT`].
    #[error("the token is longer than {MAX_JWT} bytes")]
    Long,
    /// Its header is longer than [`MAX_JOSE_HEADER`].
    #[error("the token's header is longer than {MAX_JOSE_HEADER} bytes")]
    LongHeader,
    /// It is not three parts of strict base64url with dots between them.
    #[error("the token is not three parts in base64url")]
    NotCompact,
    /// Its header is no JSON object, or has a member twice.
    #[error("the token's header is not right")]
    Header(#[source] InvalidObject),
    /// Its claims are no JSON object, or one is there twice.
    #[error("the token's claims are not right")]
    Claims(#[source] InvalidObject),
    /// A header or the claims are not UTF-8.
    #[error("the token is not UTF-8")]
    NotUtf8,
    /// This member of the header has another type than it must have, or is absent.
    #[error("the header's {0} is absent or of the wrong type")]
    Member(&'static str),
    /// The header has extensions that must be understood, and none is here.
    #[error("the header has critical extensions")]
    Critical,
    /// This algorithm, quoted, is not known, or none, or one with a shared secret.
    #[error("the algorithm {0} is not accepted")]
    Algorithm(Box<str>),
    /// The header's key cannot be used.
    #[error("the header's key cannot be used")]
    Jwk(#[source] InvalidJwk),
    /// It is signed by another algorithm than this, which was to be.
    #[error("the token is not signed by {0}")]
    OtherAlgorithm(Algorithm),
    /// The key is not for this algorithm, or not for verifying.
    #[error("the key is not for verifying {0}")]
    Unfit(Algorithm),
    /// The signature is not of this key over this token.
    #[error("the signature does not verify")]
    Signature,
}

/// Why a JSON Web Key, or a set of them, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidJwk {
    /// It is not JSON, or its members have other types than they must have.
    #[error("the key is not right")]
    Malformed(#[source] serde_json::Error),
    /// A kind of key or a curve that is not supported.
    #[error("the key is of a kind that is not supported")]
    Unsupported,
    /// A member of the public key is absent, no strict base64url, or of the wrong length.
    #[error("the key's {0} is absent or not right")]
    Member(&'static str),
    /// It holds what only its owner may know.
    #[error("the key is a private or secret one")]
    Private,
    /// A modulus of less than 2048 bits or more than 8192.
    #[error("the RSA key has not 2048 to 8192 bits")]
    Size,
    /// The set is no object with an array `keys`.
    #[error("the key set is not right")]
    Set(#[source] Box<dyn StdError + Send + Sync>),
    /// The set has more than [`MAX_JWKS_KEYS`].
    #[error("the key set has more than {MAX_JWKS_KEYS} keys")]
    Many,
}

/// Why a private key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// There is no private key in the text, or an encrypted one.
    #[error("there is no private key in PEM, or it is encrypted")]
    NoKey,
    /// The key is in a form of its own that the cryptography does not read.
    #[error(
        "a key in SEC1 form (EC PRIVATE KEY) is not read; \
         convert it: openssl pkcs8 -topk8 -nocrypt -in key.pem -out pkcs8.pem"
    )]
    Sec1,
    /// The key is none for this algorithm, too small, too large, or damaged.
    #[error("the key is none for {algorithm}")]
    Unfit {
        /// The algorithm that was asked for.
        algorithm: Algorithm,
        /// What the cryptography says of it.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Keys for this algorithm are not made here.
    #[error("keys for {0} are not generated here")]
    NotGenerated(Algorithm),
    /// The operating system has no randomness.
    #[error("there is no randomness")]
    NoRandomness,
}

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The claims are not JSON, or no object.
    #[error("the claims are no JSON object")]
    Claims(#[source] serde_json::Error),
    /// The operating system has no randomness, or the key failed.
    #[error("signing failed")]
    Failed,
}
