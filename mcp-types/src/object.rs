//! Objects whose members are not all known: [`JsonMap`], and typed heads that keep the rest.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::RawJson;

/// A JSON object whose values are of one kind, in the order it came. Keys are unique.
///
/// Looking a key up walks the members: these maps are small.
#[derive(Clone, PartialEq, Eq)]
pub struct Map<V>(Vec<(Box<str>, V)>);

/// A JSON object whose values are untouched.
pub type JsonMap = Map<RawJson>;

impl<V> Map<V> {
    /// An empty object, `{}`.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// Whether `key` is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key` and returns what it replaced.
    pub fn insert(&mut self, key: impl Into<Box<str>>, value: V) -> Option<V> {
        let key = key.into();
        if let Some((_, old)) = self.0.iter_mut().find(|(k, _)| *k == key) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((key, value));
        None
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let at = self.0.iter().position(|(k, _)| &**k == key)?;
        Some(self.0.remove(at).1)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is `{}`.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a member that came from a peer. All are in when [`check_unique`](Self::check_unique) is
    /// called, since a check of each against all before it would let a peer buy quadratic time.
    pub(crate) fn push(&mut self, key: &str, value: V) {
        self.0.push((key.into(), value));
    }

    /// Fails when a key occurs twice.
    pub(crate) fn check_unique<E: de::Error>(&self) -> Result<(), E> {
        match duplicate(&self.0) {
            None => Ok(()),
            Some(key) => Err(E::custom(format_args!("duplicate key {key:?}"))),
        }
    }
}

impl JsonMap {
    /// The value of `key`, decoded; `None` when it is absent or no `T`.
    pub fn decode<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.get(key)?.decode().ok()
    }
}

/// A key that occurs twice.
fn duplicate<V>(members: &[(Box<str>, V)]) -> Option<&str> {
    if members.len() <= COMPARED_IN_PAIRS {
        let twice = |(n, (key, _)): &(usize, &(Box<str>, V))| {
            members.iter().take(*n).any(|(earlier, _)| earlier == key)
        };
        return members.iter().enumerate().find(twice).map(|(_, (key, _))| &**key);
    }
    let mut keys: Vec<&str> = members.iter().map(|(key, _)| &**key).collect();
    keys.sort_unstable();
    keys.array_windows().find(|[a, b]| a == b).map(|[key, _]| *key)
}

/// Up to this many keys, comparing all pairs is cheaper than an allocation.
const COMPARED_IN_PAIRS: usize = 16;

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<Box<str>>, V> FromIterator<(K, V)> for Map<V> {
    /// A later value of the same key replaces an earlier one.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut map = Self::new();
        for (key, value) in members {
            map.insert(key, value);
        }
        map
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Box<str>, V);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> de::Visitor<'de> for Visitor<V> {
            type Value = Map<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Map<V>, A::Error> {
                let mut map = Map::new();
                while let Some(key) = members.next_key::<Key<'de>>()? {
                    map.push(key.as_str(), members.next_value()?);
                }
                map.check_unique()?;
                Ok(map)
            }
        }
        deserializer.deserialize_map(Visitor(PhantomData))
    }
}

/// An object key or a tag, borrowed from the input where it has no escapes.
pub(crate) struct Key<'de>(std::borrow::Cow<'de, str>);

impl Key<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(key.into()))
            }
            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(key.to_owned().into()))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// A value that is for display only: one that does not decode counts as absent.
pub(crate) struct Lenient<T>(pub(crate) Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).map(|raw| Self(raw.decode().ok()))
    }
}

