//! `Outcome`: what became of a request. The only place that reads or writes `resultType`.

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};
use serde::{Serialize, Serializer};

use crate::{InputRequired, RawJson};

/// The result of a request: finished, or waiting for input from the client.
///
/// On the wire the two are told apart by the member `resultType`, which this type alone reads and
/// writes: absent means complete, as earlier revisions had it; any value that is not known makes
/// the result invalid.
///
/// Specification: Overview, ResultType; Multi Round-Trip Requests.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a new kind of result changes every caller")]
#[expect(clippy::large_enum_variant, reason = "a `T` carries a `ResultMeta` too, the bulk of both")]
pub enum Outcome<T> {
    /// The final content.
    Complete(T),
    /// What the server needs before it can go on.
    InputRequired(InputRequired),
}

impl<T> Outcome<T> {
    /// The final content, if it is that.
    pub fn complete(self) -> Option<T> {
        match self {
            Self::Complete(result) => Some(result),
            Self::InputRequired(_) => None,
        }
    }

    /// The same outcome with its final content turned into something else.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Complete(result) => Outcome::Complete(f(result)),
            Self::InputRequired(input) => Outcome::InputRequired(input),
        }
    }
}

impl<T: Serialize> Outcome<T> {
    /// Appends the JSON of the outcome to `out`, with `meta` for its `_meta`. It must not have any `_meta` of
    /// its own, or there would be two.
    ///
    /// The bytes are those that serializing gives; it costs less, since `meta` may be encoded once for many
    /// results, and nothing is flattened.
    ///
    /// # Errors
    /// When the content has no form in JSON; what was appended until then is to be discarded.
    pub fn encode_with_meta(&self, meta: &RawJson, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let kind = match self {
            Self::Complete(_) => COMPLETE,
            Self::InputRequired(_) => INPUT_REQUIRED,
        };
        for piece in [r#"{"resultType":""#, kind, r#"","_meta":"#, meta.get()] {
            out.extend_from_slice(piece.as_bytes());
        }
        // The members of the content come behind: its own opening brace becomes the comma between.
        let brace = out.len();
        match self {
            Self::Complete(body) => serde_json::to_writer(&mut *out, body)?,
            Self::InputRequired(body) => serde_json::to_writer(&mut *out, body)?,
        }
        if out.len() - brace == "{}".len() {
            out.truncate(brace);
            out.push(b'}');
        } else if let Some(brace) = out.get_mut(brace) {
            *brace = b',';
        }
        Ok(())
    }
}

impl<T: DeserializeOwned> Outcome<T> {
    /// Reads the `result` of a response from its JSON text, given what its `resultType` says
    /// (`None` when it has none).
    ///
    /// # Errors
    /// When the type is not known, or the result is not of that type.
    pub fn from_json(result: &str, result_type: Option<&str>) -> serde_json::Result<Self> {
        match result_type {
            None | Some(COMPLETE) => serde_json::from_str(result).map(Self::Complete),
            Some(INPUT_REQUIRED) => serde_json::from_str(result).map(Self::InputRequired),
            Some(other) => Err(de::Error::custom(format_args!("unknown resultType {other:?}"))),
        }
    }
}

impl<T> From<T> for Outcome<T> {
    fn from(result: T) -> Self {
        Self::Complete(result)
    }
}

const COMPLETE: &str = "complete";
const INPUT_REQUIRED: &str = InputRequired::RESULT_TYPE;

impl<T: Serialize> Serialize for Outcome<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire<'a, T> {
            result_type: &'static str,
            #[serde(flatten)]
            body: &'a T,
        }
        match self {
            Self::Complete(body) => Wire { result_type: COMPLETE, body }.serialize(serializer),
            Self::InputRequired(body) => {
                Wire { result_type: INPUT_REQUIRED, body }.serialize(serializer)
            }
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Outcome<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Tag {
            #[serde(default)]
            result_type: Option<String>,
        }
        let raw = RawJson::deserialize(deserializer)?;
        let tag: Tag = raw.decode().map_err(de::Error::custom)?;
        Self::from_json(raw.get(), tag.result_type.as_deref()).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonMap;

    #[test]
    fn the_type_of_a_result() {
        let complete = |text: &str| match serde_json::from_str::<Outcome<JsonMap>>(text) {
            Ok(Outcome::Complete(_)) => Some(true),
            Ok(Outcome::InputRequired(_)) => Some(false),
            Err(_) => None,
        };
        assert_eq!(complete(r#"{"a":1}"#), Some(true));
        assert_eq!(complete(r#"{"a":1,"resultType":"complete"}"#), Some(true));
        assert_eq!(complete(r#"{"requestState":"s","resultType":"input_required"}"#), Some(false));
        // Neither of the two members that must not both be absent.
        assert_eq!(complete(r#"{"resultType":"input_required"}"#), None);
        for unknown in [r#""task""#, r#""""#, r#""Complete""#, "1", "[]"] {
            assert_eq!(complete(&format!(r#"{{"resultType":{unknown}}}"#)), None, "{unknown}");
        }
    }

    #[test]
    fn the_type_is_always_written() {
        let complete = Outcome::Complete(JsonMap::new());
        assert_eq!(serde_json::to_string(&complete).unwrap(), r#"{"resultType":"complete"}"#);
    }

    #[test]
    fn encoding_with_a_meta_gives_what_serializing_gives() {
        let meta = RawJson::from_text(r#"{"com.example/x":1}"#).unwrap();
        let mut member = JsonMap::new();
        member.insert("a", RawJson::from_text("[1]").unwrap());
        for body in [JsonMap::new(), member] {
            let mut expected = body.clone();
            expected.insert("_meta", meta.clone());
            let expected = serde_json::to_string(&Outcome::Complete(expected)).unwrap();
            let mut out = b"before ".to_vec();
            Outcome::Complete(body).encode_with_meta(&meta, &mut out).unwrap();
            let encoded = RawJson::from_text(String::from_utf8(out.split_off(7)).unwrap()).unwrap();
            assert_eq!(encoded, RawJson::from_text(expected).unwrap());
            assert_eq!(out, b"before ");
        }
    }
}
