//! JSON that is kept as it came: schemas, arguments, structured content, unknown members.

use std::fmt;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::JsonMap;

/// One JSON value as text, neither parsed nor changed. Numbers keep their digits, objects the
/// order of their members.
///
/// It is read and written through `serde_json` alone; two are equal when they mean the same value.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// The JSON text of `value`.
    ///
    /// # Errors
    /// When `value` has no form in JSON, such as a map whose keys are no strings.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Takes `text`, which must be one JSON value.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn from_text(text: impl Into<String>) -> serde_json::Result<Self> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The value as text, without surrounding whitespace.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Decodes the value.
    ///
    /// # Errors
    /// When it is no `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
            || matches!(
                (self.decode::<serde_json::Value>(), other.decode::<serde_json::Value>()),
                (Ok(ours), Ok(theirs)) if ours == theirs
            )
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        // `Value` keeps only string keys, so its text is always JSON.
        Self(RawValue::from_string(value.to_string()).expect("a Value prints as JSON"))
    }
}

impl From<&JsonMap> for RawJson {
    fn from(map: &JsonMap) -> Self {
        Self::new(map).expect("string keys and raw values print as JSON")
    }
}

/// Reads an optional member for which `null` is a value like any other: only absence is `None`.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads a member that must be an object; `null` is none. The error names the `member`.
pub(crate) fn object<'de, D: Deserializer<'de>>(
    deserializer: D,
    member: &str,
) -> Result<RawJson, D::Error> {
    let raw = RawJson::deserialize(deserializer)?;
    if raw.is_object() {
        return Ok(raw);
    }
    Err(D::Error::custom(format_args!("`{member}` must be an object")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_and_meaning_compared() {
        let text = r#"{"b": 1.0,  "a": [1e3]}"#;
        let raw: RawJson = serde_json::from_str(text).unwrap();
        assert_eq!(raw.get(), text);
        assert_eq!(serde_json::to_string(&raw).unwrap(), text);
        assert_eq!(raw, RawJson::from_text(r#"{"a":[1e3],"b":1.0}"#).unwrap());
        assert_ne!(raw, RawJson::from_text("{}").unwrap());
        assert!(RawJson::from_text("{").is_err());
    }
}
