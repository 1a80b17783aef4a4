//! Who content is for and how much it matters.

use serde::{Deserialize, Serialize};

use crate::Number;
use crate::setters::setters;

/// A side of a conversation. Schema `Role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints on how content or a resource is to be used. Schema `Annotations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// How much it matters: from 0, could be left out, to 1, cannot be done without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Number>,
    /// When it was last changed, as an ISO 8601 date and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

setters! { Annotations {
    /// Sets whom it is for.
    audience: Vec<Role>,
    /// Sets how much it matters, from 0 to 1.
    priority: Number,
    /// Sets when it was last changed, as an ISO 8601 date and time.
    last_modified: String,
} }
