//! `ServerBuilder`: what a server is made of.

mod build;
mod reach;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_types::{CacheHint, CacheScope, Icon, Implementation, JsonMap, MetaKey, RawJson};
use serde::Serialize;

use reach::Reach;

#[cfg(feature = "asking")]
use crate::ask::{KeyRing, SpentStates};
use crate::caller::RequestParts;
use crate::detached::Abandoned;
use crate::limits::Limits;
use crate::method::Method;
use crate::prompt::Prompt;
use crate::registry::{Item, Registry, Visibility};
use crate::reply::ResponseMode;
use crate::resource::{Resource, ResourceTemplate};
use crate::server::Hooks;
use crate::subscription::{Announces, Bus, LocalBus};
use crate::tool::Tool;

/// Builds a [`Server`](crate::Server). What is not set has the default that its setter names.
pub struct ServerBuilder {
    implementation: Implementation,
    identify: bool,
    instructions: Option<String>,
    registry: Registry,
    methods: Vec<Method>,
    visibility: Option<Visibility>,
    declares_logging: bool,
    declares_completions: bool,
    extensions: JsonMap,
    invalid_extension: Option<String>,
    page_size: usize,
    list_cache: CacheHint,
    discover_cache: CacheHint,
    reach: Reach,
    #[cfg(feature = "auth")]
    pub(crate) auth: Option<crate::auth::ResourceServer>,
    limits: Limits,
    mode: ResponseMode,
    keep_alive: Duration,
    pub(crate) hooks: Hooks,
    announces: Announces,
    bus: Arc<dyn Bus>,
    #[cfg(feature = "asking")]
    state_keys: Option<KeyRing>,
    #[cfg(feature = "asking")]
    spent_states: Option<Arc<dyn SpentStates>>,
}

impl ServerBuilder {
    /// One comment every 15 s keeps a quiet stream open behind proxies, which commonly wait for 30 s or more.
    pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
    /// Entries a page: a list that fits a page spares clients a round trip, and 100 definitions are some
    /// tens of KiB.
    pub const PAGE_SIZE: usize = 100;

