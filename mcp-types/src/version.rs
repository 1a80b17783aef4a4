//! Protocol versions, and the two eras they fall into.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// A protocol version: the date of a revision, or whatever text a peer sent in its place.
///
/// Specification: Versioning and Compatibility.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ProtocolVersion(Cow<'static, str>);

impl ProtocolVersion {
    /// The revision that this SDK speaks: stateless, with metadata in every request.
    pub const V2026_07_28: Self = Self(Cow::Borrowed("2026-07-28"));
    /// The last revision with an `initialize` handshake.
    pub const V2025_11_25: Self = Self(Cow::Borrowed("2025-11-25"));
    /// The revision that brought the `MCP-Protocol-Version` header.
    pub const V2025_06_18: Self = Self(Cow::Borrowed("2025-06-18"));
    /// The revision that brought Streamable HTTP.
    pub const V2025_03_26: Self = Self(Cow::Borrowed("2025-03-26"));
    /// The first revision.
    pub const V2024_11_05: Self = Self(Cow::Borrowed("2024-11-05"));
    /// The newest revision known here.
    pub const LATEST: Self = Self::V2026_07_28;

    const KNOWN: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// The version as it stands in messages.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is one of the revisions that begin with an `initialize` handshake.
    pub fn is_legacy(&self) -> bool {
        *self != Self::V2026_07_28 && Self::KNOWN.contains(self)
    }
}

impl From<&str> for ProtocolVersion {
    fn from(text: &str) -> Self {
        // Known versions cost no allocation: every request names one.
        Self::KNOWN
            .into_iter()
            .find(|known| known.as_str() == text)
            .unwrap_or_else(|| Self(Cow::Owned(text.to_owned())))
    }
}

impl From<String> for ProtocolVersion {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = ProtocolVersion;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a protocol version as a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<ProtocolVersion, E> {
                Ok(text.into())
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProtocolVersion({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eras() {
        assert!(!ProtocolVersion::LATEST.is_legacy());
        assert!(ProtocolVersion::from("2024-11-05").is_legacy());
        assert!(!ProtocolVersion::from("2099-01-01").is_legacy());
        assert!(!ProtocolVersion::from("").is_legacy());
    }

    #[test]
    fn any_text_survives() {
        for text in ["2026-07-28", "v999.0.0", "", "☃"] {
            let json = serde_json::to_string(text).unwrap();
            let version: ProtocolVersion = serde_json::from_str(&json).unwrap();
            assert_eq!(version.as_str(), text);
            assert_eq!(serde_json::to_string(&version).unwrap(), json);
        }
        assert!(serde_json::from_str::<ProtocolVersion>("1").is_err());
    }
}
