//! `Edit`: changes to what a server offers while it serves.

use std::fmt;
use std::sync::Arc;

use super::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use super::list::Change;
use super::{Entry, List, Listing, Snapshot};
use crate::error::BuildError;
use crate::handler::Needs;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::server::{Server, Serves};
use crate::state::States;
use crate::subscription::Notify;
use crate::tool::Tool;

impl Server {
    /// Begins an edit of what the server offers. A handler does so through a `Server` that it takes as an argument: one
    /// that it captured would keep the server alive for as long as the server keeps the handler, which is for ever.
    ///
    /// ```
    /// use mcp_server::{Announces, BuildError, Server, Tool};
    ///
    /// async fn install(server: Server) -> Result<&'static str, BuildError> {
    ///     server.edit().add_tool(Tool::new("weather", async || "rain")).apply()?;
    ///     Ok("installed")
    /// }
    ///
    /// # fn example() -> Result<(), BuildError> {
    /// let server = Server::builder("plugins", "1.0.0")
    ///     .tool(Tool::new("install", install))
    ///     .announces(Announces::new().tools())
    ///     .build()?;
    ///
    /// server.edit().remove_tool("install").apply()?;
    /// # Ok(())
    /// # }
    /// # example().unwrap();
    /// ```
    pub fn edit(&self) -> Edit {
        Edit { server: self.clone(), changes: Changes::default(), fault: None }
    }
}

/// Changes to a server's tools, prompts and resources, in their order. [`Server::edit`] begins one, and nothing
/// happens before [`apply`](Self::apply).
///
/// Adding goes to the end of the list, replacing leaves a thing in its place. What a server declares stays as it was
/// built: a list that was neither there nor [announced](crate::ServerBuilder::announces) then cannot get its first
/// entry, since clients have been told that there is none.
#[must_use = "nothing changes until it is applied"]
pub struct Edit {
    server: Server,
    changes: Changes,
    /// The first change that cannot be made.
    fault: Option<BuildError>,
}

impl Edit {
    /// Adds a tool; it is an error if there is one of its name.
    pub fn add_tool(self, tool: Tool) -> Self {
        let entry = self.tool(tool);
        self.put(entry, |changes| &mut changes.tools, Change::Add)
    }

    /// Puts a tool in the place of the one of its name, which must be there.
    pub fn replace_tool(self, tool: Tool) -> Self {
        let entry = self.tool(tool);
        self.put(entry, |changes| &mut changes.tools, Change::Replace)
    }

    /// Removes the tool of this name, which must be there.
    pub fn remove_tool(mut self, name: impl Into<String>) -> Self {
        self.changes.tools.push(Change::Remove(name.into()));
        self
    }

    /// Adds a prompt; it is an error if there is one of its name.
    pub fn add_prompt(self, prompt: Prompt) -> Self {
        let entry = self.prompt(prompt);
        self.put(entry, |changes| &mut changes.prompts, Change::Add)
    }

    /// Puts a prompt in the place of the one of its name, which must be there.
    pub fn replace_prompt(self, prompt: Prompt) -> Self {
        let entry = self.prompt(prompt);
        self.put(entry, |changes| &mut changes.prompts, Change::Replace)
    }

    /// Removes the prompt of this name, which must be there.
    pub fn remove_prompt(mut self, name: impl Into<String>) -> Self {
        self.changes.prompts.push(Change::Remove(name.into()));
        self
    }

    /// Adds a resource; it is an error if there is one of its URI.
    pub fn add_resource(self, resource: Resource) -> Self {
        let entry = self.resource(resource);
        self.put(entry, |changes| &mut changes.resources, Change::Add)
    }

    /// Puts a resource in the place of the one of its URI, which must be there.
    pub fn replace_resource(self, resource: Resource) -> Self {
        let entry = self.resource(resource);
        self.put(entry, |changes| &mut changes.resources, Change::Replace)
    }

    /// Removes the resource of this URI, which must be there.
    pub fn remove_resource(mut self, uri: impl Into<String>) -> Self {
        self.changes.resources.push(Change::Remove(uri.into()));
        self
    }

    /// Adds a resource template; it is an error if there is the same already.
    pub fn add_resource_template(self, template: ResourceTemplate) -> Self {
        let entry = self.template(template);
        self.put(entry, |changes| &mut changes.templates, Change::Add)
    }

    /// Puts a resource template in the place of the one of the same text, which must be there.
    pub fn replace_resource_template(self, template: ResourceTemplate) -> Self {
        let entry = self.template(template);
        self.put(entry, |changes| &mut changes.templates, Change::Replace)
    }

    /// Removes the resource template of this text, which must be there.
    pub fn remove_resource_template(mut self, template: impl Into<String>) -> Self {
        self.changes.templates.push(Change::Remove(template.into()));
        self
    }

