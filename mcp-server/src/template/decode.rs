//! From variables to a typed struct.

use std::collections::btree_map::{self, BTreeMap};
use std::error::Error;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// Why [`Variables`](super::Variables) do not decode into a type.
///
/// The text is fit for clients: it names the variable and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidVariables(String);

impl fmt::Display for InvalidVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for InvalidVariables {}

impl de::Error for InvalidVariables {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn missing_field(name: &'static str) -> Self {
        Self(format!("{name} is missing"))
    }
}

pub(super) fn decode<T: DeserializeOwned>(
    variables: &BTreeMap<String, String>,
) -> Result<T, InvalidVariables> {
    T::deserialize(MapAccessDeserializer::new(Fields { rest: variables.iter(), value: None }))
}

/// The variables, as the fields of a struct.
struct Fields<'a> {
    rest: btree_map::Iter<'a, String, String>,
    /// The one whose value comes next.
    value: Option<(&'a str, &'a str)>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = InvalidVariables;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let Some((name, text)) = self.rest.next() else { return Ok(None) };
        self.value = Some((name, text));
        let name: StrDeserializer<'_, Self::Error> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let (name, text) = self.value.take().unwrap_or_default();
        seed.deserialize(Text(text)).map_err(|error| InvalidVariables(format!("{name}: {error}")))
    }
}

/// The value of one variable, parsed into what it is asked for.
struct Text<'a>(&'a str);

macro_rules! parsed {
    ($($method:ident => $visit:ident $(if $check:path)?,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            match self.0.parse() {
                // `FromStr` takes a sign `+`, which would give one resource two names.
                Ok(value) if !self.0.starts_with('+') $(&& $check(value))? => visitor.$visit(value),
                _ => Err(expected(&visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = InvalidVariables;

    parsed! {
        deserialize_bool => visit_bool,
        deserialize_i8 => visit_i8,
        deserialize_i16 => visit_i16,
        deserialize_i32 => visit_i32,
        deserialize_i64 => visit_i64,
        deserialize_i128 => visit_i128,
        deserialize_u8 => visit_u8,
        deserialize_u16 => visit_u16,
        deserialize_u32 => visit_u32,
        deserialize_u64 => visit_u64,
        deserialize_u128 => visit_u128,
        deserialize_f32 => visit_f32 if f32::is_finite,
        deserialize_f64 => visit_f64 if f64::is_finite,
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_str(self.0)
    }

    /// A variable that is there; absent ones never come here.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let variant: StrDeserializer<'_, Self::Error> = self.0.into_deserializer();
        visitor.visit_enum(variant)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

#[cold]
fn expected(what: &dyn de::Expected) -> InvalidVariables {
    InvalidVariables(format!("expected {what}"))
}
