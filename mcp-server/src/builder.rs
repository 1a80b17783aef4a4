//! `ServerBuilder`: what a server is made of, checked and frozen.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_transport::host::{HostPolicy, OriginPolicy};
use mcp_types::{
    CacheHint, CacheScope, DiscoverResult, Icon, Implementation, JsonMap, ListChangedCapability,
    MetaKey, Outcome, RawJson, ResourcesCapability, ResultMeta, ServerCapabilities,
};
use serde::Serialize;

#[cfg(feature = "asking")]
use crate::ask::{KeyRing, Sealer};
use crate::detached::Abandoned;
use crate::error::BuildError;
use crate::ladder::head::HeadPolicy;
use crate::limits::{FOR_EVER, Limits};
use crate::permit::Gate;
use crate::prompt::Prompt;
use crate::registry::{Listing, Parts, Registry};
use crate::rejection::SUPPORTED;
use crate::reply::ResponseMode;
use crate::resource::{Resource, ResourceTemplate};
use crate::server::{Hooks, Identity, Server, Serves, Shared};
use crate::state::States;
use crate::subscription::{Announces, Bus, LocalBus, Subscriptions};
use crate::tool::Tool;

/// Builds a [`Server`]. What is not set has the default that its setter names.
pub struct ServerBuilder {
    implementation: Implementation,
    identify: bool,
    instructions: Option<String>,
    parts: Parts,
    states: States,
    extensions: JsonMap,
    invalid_extension: Option<String>,
    page_size: usize,
    list_cache: CacheHint,
    discover_cache: CacheHint,
    hosts: Hosts,
    origins: Hosts,
    path: String,
    limits: Limits,
    mode: ResponseMode,
    keep_alive: Duration,
    pub(crate) hooks: Hooks,
    announces: Announces,
    bus: Arc<dyn Bus>,
    #[cfg(feature = "asking")]
    state_keys: Option<KeyRing>,
}

