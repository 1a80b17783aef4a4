//! Lists that come in pages. Specification: Pagination.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::meta::has_meta;
use crate::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Prompt,
    RequestMeta, Resource, ResourceTemplate, Tool,
};

/// Where a page of a list begins: a text that only the server understands. Schema `Cursor`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Cursor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Cursor {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The parameters of every list method. Schema `PaginatedRequestParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaginatedParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// One page of a list: the result of every list method.
pub trait Page {
    /// What is listed.
    type Item: Send + 'static;

    /// Where the next page begins; `None` on the last.
    fn next_cursor(&self) -> Option<&Cursor>;
    /// What is on the page, in the server's order.
    fn into_items(self) -> Vec<Self::Item>;
}

macro_rules! pages {
    ($( $result:ty { $items:ident: $item:ty } )+) => {$(
        impl Page for $result {
            type Item = $item;

            fn next_cursor(&self) -> Option<&Cursor> {
                self.next_cursor.as_ref()
            }

            fn into_items(self) -> Vec<$item> {
                self.$items
            }
        }
    )+};
}

pages! {
    ListToolsResult { tools: Tool }
    ListResourcesResult { resources: Resource }
    ListResourceTemplatesResult { resource_templates: ResourceTemplate }
    ListPromptsResult { prompts: Prompt }
}

has_meta!(RequestMeta: PaginatedParams);
