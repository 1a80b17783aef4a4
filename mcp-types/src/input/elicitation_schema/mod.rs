//! The forms a user can be asked to fill in: a small part of JSON Schema. Specification: Elicitation,
//! Requested Schema.

mod check;
mod select;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

pub use check::FormError;
pub use select::{MultiSelectSchema, SelectOption, SelectOptions, SingleSelectSchema};

use crate::setters::setters;
use crate::tagged::{Tagged, deserialize_tagged};
use crate::{Map, Number};

/// The fields of a form. Schema `ElicitRequestFormParams`, `requestedSchema`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "object")]
pub struct ElicitationSchema {
    /// The dialect, if it is said.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The fields by name, in the order to show them.
    pub properties: Map<PrimitiveSchema>,
    /// The fields that must be filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

impl ElicitationSchema {
    /// A form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that may be left empty.
    #[must_use]
    pub fn optional(mut self, name: impl Into<String>, field: impl Into<PrimitiveSchema>) -> Self {
        self.properties.insert(name.into(), field.into());
        self
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn required(mut self, name: impl Into<String>, field: impl Into<PrimitiveSchema>) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.optional(name, field)
    }
}

/// One field of a form. Schema `PrimitiveSchemaDefinition`.
///
/// Keywords that the specification does not list for forms are not kept.
// Only writing is derived; reading goes the way of all tagged objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// A text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// A number without a fraction.
    Integer(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of several options.
    #[serde(rename = "string")]
    SingleSelect(SingleSelectSchema),
    /// Any of several options.
    #[serde(rename = "array")]
    MultiSelect(MultiSelectSchema),
}

impl Tagged for PrimitiveSchema {
    const TAG: &'static str = "type";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        match tag {
            "string" => StringWire::deserialize(members).map(Self::from),
            "number" => NumberSchema::deserialize(members).map(Self::Number),
            "integer" => NumberSchema::deserialize(members).map(Self::Integer),
            "boolean" => BooleanSchema::deserialize(members).map(Self::Boolean),
            "array" => MultiSelectSchema::deserialize(members).map(Self::MultiSelect),
            other => Err(D::Error::unknown_variant(
                other,
                &["string", "number", "integer", "boolean", "array"],
            )),
        }
    }
}

deserialize_tagged!(PrimitiveSchema);

/// What a field of type `string` may say: it is a choice when it lists its options.
#[derive(Deserialize)]
struct StringWire {
    #[serde(flatten)]
    text: StringSchema,
    #[serde(rename = "enum")]
    values: Option<Vec<String>>,
    #[serde(rename = "oneOf")]
    titled: Option<Vec<SelectOption>>,
    #[serde(rename = "enumNames")]
    legacy_titles: Option<Vec<String>>,
}

impl From<StringWire> for PrimitiveSchema {
    fn from(wire: StringWire) -> Self {
        let StringWire { text, values, titled, legacy_titles } = wire;
        let Some(options) = SelectOptions::from_wire(values, titled) else {
            return Self::String(text);
        };
        let StringSchema { title, description, default_value, .. } = text;
        Self::SingleSelect(SingleSelectSchema {
            title,
            description,
            options,
            legacy_titles,
            default_value,
        })
    }
}

impl From<StringSchema> for PrimitiveSchema {
    fn from(schema: StringSchema) -> Self {
        Self::String(schema)
    }
}

impl From<BooleanSchema> for PrimitiveSchema {
    fn from(schema: BooleanSchema) -> Self {
        Self::Boolean(schema)
    }
}

impl From<SingleSelectSchema> for PrimitiveSchema {
    fn from(schema: SingleSelectSchema) -> Self {
        Self::SingleSelect(schema)
    }
}

impl From<MultiSelectSchema> for PrimitiveSchema {
    fn from(schema: MultiSelectSchema) -> Self {
        Self::MultiSelect(schema)
    }
}

/// A field for text. Schema `StringSchema`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StringSchema {
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The most characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// What kind of text it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// What stands in it at first.
    #[serde(rename = "default", default, skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
}

/// A kind of text. Schema `StringSchema`, `format`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StringFormat {
    /// An e-mail address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date and time.
    DateTime,
    /// Something that forms do not know; the field is still a text.
    #[serde(untagged)]
    Other(String),
}

/// A field for a number. Schema `NumberSchema`; whether it is an integer,
/// [`PrimitiveSchema`] says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberSchema {
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The least value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// The greatest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// What stands in it at first.
    #[serde(rename = "default", default, skip_serializing_if = "Option::is_none")]
    pub default_value: Option<Number>,
}

/// A field for yes or no. Schema `BooleanSchema`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BooleanSchema {
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it says at first.
    #[serde(rename = "default", default, skip_serializing_if = "Option::is_none")]
    pub default_value: Option<bool>,
}

setters! { StringSchema {
    /// Sets its label.
    title: String,
    /// Sets what it is.
    description: String,
    /// Sets the fewest characters.
    min_length: u64,
    /// Sets the most characters.
    max_length: u64,
    /// Sets what kind of text it is.
    format: StringFormat,
    /// Sets what stands in it at first.
    default_value: String,
} }

setters! { NumberSchema {
    /// Sets its label.
    title: String,
    /// Sets what it is.
    description: String,
    /// Sets the least value.
    minimum: Number,
    /// Sets the greatest value.
    maximum: Number,
    /// Sets what stands in it at first.
    default_value: Number,
} }

setters! { BooleanSchema {
    /// Sets its label.
    title: String,
    /// Sets what it is.
    description: String,
    /// Sets what it says at first.
    default_value: bool,
} }
