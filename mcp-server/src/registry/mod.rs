//! `Registry`: the tools, prompts and resources of a server, in the order of registration.
//!
//! `Registry → Snapshot → Live`. What is registered is checked and frozen into a snapshot, with every definition
//! encoded; each request sees one snapshot to its end, and an [`Edit`] puts another in its place.

mod check;
mod edit;
mod entry;
mod list;
mod live;
mod page;
mod snapshot;
mod visible;

use std::fmt;
use std::sync::Arc;

pub use edit::Edit;
pub(crate) use entry::{Answering, PromptEntry, Reader, ToolEntry};
pub(crate) use list::{Entry, List};
pub(crate) use live::Live;
pub(crate) use page::Listing;
pub(crate) use snapshot::Snapshot;
pub use visible::Item;
pub(crate) use visible::{Sight, Visibility};

#[cfg(feature = "auth")]
use crate::auth::Required;
use crate::handler::Needs;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::state::States;
use crate::tool::Tool;

/// Tools, prompts and resources that belong together, with the values that their handlers share: what a server is
/// composed of.
///
/// A library offers one, and servers [merge](crate::ServerBuilder::merge) it or
/// [mount](crate::ServerBuilder::mount) it under a prefix. Its handlers get the shared values that were given
/// here, and the server's for what is missing here, so that two registries may share values of one type with
/// themselves and not with each other. Nothing is checked before a server is built.
///
/// ```
/// use mcp_server::{Registry, Server, Tool};
///
/// fn git() -> Registry {
///     Registry::new().tool(Tool::new("log", async || "..."))
/// }
///
/// # fn example() -> Result<(), mcp_server::BuildError> {
/// let server = Server::builder("workbench", "1.0.0")
///     .tool(Tool::new("log", async || "the workbench's own"))
///     .mount("git_", git())
///     .build()?;
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[derive(Default)]
pub struct Registry {
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) states: States,
    /// The protection that something of this had in the server that it was taken from, and has lost.
    pub(crate) unprotected: Option<&'static str>,
}

impl Registry {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, listed after those added before.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a prompt, listed after those added before.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource, listed after those added before.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a resource template, listed and matched after those added before.
    #[must_use]
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// Gives the handlers of this registry a shared value; they take it as an argument `Arc<T>`. A second value of
    /// the same type replaces the first.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.states.insert(value);
        self
    }

    /// Adds everything of `other` behind what is here. Its handlers keep the values that they share; what both
    /// have is an error when the server is built.
    #[must_use]
    pub fn merge(self, other: impl Into<Self>) -> Self {
        self.mount("", other)
    }

    /// Adds everything of `other` behind what is here, with `prefix` before the names of its tools and prompts, as it is:
    /// `"git_"` makes `git_log` of `log`. Resources keep their URIs, by which they refer to each other.
    #[must_use]
    pub fn mount(mut self, prefix: &str, other: impl Into<Self>) -> Self {
        let mut other = other.into();
        self.unprotected = self.unprotected.or(other.unprotected);
        let shared = std::mem::take(&mut other.states);
        let shared = (!shared.is_empty()).then(|| Arc::new(shared));
        for mut tool in other.tools {
            tool.definition.name.insert_str(0, prefix);
            States::share(&mut tool.states, shared.as_ref());
            self.tools.push(tool);
        }
        for mut prompt in other.prompts {
            prompt.definition.name.insert_str(0, prefix);
            States::share(&mut prompt.states, shared.as_ref());
            self.prompts.push(prompt);
        }
        for mut resource in other.resources {
            States::share(&mut resource.states, shared.as_ref());
            self.resources.push(resource);
        }
        for mut template in other.templates {
            States::share(&mut template.states, shared.as_ref());
            self.templates.push(template);
        }
        self
    }

    /// What each handler needs.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &Needs> {
        let tools = self.tools.iter().map(|tool| &tool.needs);
        let prompts = self.prompts.iter().map(|prompt| &prompt.needs);
        let resources = self.resources.iter().map(|resource| &resource.needs);
        let templates = self.templates.iter().map(|template| &template.needs);
        tools.chain(prompts).chain(resources).chain(templates)
    }

    /// The scopes that each of them requires, with its name.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> impl Iterator<Item = (&str, &Required)> {
        let tools = self.tools.iter().map(|tool| (tool.name(), &tool.scopes));
        let prompts = self.prompts.iter().map(|it| (it.definition.name.as_str(), &it.scopes));
        let resources = self.resources.iter().map(|it| (it.definition.uri.as_str(), &it.scopes));
        let templates =
            self.templates.iter().map(|it| (it.definition.uri_template.as_str(), &it.scopes));
        tools.chain(prompts).chain(resources).chain(templates)
    }

    /// Whether anything has a completer.
    pub(crate) fn completes(&self) -> bool {
        let prompts = self.prompts.iter().map(|prompt| &prompt.completers);
        let templates = self.templates.iter().map(|template| &template.completers);
        prompts.chain(templates).any(|completers| !completers.is_empty())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("tools", &self.tools)
            .field("prompts", &self.prompts)
            .field("resources", &self.resources)
            .field("resource_templates", &self.templates)
            .finish_non_exhaustive()
    }
}
