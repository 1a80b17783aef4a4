//! Objects that say in one of their members what the others are: content blocks by `type`, what a
//! server asks by `method`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};

use crate::JsonMap;
use crate::object::Key;

/// A type whose wire form has a tag among its members.
pub(crate) trait Tagged: Sized {
    /// The member that holds the tag.
    const TAG: &'static str;
    /// What an absent tag stands for, if it may be absent.
    const DEFAULT: Option<&'static str> = None;

    /// Reads the members beside the tag.
    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error>;
}

/// Reads a tagged object. serde's own tagged enums buffer every member in a form that raw JSON does
/// not survive; here nothing is buffered when the tag comes first, as practically everyone writes it,
/// and the members before it are kept as text when it does not.
pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Tagged,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with a member `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<T, A::Error> {
        let mut others = JsonMap::new();
        let mut tag = None;
        while let Some(key) = members.next_key::<Key<'de>>()? {
            if key.as_str() != T::TAG {
                others.push(key.as_str(), members.next_value()?);
                continue;
            }
            let value = members.next_value::<Key<'de>>()?;
            if others.is_empty() && tag.is_none() {
                return T::read(value.as_str(), MapAccessDeserializer::new(members));
            }
            if tag.replace(value).is_some() {
                return Err(A::Error::duplicate_field(T::TAG));
            }
        }
        let tag = tag.as_ref().map(Key::as_str).or(T::DEFAULT);
        let tag = tag.ok_or_else(|| A::Error::missing_field(T::TAG))?;
        others.check_unique()?;
        let text = serde_json::to_string(&others).map_err(A::Error::custom)?;
        T::read(tag, &mut serde_json::Deserializer::from_str(&text)).map_err(A::Error::custom)
    }
}

/// Implements `Deserialize` through [`Tagged`].
macro_rules! deserialize_tagged {
    ($name:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::tagged::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use deserialize_tagged;
