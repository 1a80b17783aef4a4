//! Keys that stand twice in an object, which most readers of JSON pass over.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The first key that stands twice in one object of a JSON text, if there is one. A text that is no JSON has none.
pub(crate) fn twice(text: &[u8]) -> Option<String> {
    let mut found = None;
    let mut reader = serde_json::Deserializer::from_slice(text);
    let _ = Search(&mut found).deserialize(&mut reader);
    found
}

struct Search<'f>(&'f mut Option<String>);

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(Search(self.0))?;
            if !keys.insert(key.clone()) {
                self.0.get_or_insert(key);
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Search(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_stand_twice() {
        for text in [r#"{"a":1,"b":[{"c":null,"c":1}]}"#, r#"{"c":{},"\u0063":1.5}"#] {
            assert_eq!(twice(text.as_bytes()).as_deref(), Some("c"), "{text}");
        }
        for text in [r#"{"a":{"a":true},"b":[{"a":"x"},{"a":-1}]}"#, "no JSON", "7"] {
            assert_eq!(twice(text.as_bytes()), None, "{text}");
        }
    }
}
