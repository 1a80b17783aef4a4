//! Fields in which the user chooses among options.

use serde::{Deserialize, Serialize};

use crate::setters::setters;

/// A field for one of several options. Schema `SingleSelectEnumSchema`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SingleSelectSchema {
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What can be chosen: the member `enum` or `oneOf`.
    #[serde(flatten)]
    pub options: SelectOptions,
    /// Titles for options without their own, in the way that
    /// [`SelectOptions::Titled`] replaced. Schema `LegacyTitledEnumSchema`.
    #[serde(rename = "enumNames", skip_serializing_if = "Option::is_none")]
    pub legacy_titles: Option<Vec<String>>,
    /// What is chosen at first.
    #[serde(rename = "default", skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
}

impl SingleSelectSchema {
    /// A choice among `options`.
    pub fn new(options: impl Into<SelectOptions>) -> Self {
        Self {
            title: None,
            description: None,
            options: options.into(),
            legacy_titles: None,
            default_value: None,
        }
    }
}

/// A field for any of several options. Schema `MultiSelectEnumSchema`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MultiSelectSchema {
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest that must be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The most that can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// What can be chosen: the member `items`.
    #[serde(rename = "items", with = "items")]
    pub options: SelectOptions,
    /// What is chosen at first.
    #[serde(rename = "default", default, skip_serializing_if = "Option::is_none")]
    pub default_value: Option<Vec<String>>,
}

impl MultiSelectSchema {
    /// A choice of any among `options`.
    pub fn new(options: impl Into<SelectOptions>) -> Self {
        Self {
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            options: options.into(),
            default_value: None,
        }
    }
}

setters! { SingleSelectSchema {
    /// Sets its label.
    title: String,
    /// Sets what it is.
    description: String,
    /// Sets what is chosen at first.
    default_value: String,
} }

setters! { MultiSelectSchema {
    /// Sets its label.
    title: String,
    /// Sets what it is.
    description: String,
    /// Sets the fewest that must be chosen.
    min_items: u64,
    /// Sets the most that can be chosen.
    max_items: u64,
    /// Sets what is chosen at first.
    default_value: Vec<String>,
} }

/// The options of a choice. Schemas `Untitled...` and `Titled...SelectEnumSchema`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it")]
pub enum SelectOptions {
    /// Values that speak for themselves.
    #[serde(rename = "enum")]
    Plain(Vec<String>),
    /// Values with a title to show for each.
    #[serde(rename = "oneOf")]
    Titled(Vec<SelectOption>),
}

/// An option with a title. Schema `TitledSingleSelectEnumSchema`, `oneOf`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectOption {
    /// What is answered; `const` on the wire.
    #[serde(rename = "const")]
    pub value: String,
    /// What is shown.
    pub title: String,
}

impl SelectOptions {
    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let (plain, titled) = match self {
            Self::Plain(values) => (values.as_slice(), &[][..]),
            Self::Titled(options) => (&[][..], options.as_slice()),
        };
        plain.iter().map(String::as_str).chain(titled.iter().map(|option| &*option.value))
    }

    pub(super) fn from_wire(
        plain: Option<Vec<String>>,
        titled: Option<Vec<SelectOption>>,
    ) -> Option<Self> {
        titled.map(Self::Titled).or_else(|| plain.map(Self::Plain))
    }
}

impl From<Vec<String>> for SelectOptions {
    fn from(values: Vec<String>) -> Self {
        Self::Plain(values)
    }
}

impl<const N: usize> From<[&str; N]> for SelectOptions {
    fn from(values: [&str; N]) -> Self {
        Self::Plain(values.map(str::to_owned).into())
    }
}

/// Pairs of value and title.
impl<const N: usize> From<[(&str, &str); N]> for SelectOptions {
    fn from(options: [(&str, &str); N]) -> Self {
        let option = |(value, title): (&str, &str)| SelectOption {
            value: value.to_owned(),
            title: title.to_owned(),
        };
        Self::Titled(options.map(option).into())
    }
}

/// The member `items` of a [`MultiSelectSchema`].
mod items {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{SelectOption, SelectOptions};

    pub(super) fn serialize<S: Serializer>(
        options: &SelectOptions,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename = "string")]
        struct Plain<'a> {
            r#enum: &'a [String],
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Titled<'a> {
            any_of: &'a [SelectOption],
        }
        match options {
            SelectOptions::Plain(values) => Plain { r#enum: values }.serialize(serializer),
            SelectOptions::Titled(options) => Titled { any_of: options }.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SelectOptions, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Items {
            r#enum: Option<Vec<String>>,
            any_of: Option<Vec<SelectOption>>,
        }
        let Items { r#enum: plain, any_of: titled } = Items::deserialize(deserializer)?;
        SelectOptions::from_wire(plain, titled)
            .ok_or_else(|| D::Error::custom("the items of a choice need `enum` or `anyOf`"))
    }
}