    pub(crate) fn new(implementation: Implementation) -> Self {
        let private = CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private };
        Self {
            implementation,
            identify: true,
            instructions: None,
            registry: Registry::new(),
            methods: Vec::new(),
            visibility: None,
            declares_logging: false,
            declares_completions: false,
            extensions: JsonMap::new(),
            invalid_extension: None,
            page_size: Self::PAGE_SIZE,
            list_cache: private,
            discover_cache: private,
            reach: Reach::default(),
            #[cfg(feature = "auth")]
            auth: None,
            limits: Limits::default(),
            mode: ResponseMode::default(),
            keep_alive: Self::KEEP_ALIVE,
            hooks: Hooks::default(),
            announces: Announces::new(),
            bus: Arc::new(LocalBus::new()),
            #[cfg(feature = "asking")]
            state_keys: None,
            #[cfg(feature = "asking")]
            spent_states: None,
        }
    }

    /// A name of the server for people to read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.implementation.title = Some(title.into());
        self
    }

    /// What the server is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.implementation.description = Some(description.into());
        self
    }

    /// Where to read more about the server.
    #[must_use]
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.implementation.website_url = Some(url.into());
        self
    }

    /// Adds an icon of the server. Icons are shown by `server/discover` only, not in every result.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.implementation.icons.get_or_insert_default().push(icon);
        self
    }

    /// Leaves the server's identity out of its results. Default is to name it in every result, as the
    /// specification asks for.
    #[must_use]
    pub const fn anonymous(mut self) -> Self {
        self.identify = false;
        self
    }

    /// What a model should know to use the server well. Default is nothing.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool, listed after those added before.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.registry.tools.push(tool);
        self
    }

    /// Adds tools in their order.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.registry.tools.extend(tools);
        self
    }

    /// Adds a prompt, listed after those added before.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.registry.prompts.push(prompt);
        self
    }

    /// Adds prompts in their order.
    #[must_use]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.registry.prompts.extend(prompts);
        self
    }

    /// Adds a resource, listed after those added before.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.registry.resources.push(resource);
        self
    }

    /// Adds resources in their order.
    #[must_use]
    pub fn resources(mut self, resources: impl IntoIterator<Item = Resource>) -> Self {
        self.registry.resources.extend(resources);
        self
    }

    /// Adds a resource template, listed and matched after those added before.
    #[must_use]
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.registry.templates.push(template);
        self
    }

    /// Adds a method that the specification does not have. Unlike tools they are not listed: who calls one knows it
    /// from its extension, or otherwise.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }

    /// Adds methods.
    #[must_use]
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods.extend(methods);
        self
    }

    /// Gives handlers a shared value; they take it as an argument `Arc<T>`. A second value of the same type
    /// replaces the first.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.registry.states.insert(value);
        self
    }

    /// Adds everything of `registry` behind what is there, as [`Registry::merge`] does.
    #[must_use]
    pub fn merge(mut self, registry: impl Into<Registry>) -> Self {
        self.registry = self.registry.merge(registry);
        self
    }

    /// Adds everything of `registry` behind what is there, with `prefix` before the names of its tools and prompts, as
    /// [`Registry::mount`] does.
    #[must_use]
    pub fn mount(mut self, prefix: &str, registry: impl Into<Registry>) -> Self {
        self.registry = self.registry.mount(prefix, registry);
        self
    }

    /// Shows to each caller only what `filter` lets through: in lists and in everything else alike, so that what
    /// is hidden cannot be told from what is not there. Default is everything to everybody.
    ///
    /// The filter is asked about the definition of a thing and what is known of the request: the
    /// [caller](RequestParts::caller), the headers, the extensions that layers put there. It is asked often, for
    /// every entry of a list, and must not block. One that panics hides. A resource that fits a hidden template is
    /// hidden, unless it is registered itself. Of resources that are hidden nobody is notified; who is granted
    /// a subscription keeps it. That a list has changed is told to all who listen for that list.
    ///
    /// Lists are then made for each request, and may not be [cached](Self::list_cache) publicly. Nor is what is
    /// read: whatever a resource says of caches, it is private.
    ///
    /// ```
    /// use mcp_server::{Caller, Item, Server};
    ///
    /// let builder = Server::builder("files", "1.0.0").visible(|item, request| match item {
    ///     Item::Tool(tool) if tool.name.starts_with("admin_") => {
    ///         request.caller.as_ref().is_some_and(|caller| caller.principal() == "root")
    ///     }
    ///     _ => true,
    /// });
    /// ```
    #[must_use]
    pub fn visible(
        mut self,
        filter: impl Fn(Item<'_>, &RequestParts) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visibility = Some(Visibility::new(filter));
        self
    }

    /// Declares logging, for tools that are [added later](crate::Server::edit). It is declared anyway where a handler can log.
    #[must_use]
    pub const fn logging(mut self) -> Self {
        self.declares_logging = true;
        self
    }

    /// Declares completions, for prompts and templates that are [added later](crate::Server::edit). They are declared anyway where
    /// something has a completer.
    #[must_use]
    pub const fn completions(mut self) -> Self {
        self.declares_completions = true;
        self
    }

    /// Declares an extension with its settings, which must be an object. A wrong identifier is an error when
    /// the server is built. Handlers ask [`Context::extension`](crate::Context::extension) whether the client
    /// declares it too; the methods of one declare it by themselves. Specification: Versioning, Extension Negotiation.
    #[must_use]
    pub fn extension<T: Serialize + ?Sized>(mut self, id: &str, settings: &T) -> Self {
        let prefixed = MetaKey::new(id).is_ok_and(|key| key.prefix().is_some());
        match RawJson::new(settings) {
            Ok(settings) if prefixed && settings.is_object() => {
                self.extensions.insert(id, settings);
            }
            _ => self.invalid_extension = Some(id.to_owned()),
        }
        self
    }

    /// How many entries a page of a list has. Default is [`PAGE_SIZE`](Self::PAGE_SIZE).
    #[must_use]
    pub const fn page_size(mut self, entries: usize) -> Self {
        self.page_size = entries;
        self
    }

    /// How long clients may take the lists for fresh, and whether caches may share it among callers.
    /// Default is no time, and private. Specification: Caching.
    #[must_use]
    pub fn list_cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.list_cache = CacheHint { ttl_ms: millis(ttl), cache_scope: scope };
        self
    }

    /// The same for the answer of `server/discover`.
    #[must_use]
    pub fn discover_cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.discover_cache = CacheHint { ttl_ms: millis(ttl), cache_scope: scope };
        self
    }

    /// The ceilings. Default is [`Limits::default`].
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// When a reply is a stream. Default is [`ResponseMode::Auto`].
    #[must_use]
    pub const fn response_mode(mut self, mode: ResponseMode) -> Self {
        self.mode = mode;
        self
    }

    /// How long a stream may be silent before a comment keeps it open; in [`ResponseMode::Auto`] also how long
    /// a handler may be silent before its reply becomes a stream. Zero disables both. Default is
    /// [`KEEP_ALIVE`](Self::KEEP_ALIVE).
    #[must_use]
    pub const fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// The keys that seal what handlers that [ask](crate::ask) keep between rounds. All instances of a server
    /// need the same. Default is a random key, with a warning: then a restart makes every dialogue under way fail.
    #[cfg(feature = "asking")]
    #[must_use]
    pub fn state_keys(mut self, keys: KeyRing) -> Self {
        self.state_keys = Some(keys);
        self
    }

    /// Honours no state of handlers that [ask](crate::ask) twice: `store` remembers which were used. Default is that a
    /// state can be used until it expires.
    ///
    /// A state is taken before the handler runs. One that was used before is answered like one that does not open, with
    /// -32602; a store that fails, with -32603. Every round then has a state, and answers without one are not heeded
    /// but asked for again, so that no answer counts twice either. States that a handler makes
    /// [by hand](crate::Answers) are its own to count.
    ///
    /// So a client that loses a response after its state was taken cannot ask for that round again: it begins anew,
    /// without a state, and is asked everything again. What a handler did in the lost round has been done; a tool that
    /// must be able to tell keeps a record under a key of its own. Specification: Multi Round-Trip Requests,
    /// Server Requirements.
    #[cfg(feature = "asking")]
    #[must_use]
    pub fn single_use_states(mut self, store: Arc<dyn SpentStates>) -> Self {
        self.spent_states = Some(store);
        self
    }

    /// Gets what a tool that [runs to completion](Tool::run_to_completion) came to when nobody waited for it
    /// any more. Default is a line in the log.
    #[must_use]
    pub fn on_abandoned(mut self, hook: impl Fn(Abandoned) + Send + Sync + 'static) -> Self {
        self.hooks.on_abandoned = Some(Box::new(hook));
        self
    }

    /// Which changes clients can listen for. Default is none. Specification: Subscriptions.
    #[must_use]
    pub const fn announces(mut self, announces: Announces) -> Self {
        self.announces = announces;
        self
    }

    /// The bus that carries changes, for several instances that serve the same. Default is a
    /// [`LocalBus`] of the server's own.
    #[must_use]
    pub fn bus(mut self, bus: Arc<dyn Bus>) -> Self {
        self.bus = bus;
        self
    }
}

impl From<ServerBuilder> for Registry {
    /// What a server would offer, to be mounted into another; custom methods, and how it would be served, are left
    /// behind. Protection must not be: with a [visibility](ServerBuilder::visible) filter, [layers](ServerBuilder::layer),
    /// [single-use states](ServerBuilder::single_use_states) or authorization in it, the server around it is not built. Layers of single
    /// tools come along.
    fn from(builder: ServerBuilder) -> Self {
        let ServerBuilder { mut registry, visibility, .. } = builder;
        if builder.hooks.layers.is_some() {
            registry.unprotected = Some("layers");
        }
        if visibility.is_some() {
            registry.unprotected = Some("a visibility filter");
        }
        #[cfg(feature = "asking")]
        if builder.spent_states.is_some() {
            registry.unprotected = Some("single-use states");
        }
        #[cfg(feature = "auth")]
        if builder.auth.is_some() {
            registry.unprotected = Some("authorization");
        }
        registry
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("name", &self.implementation.name)
            .finish_non_exhaustive()
    }
}
