//! `Number`: a JSON number that keeps its form.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use crate::RawJson;

/// A JSON number. `50` stays `50` and `0.5` stays `0.5`; `50` and `50.0` are equal.
///
/// Integers from `i64::MIN` to `u64::MAX` are exact, everything else is an `f64`.
#[derive(Clone, Copy)]
pub struct Number(Value);

#[derive(Clone, Copy)]
enum Value {
    Signed(i64),
    /// Only values above `i64::MAX`.
    Unsigned(u64),
    /// Always finite.
    Float(f64),
}

impl Number {
    /// The value as a float, rounded where it has no exact one.
    #[expect(clippy::cast_precision_loss, reason = "what the function is for")]
    pub const fn as_f64(self) -> f64 {
        match self.0 {
            Value::Signed(n) => n as f64,
            Value::Unsigned(n) => n as f64,
            Value::Float(n) => n,
        }
    }

    /// The value when it is an integer from 0 to `u64::MAX`, however it was written.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range and the fraction are checked"
    )]
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Value::Signed(n) => n.try_into().ok(),
            Value::Unsigned(n) => Some(n),
            Value::Float(n) if n.fract() == 0.0 && (0.0..TWO_TO_THE_64).contains(&n) => {
                Some(n as u64)
            }
            Value::Float(_) => None,
        }
    }

    /// Reads a JSON number, given as its text; `None` for other JSON, and for what no `f64` holds.
    fn from_json(text: &str) -> Option<Self> {
        if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return None;
        }
        if let Ok(n) = text.parse::<i64>() {
            return Some(n.into());
        }
        if let Ok(n) = text.parse::<u64>() {
            return Some(n.into());
        }
        text.parse::<f64>().ok().filter(|n| n.is_finite()).map(Self::from)
    }

    /// The value when it is written as an integer.
    const fn as_integer(self) -> Option<i128> {
        match self.0 {
            Value::Signed(n) => Some(n as i128),
            Value::Unsigned(n) => Some(n as i128),
            Value::Float(_) => None,
        }
    }
}

const TWO_TO_THE_64: f64 = 18_446_744_073_709_551_616.0;

impl From<i64> for Number {
    fn from(n: i64) -> Self {
        Self(Value::Signed(n))
    }
}

impl From<i32> for Number {
    fn from(n: i32) -> Self {
        i64::from(n).into()
    }
}

impl From<u32> for Number {
    fn from(n: u32) -> Self {
        i64::from(n).into()
    }
}

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Self(i64::try_from(n).map_or(Value::Unsigned(n), Value::Signed))
    }
}

impl From<usize> for Number {
    fn from(n: usize) -> Self {
        // No platform that Rust supports has a wider `usize`.
        u64::try_from(n).unwrap_or(u64::MAX).into()
    }
}

/// JSON has neither infinities nor NaN: an infinity becomes the largest finite value of its sign, NaN
/// becomes 0.
impl From<f64> for Number {
    fn from(n: f64) -> Self {
        Self(Value::Float(if n.is_nan() { 0.0 } else { n.clamp(f64::MIN, f64::MAX) }))
    }
}

/// As from `f64`.
impl From<f32> for Number {
    fn from(n: f32) -> Self {
        f64::from(n).into()
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By value; an integer and a float that round to the same `f64` are equal.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_integer(), other.as_integer()) {
            (Some(ours), Some(theirs)) => ours.cmp(&theirs),
            (Some(ours), None) => compare(ours, other.as_f64()),
            (None, Some(theirs)) => compare(theirs, self.as_f64()).reverse(),
            // `+ 0.0` because -0.0 is 0 and `total_cmp` thinks otherwise.
            (None, None) => (self.as_f64() + 0.0).total_cmp(&(other.as_f64() + 0.0)),
        }
    }
}

/// An integer against a double, exactly: rounding the integer would make unequal ones equal to the same
/// double.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn compare(integer: i128, float: f64) -> Ordering {
    // Integers have 65 bits at most.
    if float.abs() >= TWO_TO_THE_64 * 2.0 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    integer.cmp(&(float.trunc() as i128)).then_with(|| {
        if float.fract() > 0.0 {
            Ordering::Less
        } else if float.fract() < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    })
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Signed(n) => n.fmt(f),
            Value::Unsigned(n) => n.fmt(f),
            Value::Float(n) => n.fmt(f),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Signed(n) => n.fmt(f),
            Value::Unsigned(n) => n.fmt(f),
            Value::Float(n) => fmt::Debug::fmt(&n, f),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Signed(n) => serializer.serialize_i64(n),
            Value::Unsigned(n) => serializer.serialize_u64(n),
            Value::Float(n) => serializer.serialize_f64(n),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // From the digits: serde_json's own floats may be off in the last place, and with its
        // `arbitrary_precision`, which any crate of a program may turn on, they look different.
        let raw = RawJson::deserialize(deserializer)?;
        Self::from_json(raw.get()).ok_or_else(|| D::Error::custom("must be a number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_kept() {
        for text in ["50", "-1", "0.5", "50.0", "18446744073709551615", "-9223372036854775808"] {
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&number).unwrap(), text);
        }
        for text in [r#""50""#, "null", "true", "1e999", "{}"] {
            assert!(serde_json::from_str::<Number>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_compare_whatever_their_form() {
        assert_eq!(Number::from(50), Number::from(50.0));
        assert_eq!(Number::from(0), Number::from(-0.0));
        assert!(Number::from(1) < Number::from(1.5));
        assert!(Number::from(u64::MAX) > Number::from(u64::MAX - 1));
        assert!(Number::from(-1) < Number::from(u64::MAX));
        let two_to_the_53 = 9_007_199_254_740_992_i64;
        assert_eq!(Number::from(two_to_the_53), Number::from(9_007_199_254_740_992.0));
        assert!(Number::from(two_to_the_53 + 1) > Number::from(9_007_199_254_740_992.0));
        assert!(Number::from(u64::MAX) < Number::from(1e300));
        assert!(Number::from(i64::MIN) > Number::from(-1e300));
        assert!(Number::from(-1) > Number::from(-1.5) && Number::from(-2) < Number::from(-1.5));
    }

    #[test]
    fn integers_however_written() {
        let table = [
            ("300000", Some(300_000)),
            ("300000.0", Some(300_000)),
            ("3e5", Some(300_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("-1", None),
            ("0.5", None),
            ("1e300", None),
            ("18446744073709551616", None),
        ];
        for (text, expected) in table {
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(number.as_u64(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_made_finite() {
        assert_eq!(Number::from(f64::NAN).as_f64(), 0.0);
        assert_eq!(Number::from(f64::INFINITY).as_f64(), f64::MAX);
        assert_eq!(Number::from(f64::NEG_INFINITY).as_f64(), f64::MIN);
    }
}
