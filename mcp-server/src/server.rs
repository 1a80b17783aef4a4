//! `Server`: what is served, frozen.

use std::fmt;
use std::sync::Arc;
#[cfg(feature = "asking")]
use std::sync::OnceLock;
use std::time::Duration;

use mcp_types::{Implementation, JsonMap, RawJson, ResultMeta, ServerCapabilities};

#[cfg(feature = "asking")]
use crate::ask::{KeyRing, Sealer, SpentStates};
#[cfg(feature = "auth")]
use crate::auth::Authorization;
use crate::builder::ServerBuilder;
use crate::cors::CorsPolicy;
use crate::detached::{AbandonedHook, Detached};
#[cfg(feature = "asking")]
use crate::error::BuildError;
use crate::ladder::head::HeadPolicy;
use crate::layer::Next;
use crate::limits::Limits;
use crate::method::Methods;
use crate::permit::Gate;
use crate::registry::{Live, Visibility};
use crate::reply::{Plan, ResponseMode};
use crate::span::TraceParentHook;
use crate::subscription::Subscriptions;

/// A server: tools, what is said about them, and how they are served. A cheap clone.
///
/// What it declares is settled when it is built; what it offers can be [edited](Self::edit). Serve it with [`serve`](Self::serve), mount its
/// [`service`](Self::service) into another HTTP stack, or drive single [`Exchange`](crate::Exchange)s.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

/// What every exchange of a server refers to.
pub(crate) struct Shared {
    pub(crate) registry: Live,
    pub(crate) visibility: Option<Visibility>,
    pub(crate) methods: Methods,
    /// The extensions declared.
    pub(crate) extensions: JsonMap,
    /// The encoded discover result.
    pub(crate) discover: String,
    /// What every result says of the server.
    pub(crate) identity: Option<Identity>,
    pub(crate) head: HeadPolicy,
    /// What pages are told, if anything.
    pub(crate) cors: Option<CorsPolicy>,
    #[cfg(feature = "auth")]
    pub(crate) auth: Option<Authorization>,
    pub(crate) limits: Limits,
    pub(crate) gate: Arc<Gate>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) mode: ResponseMode,
    pub(crate) keep_alive: Duration,
    pub(crate) hooks: Hooks,
    /// There as soon as any handler asks.
    #[cfg(feature = "asking")]
    pub(crate) sealer: OnceLock<Sealer>,
    /// There if states are good for one use.
    #[cfg(feature = "asking")]
    pub(crate) spent_states: Option<Arc<dyn SpentStates>>,
    pub(crate) serves: Serves,
    /// Calls that go on without anybody waiting for them.
    pub(crate) detached: Arc<Detached>,
    /// Whether somebody has said under which names the server can be reached.
    pub(crate) hosts_are_chosen: bool,
}

/// Code of a user that calls go through.
#[derive(Default)]
pub(crate) struct Hooks {
    /// Around every handler.
    pub(crate) layers: Option<Next>,
    pub(crate) trace_parent: Option<Box<TraceParentHook>>,
    pub(crate) on_abandoned: Option<Box<AbandonedHook>>,
}

/// What is declared.
pub(crate) struct Serves {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) completions: bool,
    pub(crate) logging: bool,
}

impl Serves {
    pub(crate) const fn of(capabilities: &ServerCapabilities) -> Self {
        Self {
            tools: capabilities.tools.is_some(),
            prompts: capabilities.prompts.is_some(),
            resources: capabilities.resources.is_some(),
            completions: capabilities.completions.is_some(),
            logging: capabilities.logging.is_some(),
        }
    }
}

/// How a server names itself in its results.
pub(crate) struct Identity {
    pub(crate) implementation: Implementation,
    /// A `_meta` with that alone, encoded.
    pub(crate) meta: RawJson,
}

impl Identity {
    /// Without what only `server/discover` tells.
    pub(crate) fn of(implementation: &Implementation) -> Self {
        let implementation = Implementation {
            icons: None,
            description: None,
            website_url: None,
            ..implementation.clone()
        };
        let meta =
            ResultMeta { server_info: Some(implementation.clone()), ..ResultMeta::default() };
        let encoded = serde_json::to_value(&meta).unwrap_or_default();
        Self { implementation, meta: encoded.into() }
    }
}

impl Server {
    /// A builder for the server that calls itself `name` at `version`.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }
}

impl Shared {
    /// What seals the states of handlers that ask; made with a random key when there is none yet.
    #[cfg(feature = "asking")]
    pub(crate) fn sealer(&self) -> Result<&Sealer, BuildError> {
        if let Some(sealer) = self.sealer.get() {
            return Ok(sealer);
        }
        let sealer = Sealer::new(KeyRing::random().map_err(BuildError::NoRandomness)?);
        Ok(self.sealer.get_or_init(|| sealer))
    }

    /// How exchanges over HTTP are replied to.
    pub(crate) const fn plan(&self) -> Plan {
        Plan {
            mode: self.mode,
            keep_alive: self.keep_alive,
            call_time: self.limits.call_time,
            http: true,
            sse: true,
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.shared.identity.as_ref().map(|identity| &identity.implementation.name);
        f.debug_struct("Server").field("name", &name).finish_non_exhaustive()
    }
}
