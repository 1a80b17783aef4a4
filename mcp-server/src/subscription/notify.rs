//! `Notify`: how the server's own code says that something has changed.

use std::fmt;
use std::sync::Arc;

use super::{Announces, Bus, Change};
use crate::context::Context;
use crate::handler::{FromContext, HandlerError};
use crate::server::{Server, Shared};

/// Tells clients that listen for it that something has changed. Take it as an argument of a handler, or from
/// [`Server::notify`] for whatever else finds out. A cheap clone; it does not keep the server alive.
///
/// Notifying never waits and cannot fail: whoever listens at the moment gets to hear of it, and changes of one kind
/// that wait for a slow reader are told once. A kind that the server does not [announce](Announces) reaches nobody,
/// since no client could subscribe to it, and is a warning in the log.
///
/// Specification: Subscriptions, Receiving Notifications.
#[derive(Clone)]
pub struct Notify {
    bus: Arc<dyn Bus>,
    announces: Announces,
}

impl Notify {
    /// The list of tools has changed.
    pub fn tools_changed(&self) {
        self.publish(Change::ToolList);
    }

    /// The list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.publish(Change::PromptList);
    }

    /// The list of resources, or of resource templates, has changed.
    pub fn resources_changed(&self) {
        self.publish(Change::ResourceList);
    }

    /// The resource at `uri` has changed. It reaches those who subscribed to exactly this URI.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        self.publish(Change::Resource(uri.into()));
    }

    pub(crate) const fn announces(&self) -> Announces {
        self.announces
    }

    fn publish(&self, change: Change) {
        if !self.announces.include(&change) {
            tracing::warn!(?change, "a change that the server does not announce reaches nobody");
        }
        self.bus.publish(change);
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").field("announces", &self.announces).finish_non_exhaustive()
    }
}

impl Server {
    /// A handle to tell listening clients of changes with.
    pub fn notify(&self) -> Notify {
        self.shared.notify()
    }
}

impl Context {
    /// A handle to tell listening clients of changes with.
    pub fn notify(&self) -> Notify {
        self.shared().notify()
    }
}

impl FromContext for Notify {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.notify())
    }
}

impl Shared {
    fn notify(&self) -> Notify {
        let subscriptions = &self.subscriptions;
        Notify { bus: Arc::clone(&subscriptions.bus), announces: subscriptions.announces }
    }
}
