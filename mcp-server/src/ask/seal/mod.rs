//! Sealing of `requestState`: what a server hands to a client between two rounds and has to trust when it
//! comes back (Multi Round-Trip Requests, Server Requirements).
//!
//! A sealed state is encrypted and authenticated with AES-256-GCM-SIV (RFC 8452), which stays safe should a
//! nonce ever repeat. It opens only for the caller, method, target and arguments it was made for, until it
//! expires, and under a key of the [`KeyRing`]. It can be used more than once within that time: a server
//! that must not honour one twice remembers their tags, see [`SpentStates`](super::SpentStates).
//!
//! The text is URL-safe base64 without padding, decoded strictly: one version byte, eight that name the
//! key, twelve of nonce, then the ciphertext and its tag.

mod binding;
mod key;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) use self::binding::Binding;
pub use self::key::{InvalidKey, Key, KeyRing};
use self::key::{KEY_ID, NONCE, TAG};

/// Bytes of one sealed text: every client has to carry it back in a request body.
pub(crate) const MAX_SEALED: usize = 64 * 1024;

/// Seconds that a state is good for unless the server says otherwise: an hour, in which a person can
/// answer.
pub(crate) const LIFETIME: u64 = 60 * 60;

/// Seals states and opens them.
#[derive(Debug)]
pub(crate) struct Sealer {
    keys: KeyRing,
}

/// What goes into a state.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    /// How many rounds came before.
    pub(crate) round: u32,
    /// When the state ceases to be good, in seconds since the Unix epoch.
    pub(crate) expires: u64,
    /// The server's own bytes.
    pub(crate) data: &'a [u8],
}

/// What comes out of a state.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// How many rounds came before.
    pub(crate) round: u32,
    /// When the state ceases to be good, in seconds since the Unix epoch.
    pub(crate) expires: u64,
    /// The server's own bytes.
    pub(crate) data: Vec<u8>,
    /// What no other state has.
    pub(crate) tag: [u8; TAG],
}

impl Sealer {
    /// Seals with the first key of the ring and opens with any.
    pub(crate) fn new(keys: KeyRing) -> Self {
        Self { keys }
    }

    /// The state as text for the client, good only for requests with the same `binding`.
    ///
    /// # Errors
    /// When the text would have more than [`MAX_SEALED`] bytes.
    pub(crate) fn seal(
        &self,
        binding: &Binding<'_>,
        payload: &Payload<'_>,
    ) -> Result<String, TooLarge> {
        let size = base64::encoded_len(OVERHEAD.saturating_add(payload.data.len()), false)
            .unwrap_or(usize::MAX);
        if size > MAX_SEALED {
            return Err(TooLarge { size });
        }
        let key = self.keys.sealing();
        let mut sealed = Vec::with_capacity(OVERHEAD + payload.data.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(key.id());
        let associated = binding.associated_data(&sealed);
        let nonce = nonce();
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&payload.expires.to_le_bytes());
        sealed.extend_from_slice(&payload.round.to_le_bytes());
        sealed.extend_from_slice(payload.data);
        let text = sealed.get_mut(HEAD + NONCE..).expect("the nonce is part of it");
        let tag = key.encrypt(&nonce, &associated, text);
        sealed.extend_from_slice(&tag);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// What is in a text that came back with a request. `now` is in seconds since the Unix epoch.
    ///
    /// # Errors
    /// When the text was not made by [`seal`](Self::seal) with the same binding and one of these keys, or
    /// has expired. The client is told the same in every case: -32602, without the reason, which is for
    /// logs.
    pub(crate) fn open(
        &self,
        binding: &Binding<'_>,
        text: &str,
        now: u64,
    ) -> Result<Opened, SealError> {
        if text.len() > MAX_SEALED {
            return Err(SealError::Malformed);
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).or(Err(SealError::Malformed))?;
        let (head, rest) = sealed.split_first_chunk::<HEAD>().ok_or(SealError::Malformed)?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE>().ok_or(SealError::Malformed)?;
        let (text, tag) = rest.split_last_chunk::<TAG>().ok_or(SealError::Malformed)?;
        let [version, id @ ..] = head;
        if *version != VERSION {
            return Err(SealError::Malformed);
        }
        let key = self.keys.opening(id).ok_or(SealError::UnknownKey)?;
        let mut text = text.to_vec();
        if !key.decrypt(nonce, &binding.associated_data(head), &mut text, tag) {
            return Err(SealError::NotYours);
        }
        let (expires, rest) = text.split_first_chunk().ok_or(SealError::Malformed)?;
        let (round, data) = rest.split_first_chunk().ok_or(SealError::Malformed)?;
        let expires = u64::from_le_bytes(*expires);
        if now >= expires {
            return Err(SealError::Expired);
        }
        Ok(Opened { round: u32::from_le_bytes(*round), expires, data: data.to_vec(), tag: *tag })
    }
}

/// Why a state cannot be sealed: it would be a text of more than [`MAX_SEALED`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sealed state would have {size} bytes, at most {MAX_SEALED} are allowed")]
pub(crate) struct TooLarge {
    /// How long the text would be, in bytes.
    pub(crate) size: usize,
}

/// Why a state does not open. For logs only: to a client all are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SealError {
    /// It was never one of ours, by its form.
    #[error("the request state is malformed")]
    Malformed,
    /// Its key is not in the ring: retired, of another instance, or lost in a restart.
    #[error("the request state is sealed with an unknown key")]
    UnknownKey,
    /// It was altered, or made for another caller, method, target or other arguments.
    #[error("the request state was altered or belongs to another request")]
    NotYours,
    /// Its time is over.
    #[error("the request state has expired")]
    Expired,
}

/// A nonce repeats by chance, if ever, after some 2^48 states, and then shows no more than whether two are
/// equal. So a system without randomness is no reason to fail a request.
fn nonce() -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    if let Err(error) = getrandom::fill(&mut nonce) {
        tracing::error!(%error, "no randomness for a request state");
    }
    nonce
}

/// Bytes before the nonce: version and key.
const HEAD: usize = 1 + KEY_ID;

/// Bytes of a state besides its data: head, nonce, expiry, round and tag.
const OVERHEAD: usize = HEAD + NONCE + 8 + 4 + TAG;

/// Of the format described above.
const VERSION: u8 = 1;

impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        redacted(f, "Payload", self.round, self.expires)
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        redacted(f, "Opened", self.round, self.expires)
    }
}

/// The data are a user's answers.
fn redacted(
    f: &mut std::fmt::Formatter<'_>,
    name: &str,
    round: u32,
    expires: u64,
) -> std::fmt::Result {
    f.debug_struct(name).field("round", &round).field("expires", &expires).finish_non_exhaustive()
}
