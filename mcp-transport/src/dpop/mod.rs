//! Proofs of possession (RFC 9449, DPoP): with every request a client proves that it holds the key which its token is
//! bound to, so that a stolen token alone is worth nothing.
//!
//! ```
//! use std::time::Duration;
//!
//! use mcp_transport::dpop::{Expected, Proof, check};
//! use mcp_transport::jose::{Algorithm, SigningKey};
//!
//! let (now, url) = (1_785_000_000, "https://mcp.example.com/mcp");
//! let key = SigningKey::generate(Algorithm::Es256)?;
//! let proof = Proof::new(&key, "POST", url).access_token("token").sign(now)?;
//!
//! let expected = Expected {
//!     method: "POST",
//!     url,
//!     access_token: Some("token"),
//!     nonces: &[],
//!     algorithms: &Algorithm::ALL,
//!     now,
//!     window: Duration::from_secs(300),
//! };
//! let checked = check(&proof, &expected)?;
//! assert_eq!(checked.thumbprint, key.public_jwk().thumbprint());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod proof;
mod target;

pub use check::{Checked, DpopFault, Expected, check};
pub use proof::Proof;

#[cfg(test)]
mod tests;

use ring::digest::{SHA256, digest};

use crate::jose::encode;

/// The `typ` of a proof.
const TYP: &str = "dpop+jwt";

/// What a proof holds of the access token it goes with (RFC 9449, section 4.2, `ath`).
fn token_hash(token: &str) -> String {
    encode(digest(&SHA256, token.as_bytes()))
}
