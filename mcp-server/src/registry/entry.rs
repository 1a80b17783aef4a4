//! What is registered, ready to be used: the entries of the lists.

use std::sync::Arc;

use mcp_transport::header::ParamHeaders;
use mcp_types::{CacheHint, ClientCapabilities, RawJson};
use serde::Serialize;

use super::list::Entry;
use super::{Item, check};
#[cfg(feature = "auth")]
use crate::auth::Required;
use crate::completion::Completers;
use crate::error::BuildError;
use crate::handler::{ErasedHandler, Needs};
use crate::layer::Next;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::state::States;
use crate::template::UriTemplate;
use crate::tool::Tool;

/// A registered tool, ready to be called.
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    definition: mcp_types::Tool,
    json: RawJson,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) headers: ParamHeaders,
    pub(crate) required: ClientCapabilities,
    pub(crate) to_completion: bool,
    pub(crate) layers: Option<Next>,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
    pub(crate) answers: Answering,
    pub(crate) states: Arc<States>,
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

/// A registered prompt.
pub(crate) struct PromptEntry {
    pub(crate) name: String,
    definition: mcp_types::Prompt,
    json: RawJson,
    /// The arguments that must be given.
    pub(crate) required: Vec<String>,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) completers: Completers,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
    pub(crate) answers: Answering,
    pub(crate) states: Arc<States>,
}

/// How a resource, or all that fit a template, are read.
pub(crate) struct Reader {
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) mime_type: Option<String>,
    pub(crate) cache: CacheHint,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
    pub(crate) answers: Answering,
    pub(crate) states: Arc<States>,
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    definition: mcp_types::Resource,
    json: RawJson,
    pub(super) reader: Arc<Reader>,
}

/// A registered resource template.
pub(crate) struct TemplateEntry {
    definition: mcp_types::ResourceTemplate,
    json: RawJson,
    pub(super) template: UriTemplate,
    pub(super) reader: Arc<Reader>,
    pub(crate) completers: Completers,
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

impl ToolEntry {
    /// Checks a tool and makes it ready; `states` are those that the server shares.
    pub(super) fn new(tool: Tool, states: &Arc<States>) -> Result<Self, BuildError> {
        check::name(tool.name())?;
        let states = States::within(tool.states.as_ref(), states);
        check::needs(tool.name(), &tool.needs, &states)?;
        check::schemas(&tool.definition)?;
        #[cfg(feature = "validation")]
        let tool = tool.checked()?;
        let definition = tool.definition;
        let name = definition.name.clone();
        let headers = ParamHeaders::compile(definition.input_schema.get())
            .map_err(|source| BuildError::ParamHeader { tool: name.clone(), source })?;
        Ok(Self {
            name,
            json: encoded(&definition),
            definition,
            handler: tool.handler,
            headers,
            required: tool.required,
            to_completion: tool.to_completion,
            layers: tool.layers,
            #[cfg(feature = "auth")]
            scopes: tool.scopes,
            answers: Answering::of(&tool.needs),
            states,
        })
    }
}

impl PromptEntry {
    /// Checks a prompt and makes it ready.
    pub(super) fn new(prompt: Prompt, states: &Arc<States>) -> Result<Self, BuildError> {
        let definition = prompt.definition;
        let name = definition.name.clone();
        check::name(&name)?;
        let states = States::within(prompt.states.as_ref(), states);
        check::needs(&name, &prompt.needs, &states)?;
        let arguments = || definition.arguments.iter().flatten();
        let names = arguments().map(|argument| argument.name.as_str());
        check::completers(&name, &prompt.completers, names)?;
        let required = arguments().filter(|argument| argument.required == Some(true));
        Ok(Self {
            name,
            required: required.map(|argument| argument.name.clone()).collect(),
            json: encoded(&definition),
            definition,
            handler: prompt.handler,
            completers: prompt.completers,
            #[cfg(feature = "auth")]
            scopes: prompt.scopes,
            answers: Answering::of(&prompt.needs),
            states,
        })
    }
}

impl ResourceEntry {
    /// Checks a resource and makes it ready.
    pub(super) fn new(resource: Resource, states: &Arc<States>) -> Result<Self, BuildError> {
        let definition = resource.definition;
        let uri = &definition.uri;
        check::uri(uri)?;
        let states = States::within(resource.states.as_ref(), states);
        check::needs(uri, &resource.needs, &states)?;
        check::variables(uri, &resource.variables, std::iter::empty())?;
        let reader = Arc::new(Reader {
            handler: resource.handler,
            mime_type: definition.mime_type.clone(),
            cache: resource.cache,
            #[cfg(feature = "auth")]
            scopes: resource.scopes,
            answers: Answering::of(&resource.needs),
            states,
        });
        Ok(Self { json: encoded(&definition), definition, reader })
    }
}

impl TemplateEntry {
    /// Checks a resource template and makes it ready.
    pub(super) fn new(
        resource: ResourceTemplate,
        states: &Arc<States>,
    ) -> Result<Self, BuildError> {
        let definition = resource.definition;
        let text = &definition.uri_template;
        let template = UriTemplate::parse(text)
            .map_err(|source| BuildError::Template { template: text.clone(), source })?;
        let states = States::within(resource.states.as_ref(), states);
        check::needs(text, &resource.needs, &states)?;
        check::variables(text, &resource.variables, template.variables())?;
        check::completers(text, &resource.completers, template.variables())?;
        let reader = Arc::new(Reader {
            handler: resource.handler,
            mime_type: definition.mime_type.clone(),
            cache: resource.cache,
            #[cfg(feature = "auth")]
            scopes: resource.scopes,
            answers: Answering::of(&resource.needs),
            states,
        });
        let (json, completers) = (encoded(&definition), resource.completers);
        Ok(Self { definition, json, template, reader, completers })
    }
}

fn encoded<T: Serialize>(definition: &T) -> RawJson {
    // Holds JSON and strings, which always encode.
    RawJson::new(definition).unwrap_or_else(|_| serde_json::Value::Null.into())
}

/// Entries of a list by the name of its member, what they are found by, and what a visibility filter sees.
macro_rules! entries {
    ($($entry:ident: $member:literal by $key:ident, $item:ident;)*) => {$(
        impl Entry for $entry {
            const MEMBER: &'static str = $member;

            fn key(&self) -> &str {
                &self.definition.$key
            }

            fn json(&self) -> &RawJson {
                &self.json
            }

            fn item(&self) -> Item<'_> {
                Item::$item(&self.definition)
            }
        }
    )*};
}

entries! {
    ToolEntry: "tools" by name, Tool;
    PromptEntry: "prompts" by name, Prompt;
    ResourceEntry: "resources" by uri, Resource;
    TemplateEntry: "resourceTemplates" by uri_template, ResourceTemplate;
}