    /// Makes all changes at once, for every request that comes from now on, or none.
    ///
    /// Requests under way see to their end what there was when they began, and cursors stay good. Clients that
    /// listen are told of every list that has changed, if the server [announces](crate::ServerBuilder::announces)
    /// changes to it, and of every resource that is another now, was removed, or has come. What is read through a
    /// template that has changed is for [`Notify`](crate::Notify) to tell.
    ///
    /// The time it takes grows with the length of the lists that it changes: make many changes with one edit.
    ///
    /// # Errors
    /// [`BuildError`] names a change that cannot be made.
    pub fn apply(self) -> Result<(), BuildError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let (touched, last) = self.server.shared.registry.apply(&self.changes)?;
        touched.tell(&self.server.notify());
        // Whatever goes with it may edit in its turn, or panic.
        drop(last);
        Ok(())
    }

    fn tool(&self, tool: Tool) -> Result<ToolEntry, BuildError> {
        self.may_have(self.serves().tools, "tools", &tool.needs)?;
        #[cfg(feature = "auth")]
        tool.scopes.check(tool.name(), self.server.shared.auth.is_some())?;
        ToolEntry::new(tool, self.states())
    }

    fn prompt(&self, prompt: Prompt) -> Result<PromptEntry, BuildError> {
        self.may_have(self.serves().prompts, "prompts", &prompt.needs)?;
        let completes = prompt.completers.is_empty() || self.serves().completions;
        self.may_have(completes, "completions", &prompt.needs)?;
        #[cfg(feature = "auth")]
        prompt.scopes.check(&prompt.definition.name, self.server.shared.auth.is_some())?;
        PromptEntry::new(prompt, self.states())
    }

    fn resource(&self, resource: Resource) -> Result<ResourceEntry, BuildError> {
        self.may_have(self.serves().resources, "resources", &resource.needs)?;
        #[cfg(feature = "auth")]
        resource.scopes.check(&resource.definition.uri, self.server.shared.auth.is_some())?;
        ResourceEntry::new(resource, self.states())
    }

    fn template(&self, template: ResourceTemplate) -> Result<TemplateEntry, BuildError> {
        self.may_have(self.serves().resources, "resources", &template.needs)?;
        let completes = template.completers.is_empty() || self.serves().completions;
        self.may_have(completes, "completions", &template.needs)?;
        #[cfg(feature = "auth")]
        template
            .scopes
            .check(&template.definition.uri_template, self.server.shared.auth.is_some())?;
        TemplateEntry::new(template, self.states())
    }

    /// Whether clients know of the `capability`, and whether the handler can have what it needs.
    fn may_have(
        &self,
        declared: bool,
        capability: &'static str,
        needs: &Needs,
    ) -> Result<(), BuildError> {
        if !declared {
            return Err(BuildError::NotDeclared(capability));
        }
        #[cfg(feature = "asking")]
        if needs.asks {
            self.server.shared.sealer()?;
        }
        #[cfg(not(feature = "asking"))]
        let _ = needs;
        Ok(())
    }

    fn serves(&self) -> &Serves {
        &self.server.shared.serves
    }

    fn states(&self) -> &Arc<States> {
        &self.server.shared.registry.states
    }

    fn put<E>(
        mut self,
        entry: Result<E, BuildError>,
        list: impl FnOnce(&mut Changes) -> &mut Vec<Change<E>>,
        change: impl FnOnce(Arc<E>) -> Change<E>,
    ) -> Self {
        match entry {
            Ok(entry) => list(&mut self.changes).push(change(Arc::new(entry))),
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
        }
        self
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What is to become of the lists.
#[derive(Default)]
pub(super) struct Changes {
    tools: Vec<Change<ToolEntry>>,
    prompts: Vec<Change<PromptEntry>>,
    resources: Vec<Change<ResourceEntry>>,
    templates: Vec<Change<TemplateEntry>>,
}

impl Changes {
    /// Makes them to `snapshot`, which is worth nothing after an error.
    pub(super) fn apply(&self, snapshot: &mut Snapshot) -> Result<Touched, BuildError> {
        let touched = Touched {
            tools: !self.tools.is_empty(),
            prompts: !self.prompts.is_empty(),
            resources: !self.resources.is_empty() || !self.templates.is_empty(),
            updated: self.resources.iter().map(|change| change.key().to_owned()).collect(),
        };
        let listing = &snapshot.listing;
        change(&mut snapshot.tools, &self.tools, listing)?;
        change(&mut snapshot.prompts, &self.prompts, listing)?;
        change(&mut snapshot.resources, &self.resources, listing)?;
        change(&mut snapshot.templates, &self.templates, listing)?;
        Ok(touched)
    }
}

fn change<E: Entry>(
    list: &mut Arc<List<E>>,
    changes: &[Change<E>],
    listing: &Listing,
) -> Result<(), BuildError> {
    if !changes.is_empty() {
        *list = Arc::new(list.changed(changes, listing)?);
    }
    Ok(())
}

/// What has changed.
pub(super) struct Touched {
    tools: bool,
    prompts: bool,
    resources: bool,
    /// The resources that have to be read again by those who care for them.
    updated: Vec<String>,
}

impl Touched {
    /// Tells those who listen, of what the server announces.
    fn tell(self, notify: &Notify) {
        let announces = notify.announces();
        if self.tools && announces.tools {
            notify.tools_changed();
        }
        if self.prompts && announces.prompts {
            notify.prompts_changed();
        }
        if self.resources && announces.resources {
            notify.resources_changed();
        }
        for uri in self.updated.into_iter().filter(|_| announces.resource_updates) {
            notify.resource_updated(uri);
        }
    }
}
