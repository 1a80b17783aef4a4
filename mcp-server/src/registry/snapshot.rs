//! `Snapshot`: what is registered at a moment, frozen.

use std::borrow::Cow;
use std::sync::Arc;

use super::entry::{PromptEntry, Reader, ResourceEntry, TemplateEntry, ToolEntry};
use super::{Entry, List, Listing, Registry, Sight};
use crate::completion::Completers;
use crate::error::BuildError;
use crate::state::States;
use crate::template::Variables;

/// Everything that one request may reach. Whatever it hides from a request is not there for it.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(super) listing: Arc<Listing>,
    pub(crate) tools: Arc<List<ToolEntry>>,
    pub(crate) prompts: Arc<List<PromptEntry>>,
    pub(crate) resources: Arc<List<ResourceEntry>>,
    pub(crate) templates: Arc<List<TemplateEntry>>,
}

impl Snapshot {
    pub(super) fn build(
        registry: Registry,
        states: &Arc<States>,
        listing: Listing,
    ) -> Result<Self, BuildError> {
        let Registry { tools, prompts, resources, templates, .. } = registry;
        Ok(Self {
            tools: list(tools, |tool| ToolEntry::new(tool, states), &listing)?,
            prompts: list(prompts, |prompt| PromptEntry::new(prompt, states), &listing)?,
            resources: list(resources, |resource| ResourceEntry::new(resource, states), &listing)?,
            templates: list(templates, |template| TemplateEntry::new(template, states), &listing)?,
            listing: Arc::new(listing),
        })
    }

    /// The encoded result of the page of `list` that `cursor` points at; `None` when it points nowhere.
    pub(crate) fn page<'a, E: Entry>(
        &self,
        list: &'a List<E>,
        cursor: Option<&str>,
        sight: Sight<'_>,
    ) -> Option<Cow<'a, str>> {
        if sight.is_limited() {
            list.page_of(cursor, |entry| sight.sees(entry), &self.listing).map(Cow::Owned)
        } else {
            list.page(cursor, &self.listing)
        }
    }

    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str, sight: Sight<'_>) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name).filter(|tool| sight.sees(&***tool))
    }

    /// The prompt of this name.
    pub(crate) fn prompt(&self, name: &str, sight: Sight<'_>) -> Option<&Arc<PromptEntry>> {
        self.prompts.get(name).filter(|prompt| sight.sees(&***prompt))
    }

    /// How the resource `uri` is read: the one of that URI, or else the first template, in the order of
    /// registration, that it fits. If that one is hidden, none that comes later is asked: what is hidden on purpose
    /// should not be reached another way.
    pub(crate) fn reader(&self, uri: &str, sight: Sight<'_>) -> Option<(Arc<Reader>, Variables)> {
        if let Some(resource) = self.resources.get(uri) {
            let reader = Arc::clone(&resource.reader);
            return sight.sees(&**resource).then(|| (reader, Variables::default()));
        }
        let mut templates = self.templates.entries().iter();
        let (entry, variables) =
            templates.find_map(|entry| Some((entry, entry.template.matches(uri)?)))?;
        sight.sees(&**entry).then(|| (Arc::clone(&entry.reader), variables))
    }

    /// What completes the variables of the template `text`, and how what fits it is read. The resource of that URI
    /// will do as well, though there is nothing to complete in it.
    pub(crate) fn completers(
        &self,
        text: &str,
        sight: Sight<'_>,
    ) -> Option<(Option<&Completers>, &Arc<Reader>)> {
        if let Some(template) = self.templates.get(text) {
            let found = (Some(&template.completers), &template.reader);
            return sight.sees(&**template).then_some(found);
        }
        let resource = self.resources.get(text).filter(|resource| sight.sees(&***resource))?;
        Some((None, &resource.reader))
    }
}

/// The list of what `new` makes of each of `items`.
fn list<T, E: Entry>(
    items: Vec<T>,
    new: impl FnMut(T) -> Result<E, BuildError>,
    listing: &Listing,
) -> Result<Arc<List<E>>, BuildError> {
    let entries: Vec<_> =
        items.into_iter().map(new).map(|entry| entry.map(Arc::new)).collect::<Result<_, _>>()?;
    List::new(entries, listing).map(Arc::new)
}