/// Writes the members of an [`open_object!`](crate::object::open_object) that are there.
pub(crate) fn serialize_member<M: SerializeMap, T: Serialize>(
    map: &mut M,
    key: &'static str,
    value: &Option<T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

/// Declares a struct of optional, typed members that keeps the members it does not know in `other`,
/// as they came. Duplicate keys are an error on reading. A member marked `lenient` that does not
/// decode is read as absent.
///
/// serde's `flatten` would do the same through a buffer that raw JSON does not survive.
macro_rules! open_object {
    (
        $(#[$attr:meta])*
        pub struct $name:ident {
            $( $(#[$field_attr:meta])* $key:literal => $field:ident : $type:ty $(, $lenient:ident)?; )*
        }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $( $(#[$field_attr])* pub $field: Option<$type>, )*
            /// Every member that has no field of its own, as it came.
            pub other: $crate::JsonMap,
        }

        impl $name {
            /// Whether nothing is in it.
            pub fn is_empty(&self) -> bool {
                $( self.$field.is_none() && )* self.other.is_empty()
            }

            /// The keys that have a field of their own.
            pub(crate) const KEYS: &[&str] = &[$( $key ),*];
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $( $crate::object::serialize_member(&mut map, $key, &self.$field)?; )*
                for (key, value) in self.other.iter() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut members: A,
                    ) -> Result<$name, A::Error> {
                        let mut object = $name::default();
                        let mut seen = [false; $name::KEYS.len()];
                        while let Some(key) = members.next_key::<$crate::object::Key<'de>>()? {
                            if let Some((key, seen)) = $name::KEYS
                                .iter()
                                .zip(&mut seen)
                                .find(|(known, _)| **known == key.as_str())
                                && std::mem::replace(seen, true)
                            {
                                return Err(serde::de::Error::duplicate_field(key));
                            }
                            match key.as_str() {
                                $( $key => object.$field =
                                    $crate::object::open_object!(@value members, $key, $type $(, $lenient)?), )*
                                other => object.other.push(other, members.next_value()?),
                            }
                        }
                        object.other.check_unique()?;
                        Ok(object)
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
    };
    (@value $members:ident, $key:literal, $type:ty) => {
        Some($members.next_value::<$type>().map_err(|e| {
            serde::de::Error::custom(format_args!("{}: {e}", $key))
        })?)
    };
    (@value $members:ident, $key:literal, $type:ty, lenient) => {
        $members.next_value::<$crate::object::Lenient<$type>>()?.0
    };
}
pub(crate) use open_object;

#[cfg(test)]
mod tests {
    #![expect(unreachable_pub, reason = "the macro declares public types")]

    use super::*;

    open_object! {
        /// A test object.
        pub struct Sample {
            /// Strict.
            "n" => number: u8;
            /// Lenient.
            "x/s" => text: String, lenient;
        }
    }

    #[test]
    fn known_members_are_typed_and_the_rest_is_kept() {
        let text = r#"{"n":7,"x/s":"t","z":{"a": 1.0},"y":[50]}"#;
        let sample: Sample = serde_json::from_str(text).unwrap();
        assert_eq!((sample.number, sample.text.as_deref()), (Some(7), Some("t")));
        assert_eq!(sample.other.get("z").unwrap().get(), r#"{"a": 1.0}"#);
        assert_eq!(serde_json::to_string(&sample).unwrap(), text);
    }

    #[test]
    fn faults_name_the_member() {
        let error = serde_json::from_str::<Sample>(r#"{"n":"7"}"#).unwrap_err();
        assert!(error.to_string().starts_with("n: "), "{error}");
        let lenient: Sample = serde_json::from_str(r#"{"x/s":7}"#).unwrap();
        assert!(lenient.is_empty());
    }

    #[test]
    fn duplicates_are_refused_however_they_are_written() {
        for text in [
            r#"{"n":1,"n":1}"#,
            r#"{"n":1,"\u006e":1}"#,
            r#"{"x/s":1,"x/s":"t"}"#,
            r#"{"z":1,"z":1}"#,
        ] {
            assert!(serde_json::from_str::<Sample>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<JsonMap>(r#"{"z":1,"z":1}"#).is_err());
    }
}
