//! `Bus`: how instances of a server hear of each other's changes.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use super::Hub;

/// Something that clients may listen for.
///
/// It has a form in serde, for a [`Bus`] that leaves the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "the four kinds of notifications of a subscription")]
pub enum Change {
    /// The list of tools is another.
    ToolList,
    /// The list of prompts is another.
    PromptList,
    /// The list of resources, or of resource templates, is another.
    ResourceList,
    /// The resource at this URI is another.
    Resource(String),
}

/// Carries changes to every instance of a server, so that it does not matter which of them a client listens to.
///
/// The default, [`LocalBus`], stays in the process. One that spans several publishes to Redis, NATS or the like, and
/// hands what arrives from there to the feeds it was given:
///
/// ```
/// use std::sync::Mutex;
/// use mcp_server::{Bus, Change, Feed};
/// use tokio::sync::mpsc;
///
/// struct Remote {
///     outgoing: mpsc::UnboundedSender<Change>,
///     feeds: Mutex<Vec<Feed>>,
/// }
///
/// impl Bus for Remote {
///     fn publish(&self, change: Change) {
///         let _ = self.outgoing.send(change);
///     }
///
///     fn subscribe(&self, feed: Feed) {
///         self.feeds.lock().unwrap().push(feed);
///     }
/// }
///
/// impl Remote {
///     /// For whatever reads from the network.
///     fn arrived(&self, change: &Change) {
///         self.feeds.lock().unwrap().retain(|feed| feed.deliver(change));
///     }
/// }
/// ```
///
/// A change may arrive late, twice, or in another order than it was published in: clients read again what they are
/// told of. After a gap, in which changes may have been missed, deliver one of each list.
pub trait Bus: Send + Sync + 'static {
    /// Has `change` delivered to every feed of every instance, this one included.
    ///
    /// It is called by handlers and must not block; what takes time belongs into a task of the bus.
    fn publish(&self, change: Change);

    /// Takes the feed of one more server, once, when that is built.
    fn subscribe(&self, feed: Feed);
}

/// Where a [`Bus`] delivers changes for one server. A cheap clone; it does not keep the server alive.
#[derive(Clone)]
pub struct Feed(Weak<Hub>);

impl Feed {
    pub(super) fn of(hub: &Arc<Hub>) -> Self {
        Self(Arc::downgrade(hub))
    }

    /// Notifies everyone who listens for `change` to this server. Never waits.
    ///
    /// Returns whether the server is still there; if not, the feed can be forgotten.
    pub fn deliver(&self, change: &Change) -> bool {
        let hub = self.0.upgrade();
        if let Some(hub) = &hub {
            hub.publish(change);
        }
        hub.is_some()
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

/// The bus of one process. Every server has one to itself unless it is [given](crate::ServerBuilder::bus) another;
/// servers that are given the same hear of each other's changes.
#[derive(Debug, Default)]
pub struct LocalBus(Mutex<Vec<Feed>>);

impl LocalBus {
    /// A bus without servers.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl Bus for LocalBus {
    fn publish(&self, change: Change) {
        // Delivering wakes tasks, which must not happen under the lock.
        let feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for feed in feeds {
            feed.deliver(&change);
        }
    }

    fn subscribe(&self, feed: Feed) {
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|feed| feed.0.strong_count() > 0);
        feeds.push(feed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_travel_as_json() {
        for (change, json) in [
            (Change::ToolList, r#""toolList""#),
            (Change::PromptList, r#""promptList""#),
            (Change::ResourceList, r#""resourceList""#),
            (Change::Resource("a:b".into()), r#"{"resource":"a:b"}"#),
        ] {
            assert_eq!(serde_json::to_string(&change).unwrap(), json);
            assert_eq!(serde_json::from_str::<Change>(json).unwrap(), change);
        }
    }
}
