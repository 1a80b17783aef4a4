//! From a builder to a server: what was given is checked, and what is declared follows from it.

use std::sync::Arc;
#[cfg(feature = "asking")]
use std::sync::OnceLock;

use mcp_types::{
    CacheScope, DiscoverResult, JsonMap, ListChangedCapability, Outcome, ResourcesCapability,
    ResultMeta, ServerCapabilities,
};

use super::ServerBuilder;
#[cfg(feature = "asking")]
use crate::ask::Sealer;
#[cfg(feature = "auth")]
use crate::auth::ResourceServer;
use crate::error::BuildError;
use crate::limits::FOR_EVER;
#[cfg(feature = "auth")]
use crate::method::Method;
use crate::method::{self, Methods};
use crate::permit::Gate;
use crate::registry::{Listing, Live, Registry};
use crate::rejection::SUPPORTED;
use crate::server::{Identity, Server, Serves, Shared};
use crate::subscription::Subscriptions;

impl ServerBuilder {
    /// Checks everything that was given and freezes it.
    ///
    /// # Errors
    /// [`BuildError`] names the first thing that cannot be served.
    pub fn build(mut self) -> Result<Server, BuildError> {
        self.check()?;
        let capabilities = self.capabilities();
        let serves = Serves::of(&capabilities);
        let extensions = capabilities.extensions.clone().unwrap_or_default();
        let discover = self.discover(capabilities);
        #[cfg(feature = "asking")]
        let asks = self.registry.needs().any(|needs| needs.asks);
        let identity = self.identify.then(|| Identity::of(&self.implementation));
        let meta = ResultMeta {
            server_info: identity.as_ref().map(|identity| identity.implementation.clone()),
            ..ResultMeta::default()
        };
        let listing = Listing { page_size: self.page_size, cache: self.list_cache, meta };
        let registry = Live::build(self.registry, listing)?;
        let methods = Methods::build(self.methods, &registry.states)?;
        let (hosts_are_chosen, head, cors) = self.reach.build()?;
        #[cfg(feature = "auth")]
        let auth = self.auth.map(ResourceServer::build).transpose()?;
        let shared = Shared {
            registry,
            methods,
            extensions,
            visibility: self.visibility,
            discover,
            identity,
            head,
            cors,
            #[cfg(feature = "auth")]
            auth,
            gate: Arc::new(Gate::new(self.limits.exchanges, self.limits.exchanges_per_caller)),
            subscriptions: Subscriptions::new(self.announces, self.bus, &self.limits),
            limits: self.limits.representable(),
            mode: self.mode,
            keep_alive: self.keep_alive.min(FOR_EVER),
            hooks: self.hooks,
            #[cfg(feature = "asking")]
            sealer: self.state_keys.map(Sealer::new).map_or_else(OnceLock::new, OnceLock::from),
            #[cfg(feature = "asking")]
            spent_states: self.spent_states,
            serves,
            detached: Arc::default(),
            hosts_are_chosen,
        };
        #[cfg(feature = "asking")]
        if asks {
            shared.sealer()?;
        }
        Ok(Server { shared: Arc::new(shared) })
    }

    /// Looks at what was given wrongly on its own or together.
    fn check(&self) -> Result<(), BuildError> {
        if let Some(id) = &self.invalid_extension {
            return Err(BuildError::Extension(id.clone()));
        }
        if let Some(what) = self.registry.unprotected {
            return Err(BuildError::Unprotected(what));
        }
        #[cfg(feature = "auth")]
        for (name, scopes) in
            self.registry.scopes().chain(self.methods.iter().map(Method::requires))
        {
            scopes.check(name, self.auth.is_some())?;
        }
        if self.visibility.is_some() && self.list_cache.cache_scope == CacheScope::Public {
            return Err(BuildError::PublicLists);
        }
        Ok(())
    }

    /// What is declared follows from what is there.
    fn capabilities(&mut self) -> ServerCapabilities {
        method::declare(&self.methods, &mut self.extensions);
        let of_methods = self.methods.iter().map(|method| &method.needs);
        let Registry { tools, prompts, resources, templates, .. } = &self.registry;
        let announces = self.announces;
        let list = |there: bool, changes: bool| {
            (there || changes).then(|| ListChangedCapability {
                list_changed: changes.then_some(true),
                ..ListChangedCapability::default()
            })
        };
        let reads = !resources.is_empty() || !templates.is_empty();
        let resources = reads || announces.resources || announces.resource_updates;
        let logs = self.declares_logging
            || self.registry.needs().chain(of_methods).any(|needs| needs.logging);
        let completes = self.declares_completions || self.registry.completes();
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
            extensions: Some(std::mem::take(&mut self.extensions)).filter(|all| !all.is_empty()),
            ..ServerCapabilities::default()
        }
    }

    /// The encoded discover result.
    fn discover(&mut self, capabilities: ServerCapabilities) -> String {
        let result = DiscoverResult {
            meta: ResultMeta {
                server_info: self.identify.then(|| self.implementation.clone()),
                ..ResultMeta::default()
            },
            supported_versions: SUPPORTED.to_vec(),
            capabilities,
            instructions: self.instructions.take(),
            ttl_ms: self.discover_cache.ttl_ms,
            cache_scope: self.discover_cache.cache_scope,
        };
        // Holds strings and JSON, which always encode.
        serde_json::to_string(&Outcome::Complete(result)).unwrap_or_default()
    }
}
