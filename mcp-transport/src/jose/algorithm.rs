//! The algorithms of signatures.

use std::fmt;

/// A signature algorithm (RFC 7518, section 3.1; RFC 8037, section 3.1).
///
/// There is neither `none` nor one with a shared secret, so that no token can talk a verifier into them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// Ed25519. Ed448 goes by the same name elsewhere and is not there.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::EdDsa,
    ];

    /// The algorithm of this name, which is compared as it is, case included. `Ed25519`, the newer name of
    /// [`EdDsa`](Self::EdDsa) (RFC 9864), is known too.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "Ed25519" => Some(Self::EdDsa),
            _ => Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name),
        }
    }

    /// The name in the member `alg`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_never_symmetric() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.as_str()), Some(algorithm));
        }
        assert_eq!(Algorithm::from_name("Ed25519"), Some(Algorithm::EdDsa));
        for name in
            ["none", "None", "nOnE", "NONE", "", "HS256", "HS384", "HS512", "es256", "RS256 "]
        {
            assert_eq!(Algorithm::from_name(name), None, "{name:?}");
        }
    }
}
