//! `Server`: what is served, frozen.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_types::{Implementation, RawJson, ResultMeta};

#[cfg(feature = "asking")]
use crate::ask::Sealer;
use crate::builder::ServerBuilder;
use crate::detached::{AbandonedHook, Detached};
use crate::ladder::head::HeadPolicy;
use crate::layer::Next;
use crate::limits::Limits;
use crate::permit::Gate;
use crate::registry::Registry;
use crate::reply::{Plan, ResponseMode};
use crate::span::TraceParentHook;
use crate::state::States;
use crate::subscription::Subscriptions;

/// A server: tools, what is said about them, and how they are served. A cheap clone.
///
/// It is built once and does not change. Serve it with [`serve`](Self::serve), mount its
/// [`service`](Self::service) into another HTTP stack, or drive single [`Exchange`](crate::Exchange)s.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

/// What every exchange of a server refers to.
pub(crate) struct Shared {
    pub(crate) registry: Registry,
    pub(crate) states: States,
    /// The encoded discover result.
    pub(crate) discover: String,
    /// What every result says of the server.
    pub(crate) identity: Option<Identity>,
    pub(crate) head: HeadPolicy,
    pub(crate) limits: Limits,
    pub(crate) gate: Arc<Gate>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) mode: ResponseMode,
    pub(crate) keep_alive: Duration,
    pub(crate) hooks: Hooks,
    /// There if any handler asks.
    #[cfg(feature = "asking")]
    pub(crate) sealer: Option<Sealer>,
    pub(crate) serves: Serves,
    pub(crate) declares_logging: bool,
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

/// Which families of methods are declared.
pub(crate) struct Serves {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) completions: bool,
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
