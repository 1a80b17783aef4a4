//! Where a server may work. Specification: Roots, which this revision deprecates.

use serde::{Deserialize, Serialize};

use crate::Meta;

/// The parameters of `roots/list`. Schema `ListRootsRequest`, `params`. Deprecated by this revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRootsParams {
    /// What travels beside the payload, here the whole of it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// The client's roots. Schema `ListRootsResult`. Deprecated by this revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
}

/// A directory or file that a server may work on. Schema `Root`. Deprecated by this revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Where it is: a `file://` URI.
    pub uri: String,
    /// What to call it before people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl Root {
    /// The root at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}
