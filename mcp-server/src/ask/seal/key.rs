//! The keys of states, and which of them seals.

use std::{fmt, io};

use aes_gcm_siv::aead::AeadInOut;
use aes_gcm_siv::{Aes256GcmSiv, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

/// The keys of a server, or of all its instances. One seals, all open.
///
/// To change the key of running instances without losing a state, roll out three times, each time to all of
/// them:
///
/// 1. `KeyRing::new(old).also_opens(new)`, so that every instance knows the new key before one seals with it;
/// 2. `KeyRing::new(new).also_opens(old)`;
/// 3. `KeyRing::new(new)`, once what was sealed with the old key has expired.
pub struct KeyRing {
    sealing: Key,
    others: Vec<Key>,
}

impl KeyRing {
    /// A ring whose key seals and opens.
    pub fn new(key: Key) -> Self {
        Self { sealing: key, others: Vec::new() }
    }

    /// A ring with a new random key, known to this process alone: a restart makes every state useless that
    /// is on its way, and so does a second instance. A warning says so.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn random() -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; KEY]);
        getrandom::fill(&mut *bytes)?;
        tracing::warn!(
            "request states are sealed with a random key: a restart or another instance cannot open them"
        );
        Ok(Self::new(Key::new(&bytes)))
    }

    /// Adds a key that opens but does not seal: the next one, or the last one.
    #[must_use]
    pub fn also_opens(mut self, key: Key) -> Self {
        self.others.push(key);
        self
    }

    pub(super) fn sealing(&self) -> &Key {
        &self.sealing
    }

    pub(super) fn opening(&self, id: &[u8; KEY_ID]) -> Option<&Key> {
        std::iter::once(&self.sealing).chain(&self.others).find(|key| key.id == *id)
    }
}

/// A secret key of 32 bytes. It is erased from memory when dropped, and never shown.
pub struct Key {
    id: [u8; KEY_ID],
    cipher: Aes256GcmSiv,
}

impl Key {
    /// A key of 32 random bytes: not a password, nor made from one without a key derivation function.
    ///
    /// The caller's bytes stay the caller's to erase.
    pub fn new(bytes: &[u8; KEY]) -> Self {
        let mut key = Self { id: [0; KEY_ID], cipher: Aes256GcmSiv::new(bytes.into()) };
        // A tag over nothing but a name of this purpose: it tells the key apart and tells nothing about it.
        let [id @ .., _, _, _, _, _, _, _, _] = key.encrypt(&[0; NONCE], ID_DOMAIN, &mut []);
        key.id = id;
        key
    }

    /// The same from base64 with padding, as `openssl rand -base64 32` prints it; white space around it is
    /// ignored.
    ///
    /// # Errors
    /// When the text is not base64 of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, InvalidKey> {
        let bytes = STANDARD.decode(text.trim()).map(Zeroizing::new).or(Err(InvalidKey))?;
        <&[u8; KEY]>::try_from(bytes.as_slice()).map(Self::new).or(Err(InvalidKey))
    }

    pub(super) fn id(&self) -> &[u8; KEY_ID] {
        &self.id
    }

    /// Encrypts in place; the tag.
    pub(super) fn encrypt(
        &self,
        nonce: &[u8; NONCE],
        associated: &[u8],
        text: &mut [u8],
    ) -> [u8; TAG] {
        let tag = self.cipher.encrypt_inout_detached(nonce.into(), associated, text.into());
        tag.expect("fails above 64 GiB only").into()
    }

    /// Decrypts in place; whether all is authentic. If not, what is in `text` must not be used.
    pub(super) fn decrypt(
        &self,
        nonce: &[u8; NONCE],
        associated: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG],
    ) -> bool {
        self.cipher
            .decrypt_inout_detached(nonce.into(), associated, text.into(), tag.into())
            .is_ok()
    }
}

/// Why a text is no [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is 32 bytes in base64")]
pub struct InvalidKey;

/// Bytes of a key.
const KEY: usize = 32;

/// Bytes that name a key in a state; enough that two keys of a ring never have the same.
pub(super) const KEY_ID: usize = 8;

/// Bytes of a nonce of AES-GCM-SIV.
pub(super) const NONCE: usize = 12;

/// Bytes of a tag of AES-GCM-SIV.
pub(super) const TAG: usize = 16;

/// Does not begin like the associated data of a state, so that no state has a key's name as its tag.
const ID_DOMAIN: &[u8] = b"mcp-server key id";

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("keys", &(1 + self.others.len())).finish_non_exhaustive()
    }
}
