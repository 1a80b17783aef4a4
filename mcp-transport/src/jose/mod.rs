//! Signed tokens: JSON Web Signatures in compact form (RFC 7515), the keys for them (RFC 7517, 7518, 8037) and the
//! JSON Web Tokens they carry (RFC 7519).
//!
//! A token from elsewhere is [`Unverified`] and says nothing that can be relied on. [`Unverified::verify`] with a key and
//! an algorithm that were chosen beforehand makes it [`Verified`], and only that has claims. When it expires, for
//! whom it is and who issued it are then for the caller to check.
//!
//! ```
//! use mcp_transport::jose::{Algorithm, Header, SigningKey, Unverified};
//! use serde_json::{Value, json};
//!
//! let key = SigningKey::generate(Algorithm::Es256)?;
//! let token = key.sign_jwt(&Header::new("JWT"), &json!({"sub": "alice"}))?;
//!
//! let token = Unverified::parse(&token)?;
//! let claims: Value = token.verify(key.public_jwk(), Algorithm::Es256)?.decode()?;
//! assert_eq!(claims["sub"], "alice");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All algorithms are asymmetric: a verifier never holds what could sign, and a public key cannot be taken for a secret
//! one. Keys are never fetched from where a token's header points to (`jku`, `x5u`), and certificates in it (`x5c`) are
//! not read.

// Why this stands on ring and not on the crate `jsonwebtoken`: that takes its cryptography from features of the
// whole process and panics once an application enables another than a library did, and it brings 35 crates, while
// ring is there already for TLS.

mod algorithm;
mod date;
mod error;
mod jwk;
mod jwk_set;
mod jwt;
mod signing;
mod thumbprint;

pub use algorithm::Algorithm;
pub use date::NumericDate;
pub use error::{InvalidJwk, InvalidJwt, InvalidKey, SignError};
pub use jwk::Jwk;
pub use jwk_set::JwkSet;
pub use jwt::{Unverified, Verified};
pub use signing::{Header, SigningKey};
pub use thumbprint::{InvalidThumbprint, Thumbprint};

#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use jwt::fuzz_jwt;

/// Base64url without padding, as everything in a token is written.
pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The strict reverse: no padding, no white space, no bits left over. So one value has one text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
