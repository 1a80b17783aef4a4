//! `Visibility`: who sees what.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_types::Meta;

use super::Entry;
use crate::caller::RequestParts;

/// Something that is listed, as a [visibility](crate::ServerBuilder::visible) filter is asked about it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A tool.
    Tool(&'a mcp_types::Tool),
    /// A prompt.
    Prompt(&'a mcp_types::Prompt),
    /// A resource of a fixed URI.
    Resource(&'a mcp_types::Resource),
    /// A resource template, and every resource that fits it.
    ResourceTemplate(&'a mcp_types::ResourceTemplate),
}

impl<'a> Item<'a> {
    /// The name of a tool or prompt, the URI of a resource, the template of a resource template.
    pub fn key(&self) -> &'a str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Prompt(prompt) => &prompt.name,
            Self::Resource(resource) => &resource.uri,
            Self::ResourceTemplate(template) => &template.uri_template,
        }
    }

    /// The `_meta` of its definition, for filters that go by tags.
    pub fn meta(&self) -> &'a Meta {
        match self {
            Self::Tool(tool) => &tool.meta,
            Self::Prompt(prompt) => &prompt.meta,
            Self::Resource(resource) => &resource.meta,
            Self::ResourceTemplate(template) => &template.meta,
        }
    }
}

/// Says whether whoever sent a request sees something.
pub(crate) struct Visibility(Box<Filter>);

type Filter = dyn Fn(Item<'_>, &RequestParts) -> bool + Send + Sync;

impl Visibility {
    pub(crate) fn new(
        filter: impl Fn(Item<'_>, &RequestParts) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(filter))
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Visibility(..)")
    }
}

/// What the sender of one request sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'a> {
    visibility: Option<&'a Visibility>,
    parts: &'a RequestParts,
}

impl<'a> Sight<'a> {
    pub(crate) const fn new(visibility: Option<&'a Visibility>, parts: &'a RequestParts) -> Self {
        Self { visibility, parts }
    }

    /// Whether anything may be hidden at all.
    pub(crate) const fn is_limited(&self) -> bool {
        self.visibility.is_some()
    }

    /// Whether `entry` is visible. A filter that panics hides it.
    pub(crate) fn sees<E: Entry>(&self, entry: &E) -> bool {
        let Some(Visibility(filter)) = self.visibility else { return true };
        catch_unwind(AssertUnwindSafe(|| filter(entry.item(), self.parts))).unwrap_or_else(
            |panic| {
                tracing::error!(key = entry.key(), "the visibility filter panicked");
                crate::work::dispose(panic);
                false
            },
        )
    }
}
