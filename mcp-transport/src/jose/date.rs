//! Times in claims.

use serde::{Deserialize, Deserializer, Serialize};

/// Seconds since 1970 in UTC, without leap seconds (RFC 7519, section 2, NumericDate).
///
/// Read from any JSON number that is not negative; fractions are cut off, and what is beyond the range is its end. Written
/// as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "a number with a name")]
pub struct NumericDate(pub u64);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        let seconds = match (number.as_u64(), number.as_f64()) {
            (Some(seconds), _) => seconds,
            // Saturates.
            (None, Some(seconds)) if seconds >= 0.0 => seconds as u64,
            _ => return Err(serde::de::Error::custom("a time before 1970")),
        };
        Ok(Self(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers() {
        let rows = [
            ("0", Some(0)),
            ("1562262618", Some(1_562_262_618)),
            ("1562262618.9", Some(1_562_262_618)),
            ("1.5e9", Some(1_500_000_000)),
            ("1e300", Some(u64::MAX)),
            ("18446744073709551615", Some(u64::MAX)),
            ("-1", None),
            ("-0.5", None),
            ("\"1562262618\"", None),
            ("null", None),
            ("true", None),
        ];
        for (text, seconds) in rows {
            let read = serde_json::from_str::<NumericDate>(text).ok();
            assert_eq!(read, seconds.map(NumericDate), "{text}");
        }
    }
}
