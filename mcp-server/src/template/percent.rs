//! The characters of URIs, and percent-encoding (RFC 3986, sections 2 and 3.3).

use std::fmt::Write as _;

/// A set of ASCII characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class(u128);

impl Class {
    /// What never needs encoding.
    pub(super) const UNRESERVED: Self =
        Self(0).with(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");
    /// What a path segment may hold, encodings among it.
    pub(super) const SEGMENT: Self = Self::UNRESERVED.with(b"!$&'()*+,;=:@%");
    /// What a URI may hold, encodings among it.
    pub(super) const URI: Self = Self::SEGMENT.with(b"/?#[]");

    pub(super) const fn with(self, bytes: &[u8]) -> Self {
        let (mut set, mut rest) = (self.0, bytes);
        while let [byte, tail @ ..] = rest {
            set |= bit(*byte);
            rest = tail;
        }
        Self(set)
    }

    pub(super) const fn without(self, byte: u8) -> Self {
        Self(self.0 & !bit(byte))
    }

    pub(super) const fn contains(self, byte: u8) -> bool {
        self.0 & bit(byte) != 0
    }

    /// How many bytes at the beginning of `bytes` are of this class.
    pub(super) fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|&&byte| self.contains(byte)).count()
    }
}

/// 0 beyond ASCII, so that no class holds it.
const fn bit(byte: u8) -> u128 {
    if byte.is_ascii() { 1 << byte } else { 0 }
}

/// Whether `text` holds what a URI may hold and nothing else, with every percent-encoding complete.
pub(crate) fn is_well_formed(text: &str) -> bool {
    text.bytes().all(|byte| Class::URI.contains(byte))
        && text.split('%').skip(1).all(|tail| octet(tail.as_bytes()).is_some())
}

/// Whether `at` lies inside of an encoded character, in a text that is well formed.
pub(super) fn splits_character(text: &[u8], at: usize) -> bool {
    let percent = |back: usize| at.checked_sub(back).and_then(|at| text.get(at)) == Some(&b'%');
    // UTF-8: a byte of 80 to BF belongs to the character before it.
    let continues =
        || matches!(text.get(at..), Some([b'%', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]));
    percent(1) || percent(2) || continues()
}

/// `text` with its percent-encodings decoded, if all are complete and the whole is UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = Vec::with_capacity(text.len());
    bytes.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for piece in pieces {
        bytes.push(octet(piece.as_bytes())?);
        bytes.extend_from_slice(piece.as_bytes().get(2..)?);
    }
    String::from_utf8(bytes).ok()
}

/// Appends `text` to `out`, encoding all but the characters of `plain`. If `%` is among them, what is encoded
/// already stays so.
pub(super) fn encode(out: &mut String, text: &str, plain: Class) {
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        if plain.contains(*byte) && (*byte != b'%' || octet(tail).is_some()) {
            out.push(char::from(*byte));
        } else {
            // Writing into a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
        rest = tail;
    }
}

/// The byte that two hexadecimal digits at the beginning of `text` stand for.
pub(super) fn octet(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}
