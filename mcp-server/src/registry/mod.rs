//! `Registry`: the tools, prompts and resources of a server, in the order of registration, frozen when the
//! server is built.

mod check;
mod list;
mod page;

use std::sync::Arc;

use mcp_transport::header::ParamHeaders;
use mcp_types::{
    CacheHint, ClientCapabilities, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, Outcome, ResultMeta,
};
use serde::Serialize;

pub(crate) use list::{Entry, List};

use crate::completion::Completers;
use crate::error::BuildError;
use crate::handler::{ErasedHandler, Needs};
use crate::layer::Next;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::state::States;
use crate::template::{UriTemplate, Variables};
use crate::tool::Tool;

/// A registered tool, ready to be called.
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) headers: ParamHeaders,
    pub(crate) required: ClientCapabilities,
    pub(crate) to_completion: bool,
    pub(crate) layers: Option<Next>,
    pub(crate) answers: Answering,
}

/// What is done with the answers that a client brings back from an earlier round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answering {
    /// They are ignored: the handler never asks.
    #[default]
    Never,
    /// The handler gets them as they are.
    ByHand,
    /// They are matched with what the handler asks.
    #[cfg(feature = "asking")]
    Asks,
}

impl Answering {
    const fn of(needs: &Needs) -> Self {
        #[cfg(feature = "asking")]
        if needs.asks {
            return Self::Asks;
        }
        if needs.answers { Self::ByHand } else { Self::Never }
    }
}

/// A registered prompt.
pub(crate) struct PromptEntry {
    pub(crate) name: String,
    /// The arguments that must be given.
    pub(crate) required: Vec<String>,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) completers: Completers,
    pub(crate) answers: Answering,
}

/// How a resource, or all that fit a template, are read.
pub(crate) struct Reader {
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) mime_type: Option<String>,
    pub(crate) cache: CacheHint,
    pub(crate) answers: Answering,
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    uri: String,
    reader: Arc<Reader>,
}

/// A registered resource template.
pub(crate) struct TemplateEntry {
    template: UriTemplate,
    reader: Arc<Reader>,
    pub(crate) completers: Completers,
}

/// What is registered, before it is checked.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
}

impl Parts {
    /// What each handler needs.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &Needs> {
        let tools = self.tools.iter().map(|tool| &tool.needs);
        let prompts = self.prompts.iter().map(|prompt| &prompt.needs);
        let resources = self.resources.iter().map(|resource| &resource.needs);
        let templates = self.templates.iter().map(|template| &template.needs);
        tools.chain(prompts).chain(resources).chain(templates)
    }
}

/// What every list is encoded with.
pub(crate) struct Listing {
    pub(crate) page_size: usize,
    pub(crate) cache: CacheHint,
    pub(crate) meta: ResultMeta,
}

pub(crate) struct Registry {
    pub(crate) tools: List<ToolEntry>,
    pub(crate) prompts: List<PromptEntry>,
    pub(crate) resources: List<ResourceEntry>,
    pub(crate) templates: List<TemplateEntry>,
}

impl Registry {
    pub(crate) fn build(
        parts: Parts,
        states: &States,
        listing: &Listing,
    ) -> Result<Self, BuildError> {
        if listing.page_size == 0 {
            return Err(BuildError::PageSize);
        }
        Ok(Self {
            tools: tools(parts.tools, states, listing)?,
            prompts: prompts(parts.prompts, states, listing)?,
            resources: resources(parts.resources, states, listing)?,
            templates: templates(parts.templates, states, listing)?,
        })
    }

    /// How the resource `uri` is read: the one of that URI, or else the first template, in the order of
    /// registration, that it fits.
    pub(crate) fn reader(&self, uri: &str) -> Option<(Arc<Reader>, Variables)> {
        if let Some(resource) = self.resources.get(uri) {
            return Some((Arc::clone(&resource.reader), Variables::default()));
        }
        self.templates.iter().find_map(|entry| {
            let variables = entry.template.matches(uri)?;
            Some((Arc::clone(&entry.reader), variables))
        })
    }
}

impl Entry for ToolEntry {
    fn key(&self) -> &str {
        &self.name
    }
}

impl Entry for PromptEntry {
    fn key(&self) -> &str {
        &self.name
    }
}

impl Entry for ResourceEntry {
    fn key(&self) -> &str {
        &self.uri
    }
}

impl Entry for TemplateEntry {
    fn key(&self) -> &str {
        self.template.as_str()
    }
}

