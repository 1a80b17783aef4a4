//! Texts that nobody can guess, and PKCE. RFC 7636.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::error::{Kind, OAuthError};

/// 256 bits by chance, as 43 characters that need no escape.
///
/// # Errors
/// When the system has no randomness.
pub(crate) fn random() -> Result<String, OAuthError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|error| {
        OAuthError::new(Kind::Usage, "the system has no randomness").caused_by(error.to_string())
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier, by S256.
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn chance() {
        let (one, two) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, two);
    }
}
