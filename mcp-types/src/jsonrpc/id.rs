//! `RequestId` and `ProgressToken`: a string or an integer, given back exactly as it came.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// Why a JSON value is no id: it is neither a string nor an integer from `i64::MIN` to `u64::MAX`.
///
/// `null`, fractions (`1.0` too), exponents (`1e2`), booleans, arrays and objects all end here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a string or an integer")]
pub struct InvalidId;

/// The value behind both public types. Integers that fit are `Signed`, so equal values are equal.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Value {
    Signed(i64),
    /// Only values above `i64::MAX`.
    Unsigned(u64),
    String(Box<str>),
}

macro_rules! opaque_id {
    ($(#[$attr:meta])* $name:ident) => {
        $(#[$attr])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Value);

        impl $name {
            /// Reads one JSON value, given as its text without surrounding whitespace.
            ///
            /// # Errors
            /// [`InvalidId`] when the text is anything but a JSON string or an integer from
            /// `i64::MIN` to `u64::MAX` in plain digits.
            pub fn from_json(text: &str) -> Result<Self, InvalidId> {
                Value::from_json(text).map(Self)
            }

            /// The text of a string value; `None` for an integer.
            pub fn as_str(&self) -> Option<&str> {
                match &self.0 {
                    Value::String(text) => Some(text),
                    Value::Signed(_) | Value::Unsigned(_) => None,
                }
            }

            /// The value of an integer; `None` for a string.
            pub fn as_integer(&self) -> Option<i128> {
                match self.0 {
                    Value::Signed(n) => Some(n.into()),
                    Value::Unsigned(n) => Some(n.into()),
                    Value::String(_) => None,
                }
            }
        }

        impl From<i64> for $name {
            fn from(n: i64) -> Self {
                Self(Value::Signed(n))
            }
        }

        impl From<i32> for $name {
            fn from(n: i32) -> Self {
                Self(Value::Signed(n.into()))
            }
        }

        impl From<u64> for $name {
            fn from(n: u64) -> Self {
                Self(Value::from(n))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Value::String(text.into()))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Value::String(text.into()))
            }
        }

        /// A string in quotes, an integer in digits: `"7"` and `7` stay apart in a log.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match &self.0 {
                    Value::Signed(n) => n.fmt(f),
                    Value::Unsigned(n) => n.fmt(f),
                    Value::String(text) => write!(f, "{text:?}"),
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    Value::Signed(n) => serializer.serialize_i64(*n),
                    Value::Unsigned(n) => serializer.serialize_u64(*n),
                    Value::String(text) => serializer.serialize_str(text),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(IdVisitor).map(Self)
            }
        }
    };
}

opaque_id! {
    /// The id that ties a response to its request. Never `null`; a string and an integer that look
    /// alike (`"1"`, `1`) are different ids.
    ///
    /// Specification: Overview, Requests; schema `RequestId`.
    RequestId
}

opaque_id! {
    /// The token by which a requester recognises the progress notifications of one request.
    ///
    /// Specification: Progress; schema `ProgressToken`.
    ProgressToken
}

impl Value {
    fn from_json(text: &str) -> Result<Self, InvalidId> {
        if text.starts_with('"') {
            return serde_json::from_str::<Box<str>>(text).map(Self::String).or(Err(InvalidId));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        // `-0` is a fraction to most readers of JSON, and would come back as `0`.
        if !plain || text == "-0" || (digits.len() > 1 && digits.starts_with('0')) {
            return Err(InvalidId);
        }
        text.parse()
            .map(Self::Signed)
            .or_else(|_| text.parse::<u64>().map(Self::from))
            .or(Err(InvalidId))
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        i64::try_from(n).map_or(Self::Unsigned(n), Self::Signed)
    }
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Signed(n))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Value, E> {
        Ok(Value::from(n))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.into()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text.into()))
    }

    // With serde_json's `arbitrary_precision`, which any crate of a program may turn on for all of
    // them, every number arrives as a map that only serde_json's own type can read.
    fn visit_map<A: de::MapAccess<'de>>(self, number: A) -> Result<Value, A::Error> {
        let number = serde_json::Number::deserialize(MapAccessDeserializer::new(number))?;
        Value::from_json(&number.to_string()).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_goes_out_again() {
        let ids = [
            r#""1""#,
            r#""""#,
            r#""☃""#,
            r#""a\"b""#,
            "0",
            "-1",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "-9223372036854775808",
        ];
        for text in ids {
            let scanned = RequestId::from_json(text).unwrap();
            let decoded: RequestId = serde_json::from_str(text).unwrap();
            assert_eq!(scanned, decoded, "{text}");
            assert_eq!(serde_json::to_string(&scanned).unwrap(), text);
            let token: ProgressToken = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&token).unwrap(), text);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let not_ids = [
            "null",
            "true",
            "-0",
            "1.0",
            "0.0",
            "1.5",
            "1e2",
            "1E0",
            "-",
            "",
            "[]",
            "{}",
            "01",
            "+1",
            "18446744073709551616",
            "-9223372036854775809",
        ];
        for text in not_ids {
            assert_eq!(RequestId::from_json(text), Err(InvalidId), "{text}");
            assert!(serde_json::from_str::<RequestId>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_string_is_never_an_integer() {
        assert_ne!(RequestId::from("7"), RequestId::from(7));
        assert_eq!(RequestId::from(7_u64), RequestId::from(7_i64));
        assert_eq!(RequestId::from("7").to_string(), r#""7""#);
        assert_eq!(RequestId::from(7).to_string(), "7");
    }
}
