//! `subscriptions/listen`: from a change to the streams of those who asked to hear of it.
//!
//! `Notify → Bus → Feed → Hub → Subscriber → Subscription → reply`. What changes is published on the bus, which
//! may reach other instances; each server's hub takes it from there and leaves a note with every subscriber that
//! is granted it; the subscription, which is the body of the reply, turns notes into frames.
//!
//! Specification: Subscriptions.

mod bus;
mod hub;
mod listen;
mod notify;

use std::sync::Arc;

use mcp_types::SubscriptionFilter;

pub use bus::{Bus, Change, Feed, LocalBus};
pub(crate) use hub::{Group, Hub, Subscriber};
pub(crate) use listen::{Subscription, cancellation, open, wanted};
pub use notify::Notify;

use crate::limits::Limits;
use crate::permit::Gate;

/// What a server needs to be listened to.
pub(crate) struct Subscriptions {
    pub(crate) hub: Arc<Hub>,
    bus: Arc<dyn Bus>,
    announces: Announces,
    gate: Arc<Gate>,
}

impl Subscriptions {
    pub(crate) fn new(announces: Announces, bus: Arc<dyn Bus>, limits: &Limits) -> Self {
        let hub = Arc::new(Hub::new(limits.queued_events));
        bus.subscribe(Feed::of(&hub));
        let gate = Arc::new(Gate::new(limits.listens, limits.listens_per_caller));
        Self { hub, bus, announces, gate }
    }
}

/// Which changes a server tells clients of that listen for them: what it declares as `listChanged` and `subscribe`.
///
/// It is a promise, which the server keeps by calling [`Notify`]. Announcing a list makes the server one that has
/// such a list, be it an empty one.
///
/// ```
/// use mcp_server::{Announces, Server};
///
/// # fn example() -> Result<(), mcp_server::BuildError> {
/// let server = Server::builder("files", "1.0.0")
///     .announces(Announces::new().tools().resource_updates())
///     .build()?;
/// // Whenever it happens, wherever the handle was taken along to:
/// server.notify().resource_updated("file:///project/config.json");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announces {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) resource_updates: bool,
}

impl Announces {
    /// None.
    pub const fn new() -> Self {
        Self { tools: false, prompts: false, resources: false, resource_updates: false }
    }

    /// Also changes to the list of tools.
    #[must_use]
    pub const fn tools(self) -> Self {
        Self { tools: true, ..self }
    }

    /// Also changes to the list of prompts.
    #[must_use]
    pub const fn prompts(self) -> Self {
        Self { prompts: true, ..self }
    }

    /// Also changes to the lists of resources and of resource templates.
    #[must_use]
    pub const fn resources(self) -> Self {
        Self { resources: true, ..self }
    }

    /// Also changes to single resources, for clients that name them.
    #[must_use]
    pub const fn resource_updates(self) -> Self {
        Self { resource_updates: true, ..self }
    }

    const fn include(self, change: &Change) -> bool {
        match change {
            Change::ToolList => self.tools,
            Change::PromptList => self.prompts,
            Change::ResourceList => self.resources,
            Change::Resource(_) => self.resource_updates,
        }
    }

    /// What of `wanted` is granted. Specification: Subscriptions, Acknowledgment.
    fn grant(self, wanted: SubscriptionFilter) -> SubscriptionFilter {
        let grant = |list: Option<bool>, announced: bool| list.filter(|&list| list && announced);
        let uris = wanted.resource_subscriptions;
        SubscriptionFilter {
            tools_list_changed: grant(wanted.tools_list_changed, self.tools),
            prompts_list_changed: grant(wanted.prompts_list_changed, self.prompts),
            resources_list_changed: grant(wanted.resources_list_changed, self.resources),
            resource_subscriptions: uris.filter(|uris| self.resource_updates && !uris.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_was_both_asked_for_and_announced() {
        let all = SubscriptionFilter::new().tools().prompts().resources().resource("a:b");
        let every = Announces::new().tools().prompts().resources().resource_updates();
        let table = [
            (Announces::new(), SubscriptionFilter::new()),
            (Announces::new().tools(), SubscriptionFilter::new().tools()),
            (Announces::new().prompts(), SubscriptionFilter::new().prompts()),
            (Announces::new().resources(), SubscriptionFilter::new().resources()),
            (Announces::new().resource_updates(), SubscriptionFilter::new().resource("a:b")),
            (every, all.clone()),
        ];
        for (announces, granted) in table {
            assert_eq!(announces.grant(all.clone()), granted);
            assert_eq!(every.grant(granted.clone()), granted);
        }
        let nothing = SubscriptionFilter {
            tools_list_changed: Some(false),
            resource_subscriptions: Some(Vec::new()),
            ..SubscriptionFilter::new()
        };
        assert_eq!(every.grant(nothing), SubscriptionFilter::new());
    }
}
