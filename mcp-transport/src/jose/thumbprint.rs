//! What a key is recognised by.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};

/// The SHA-256 thumbprint of a public key (RFC 7638), as it stands in the claim `cnf.jkt`. Displayed and read in
/// base64url.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Thumbprint([u8; 32]);

impl Thumbprint {
    /// The 32 bytes of it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The thumbprint of the key whose required members, in order and without white space, are `canonical`.
    pub(super) fn of(canonical: &str) -> Self {
        let hash = digest(&SHA256, canonical.as_bytes());
        Self(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::encode(self.0))
    }
}

impl fmt::Debug for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Thumbprint({self})")
    }
}

impl FromStr for Thumbprint {
    type Err = InvalidThumbprint;

    fn from_str(text: &str) -> Result<Self, InvalidThumbprint> {
        let bytes = super::decode(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(InvalidThumbprint)
    }
}

/// A text that is no [`Thumbprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thumbprint is 32 bytes in base64url")]
pub struct InvalidThumbprint;
