//! Nonces that nobody has to keep.

use std::fmt;
use std::io;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// The secret key of a server's nonces, or of all its instances. Never shown.
#[derive(Clone)]
pub struct NonceKey(hmac::Key);

impl NonceKey {
    /// A key of 32 random bytes, the same for all instances. The caller's bytes stay the caller's to erase.
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// A new random key, known to this process alone: after a restart, or at another instance, clients are asked for
    /// a new nonce, and come again by themselves.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self::new(&bytes))
    }
}

impl fmt::Debug for NonceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NonceKey(..)")
    }
}

/// A nonce is a code over the number of the period in which it is handed out.
pub(super) struct Nonces {
    key: NonceKey,
    period: u64,
}

impl Nonces {
    pub(super) fn new(key: &NonceKey, period: Duration) -> Self {
        Self { key: key.clone(), period: period.as_secs().max(1) }
    }

    /// Those that are good now: the one of this period, which is handed out, and the one before.
    pub(super) fn good_at(&self, now: u64) -> [String; 2] {
        let period = now / self.period;
        [period, period.wrapping_sub(1)].map(|period| {
            let code = hmac::sign(&self.key.0, &[DOMAIN, &period.to_be_bytes()[..]].concat());
            URL_SAFE_NO_PAD.encode(code.as_ref().get(..LENGTH).unwrap_or_default())
        })
    }
}

/// So that no code over anything else is a nonce.
const DOMAIN: &[u8] = b"mcp-server dpop nonce ";

/// Bytes of a nonce: more than can be guessed.
const LENGTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_are_good_for_two_periods() {
        let of = |key: u8| Nonces::new(&NonceKey::new(&[key; 32]), Duration::from_secs(100));
        let [nonce, before] = of(1).good_at(1000);
        assert_ne!(nonce, before);
        assert_eq!(of(1).good_at(1099)[0], nonce);
        assert_eq!(of(1).good_at(1100)[1], nonce);
        assert!(!of(1).good_at(1200).contains(&nonce));
        assert!(!of(2).good_at(1000).contains(&nonce));
        assert!(!of(1).good_at(900).contains(&nonce));
        let random = || Nonces::new(&NonceKey::random().unwrap(), Duration::ZERO).good_at(0);
        assert_ne!(random(), random());
    }
}
