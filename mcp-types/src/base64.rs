//! `Base64`: bytes that travel as text.

use std::fmt;

use ::base64::Engine;
use ::base64::display::Base64Display;
use ::base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// Bytes, in the standard base64 alphabet with padding on the wire.
///
/// Reading is strict: another alphabet, absent padding, stray bits or whitespace are errors, so that
/// equal bytes have one spelling. `Debug` shows the length only.
///
/// Schema: the members of format `byte`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Base64(Vec<u8>);

impl Base64 {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, taken out.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl From<Vec<u8>> for Base64 {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Base64 {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Base64 {
    fn from(bytes: &[u8; N]) -> Self {
        Self(bytes.to_vec())
    }
}

impl AsRef<[u8]> for Base64 {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Base64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} bytes)", self.0.len())
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(&self.0, &STANDARD))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64Visitor;
        impl Visitor<'_> for Base64Visitor {
            type Value = Base64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a base64 string")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Base64, E> {
                STANDARD
                    .decode(text)
                    .map(Base64)
                    .map_err(|error| E::custom(format_args!("invalid base64: {error}")))
            }
        }
        deserializer.deserialize_str(Base64Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_per_value() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("+/8=", b"\xfb\xff"),
        ] {
            let json = format!("{text:?}");
            let read: Base64 = serde_json::from_str(&json).unwrap();
            assert_eq!(read.as_bytes(), bytes);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
        for text in ["Zg", "Zg=", "Zh==", "-_8=", "Zm9v\\n", " Zm9v", "Zm 9v", "Zg==Zg=="] {
            let json = format!("\"{text}\"");
            assert!(serde_json::from_str::<Base64>(&json).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Base64>("1").is_err());
    }

    #[test]
    fn the_bytes_stay_out_of_logs() {
        assert_eq!(format!("{:?}", Base64::from(b"secret")), "Base64(6 bytes)");
    }
}
