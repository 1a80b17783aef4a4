//! Who speaks: name, version, and what to show for it.

use serde::{Deserialize, Serialize};

use crate::setters::setters;

/// A client or server program, as it describes itself. For display and logs only. Schema
/// `Implementation`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// The program's identifier.
    pub name: String,
    /// What to call it before people; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version, in its own numbering.
    pub version: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The address of its website.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
}

impl Implementation {
    /// The program `name` of `version`.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

setters! { Implementation {
    /// Sets what to call it before people.
    title: String,
    /// Sets what it does.
    description: String,
    /// Sets the address of its website.
    website_url: String,
    /// Sets the pictures to show for it.
    icons: Vec<Icon>,
} }

/// A picture to show for something. Schema `Icon`.
///
/// A client should load it only from where it trusts, and SVG with care, since it can hold scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Where it is: an HTTP(S) address or a `data:` URI.
    pub src: String,
    /// Its media type, where the source does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes it is good for, such as `48x48`, or `any`; all sizes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The theme it is meant for; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// The picture at `src`.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

setters! { Icon {
    /// Sets its media type.
    mime_type: String,
    /// Sets the sizes it is good for, such as `48x48`, or `any`.
    sizes: Vec<String>,
    /// Sets the theme it is meant for.
    theme: IconTheme,
} }

/// The background an icon is drawn for. Schema `Icon`, `theme`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
    /// A theme of a later revision: an icon is no reason to refuse what it decorates.
    #[serde(untagged)]
    Other(String),
}