/// Which hosts, or which origins, are let in.
enum Hosts {
    Loopback,
    Listed(Vec<String>),
    Any,
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
            parts: Parts::default(),
            states: States::default(),
            extensions: JsonMap::new(),
            invalid_extension: None,
            page_size: Self::PAGE_SIZE,
            list_cache: private,
            discover_cache: private,
            hosts: Hosts::Loopback,
            origins: Hosts::Loopback,
            path: "/mcp".to_owned(),
            limits: Limits::default(),
            mode: ResponseMode::default(),
            keep_alive: Self::KEEP_ALIVE,
            hooks: Hooks::default(),
            announces: Announces::new(),
            bus: Arc::new(LocalBus::new()),
            #[cfg(feature = "asking")]
            state_keys: None,
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
        self.parts.tools.push(tool);
        self
    }

    /// Adds tools in their order.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.parts.tools.extend(tools);
        self
    }

    /// Adds a prompt, listed after those added before.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.parts.prompts.push(prompt);
        self
    }

    /// Adds prompts in their order.
    #[must_use]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.parts.prompts.extend(prompts);
        self
    }

    /// Adds a resource, listed after those added before.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.parts.resources.push(resource);
        self
    }

    /// Adds resources in their order.
    #[must_use]
    pub fn resources(mut self, resources: impl IntoIterator<Item = Resource>) -> Self {
        self.parts.resources.extend(resources);
        self
    }

    /// Adds a resource template, listed and matched after those added before.
    #[must_use]
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.parts.templates.push(template);
        self
    }

    /// Gives handlers a shared value; they take it as an argument `Arc<T>`. A second value of the same type
    /// replaces the first.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.states.insert(value);
        self
    }

    /// Declares an extension with its settings, which must be an object. A wrong identifier is an error when
    /// the server is built. Specification: Versioning, Extension Negotiation.
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

    /// The names under which clients reach the server, as `host` (any port) or `host:port`. Default are those
    /// of the loopback interface, and no other machine could use them. Specification: Streamable HTTP,
    /// Security & Endpoint.
    #[must_use]
    pub fn hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.hosts = Hosts::Listed(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// The web origins whose pages may call the server, as `scheme://host` with `:port` where it is not the
    /// scheme's own. Default are those of the loopback interface at any port. A request without `Origin` comes
    /// from no page, and passes.
    #[must_use]
    pub fn origins<S: Into<String>>(mut self, origins: impl IntoIterator<Item = S>) -> Self {
        self.origins = Hosts::Listed(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Answers to any `Host`. Then a web page can reach a server on its visitor's machine by DNS rebinding,
    /// unless something in front checks the host.
    #[must_use]
    pub fn danger_allow_any_host(mut self) -> Self {
        self.hosts = Hosts::Any;
        self
    }

    /// Lets pages of any origin call the server.
    #[must_use]
    pub fn danger_allow_any_origin(mut self) -> Self {
        self.origins = Hosts::Any;
        self
    }

    /// The path of the endpoint for [`Server::serve`]. Default is `/mcp`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
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

    /// Checks everything that was given and freezes it.
    ///
    /// # Errors
    /// [`BuildError`] names the first thing that cannot be served.
    pub fn build(self) -> Result<Server, BuildError> {
        if !self.path.starts_with('/') {
            return Err(BuildError::Path(self.path));
        }
        if let Some(id) = self.invalid_extension {
            return Err(BuildError::Extension(id));
        }
        #[cfg(feature = "asking")]
        let sealer = sealer(self.state_keys, &self.parts)?;
        let identity = self.identify.then(|| Identity::of(&self.implementation));
        let meta = ResultMeta {
            server_info: identity.as_ref().map(|identity| identity.implementation.clone()),
            ..ResultMeta::default()
        };
        let capabilities = capabilities(&self.parts, self.announces, self.extensions);
        let serves = Serves {
            tools: capabilities.tools.is_some(),
            prompts: capabilities.prompts.is_some(),
            resources: capabilities.resources.is_some(),
            completions: capabilities.completions.is_some(),
        };
        let declares_logging = capabilities.logging.is_some();
        let discover = Outcome::Complete(DiscoverResult {
            meta: ResultMeta {
                server_info: self.identify.then_some(self.implementation),
                ..ResultMeta::default()
            },
            supported_versions: SUPPORTED.to_vec(),
            capabilities,
            instructions: self.instructions,
            ttl_ms: self.discover_cache.ttl_ms,
            cache_scope: self.discover_cache.cache_scope,
        });
        let listing = Listing { page_size: self.page_size, cache: self.list_cache, meta };
        let registry = Registry::build(self.parts, &self.states, &listing)?;
        let hosts_are_chosen = !matches!(self.hosts, Hosts::Loopback);
        let head = HeadPolicy {
            hosts: self.hosts.into_hosts()?,
            origins: self.origins.into_origins()?,
            path: Some(self.path.into()),
        };
        let shared = Shared {
            registry,
            states: self.states,
            // Holds strings and JSON, which always encode.
            discover: serde_json::to_string(&discover).unwrap_or_default(),
            identity,
            head,
            gate: Arc::new(Gate::new(self.limits.exchanges, self.limits.exchanges_per_caller)),
            subscriptions: Subscriptions::new(self.announces, self.bus, &self.limits),
            limits: self.limits.representable(),
            mode: self.mode,
            keep_alive: self.keep_alive.min(FOR_EVER),
            hooks: self.hooks,
            #[cfg(feature = "asking")]
            sealer,
            serves,
            declares_logging,
            detached: Arc::default(),
            hosts_are_chosen,
        };
        Ok(Server { shared: Arc::new(shared) })
    }
}

impl Hosts {
    fn into_hosts(self) -> Result<HostPolicy, BuildError> {
        match self {
            Self::Loopback => Ok(HostPolicy::loopback()),
            Self::Listed(hosts) => Ok(HostPolicy::list(hosts.iter().map(String::as_str))?),
            Self::Any => Ok(HostPolicy::danger_allow_any()),
        }
    }

    fn into_origins(self) -> Result<OriginPolicy, BuildError> {
        match self {
            Self::Loopback => Ok(OriginPolicy::loopback()),
            Self::Listed(origins) => Ok(OriginPolicy::list(origins.iter().map(String::as_str))?),
            Self::Any => Ok(OriginPolicy::danger_allow_any()),
        }
    }
}

/// A sealer for the states of handlers that ask, if there are any.
#[cfg(feature = "asking")]
fn sealer(keys: Option<KeyRing>, parts: &Parts) -> Result<Option<Sealer>, BuildError> {
    if !parts.needs().any(|needs| needs.asks) {
        return Ok(None);
    }
    let keys = match keys {
        Some(keys) => keys,
        None => KeyRing::random().map_err(BuildError::NoRandomness)?,
    };
    Ok(Some(Sealer::new(keys)))
}

/// What is declared follows from what is there.
fn capabilities(parts: &Parts, announces: Announces, extensions: JsonMap) -> ServerCapabilities {
    let Parts { tools, prompts, resources, templates } = parts;
    let logs = parts.needs().any(|needs| needs.logging);
    let completes = prompts
        .iter()
        .map(|prompt| &prompt.completers)
        .chain(templates.iter().map(|template| &template.completers))
        .any(|completers| !completers.is_empty());
    let list = |there: bool, changes: bool| {
        (there || changes).then(|| ListChangedCapability {
            list_changed: changes.then_some(true),
            ..ListChangedCapability::default()
        })
    };
    let reads = !resources.is_empty() || !templates.is_empty();
    let resources = reads || announces.resources || announces.resource_updates;
    ServerCapabilities {
        tools: list(!tools.is_empty(), announces.tools),
        prompts: list(!prompts.is_empty(), announces.prompts),
        resources: resources.then(|| ResourcesCapability {
            subscribe: announces.resource_updates.then_some(true),
            list_changed: announces.resources.then_some(true),
            ..ResourcesCapability::default()
        }),
        completions: completes.then(JsonMap::new),
        logging: logs.then(JsonMap::new),
        extensions: (!extensions.is_empty()).then_some(extensions),
        ..ServerCapabilities::default()
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