fn tools(
    tools: Vec<Tool>,
    states: &States,
    listing: &Listing,
) -> Result<List<ToolEntry>, BuildError> {
    let mut list = List::new("tools", listing.page_size);
    let mut definitions = Vec::with_capacity(tools.len());
    for tool in tools {
        check::name(tool.name())?;
        check::states(tool.name(), &tool.needs, states)?;
        check::schemas(&tool.definition)?;
        #[cfg(feature = "validation")]
        let tool = tool.checked()?;
        let definition = tool.definition;
        let name = definition.name.clone();
        let headers = ParamHeaders::compile(definition.input_schema.get())
            .map_err(|source| BuildError::ParamHeader { tool: name.clone(), source })?;
        let entry = ToolEntry {
            name,
            handler: tool.handler,
            headers,
            required: tool.required,
            to_completion: tool.to_completion,
            layers: tool.layers,
            answers: Answering::of(&tool.needs),
        };
        list.push(entry).map_err(|entry| BuildError::DuplicateName(entry.name))?;
        definitions.push(definition);
    }
    list.encode(&definitions, |page, next| {
        encoded(ListToolsResult {
            meta: listing.meta.clone(),
            tools: page.to_vec(),
            next_cursor: next.map(Into::into),
            ttl_ms: listing.cache.ttl_ms,
            cache_scope: listing.cache.cache_scope,
        })
    });
    Ok(list)
}

fn prompts(
    prompts: Vec<Prompt>,
    states: &States,
    listing: &Listing,
) -> Result<List<PromptEntry>, BuildError> {
    let mut list = List::new("prompts", listing.page_size);
    let mut definitions = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        let definition = prompt.definition;
        let name = definition.name.clone();
        check::name(&name)?;
        check::states(&name, &prompt.needs, states)?;
        let arguments = || definition.arguments.iter().flatten();
        let names = arguments().map(|argument| argument.name.as_str());
        check::completers(&name, &prompt.completers, names)?;
        let required = arguments().filter(|argument| argument.required == Some(true));
        let required = required.map(|argument| argument.name.clone()).collect();
        let completers = prompt.completers;
        let answers = Answering::of(&prompt.needs);
        let entry = PromptEntry { name, required, handler: prompt.handler, completers, answers };
        list.push(entry).map_err(|entry| BuildError::DuplicateName(entry.name))?;
        definitions.push(definition);
    }
    list.encode(&definitions, |page, next| {
        encoded(ListPromptsResult {
            meta: listing.meta.clone(),
            prompts: page.to_vec(),
            next_cursor: next.map(Into::into),
            ttl_ms: listing.cache.ttl_ms,
            cache_scope: listing.cache.cache_scope,
        })
    });
    Ok(list)
}

fn resources(
    resources: Vec<Resource>,
    states: &States,
    listing: &Listing,
) -> Result<List<ResourceEntry>, BuildError> {
    let mut list = List::new("resources", listing.page_size);
    let mut definitions = Vec::with_capacity(resources.len());
    for resource in resources {
        let definition = resource.definition;
        let uri = definition.uri.clone();
        check::uri(&uri)?;
        check::states(&uri, &resource.needs, states)?;
        check::variables(&uri, &resource.variables, std::iter::empty())?;
        let reader = Arc::new(Reader {
            handler: resource.handler,
            mime_type: definition.mime_type.clone(),
            cache: resource.cache,
            answers: Answering::of(&resource.needs),
        });
        list.push(ResourceEntry { uri, reader })
            .map_err(|entry| BuildError::DuplicateName(entry.uri))?;
        definitions.push(definition);
    }
    list.encode(&definitions, |page, next| {
        encoded(ListResourcesResult {
            meta: listing.meta.clone(),
            resources: page.to_vec(),
            next_cursor: next.map(Into::into),
            ttl_ms: listing.cache.ttl_ms,
            cache_scope: listing.cache.cache_scope,
        })
    });
    Ok(list)
}

fn templates(
    templates: Vec<ResourceTemplate>,
    states: &States,
    listing: &Listing,
) -> Result<List<TemplateEntry>, BuildError> {
    let mut list = List::new("templates", listing.page_size);
    let mut definitions = Vec::with_capacity(templates.len());
    for resource in templates {
        let definition = resource.definition;
        let text = definition.uri_template.clone();
        let template = UriTemplate::parse(&text)
            .map_err(|source| BuildError::Template { template: text.clone(), source })?;
        check::states(&text, &resource.needs, states)?;
        check::variables(&text, &resource.variables, template.variables())?;
        check::completers(&text, &resource.completers, template.variables())?;
        let reader = Arc::new(Reader {
            handler: resource.handler,
            mime_type: definition.mime_type.clone(),
            cache: resource.cache,
            answers: Answering::of(&resource.needs),
        });
        let completers = resource.completers;
        if list.push(TemplateEntry { template, reader, completers }).is_err() {
            return Err(BuildError::DuplicateName(text));
        }
        definitions.push(definition);
    }
    list.encode(&definitions, |page, next| {
        encoded(ListResourceTemplatesResult {
            meta: listing.meta.clone(),
            resource_templates: page.to_vec(),
            next_cursor: next.map(Into::into),
            ttl_ms: listing.cache.ttl_ms,
            cache_scope: listing.cache.cache_scope,
        })
    });
    Ok(list)
}

fn encoded<T: Serialize>(result: T) -> String {
    // Definitions hold JSON and strings, which always encode.
    serde_json::to_string(&Outcome::Complete(result)).unwrap_or_default()
}
