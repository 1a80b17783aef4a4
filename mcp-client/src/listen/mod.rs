//! Listening for changes. Specification: Subscriptions.

mod changes;
mod subscription;
mod watch;

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use mcp_types::{RawJson, ResourceUpdatedParams, SubscriptionFilter};

pub use changes::Changes;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::deadline::Timeouts;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::headers::ExtraHeaders;
use subscription::Opening;

/// A subscription about to be opened. Await it to open it; it gives its [`Changes`] once the server has
/// acknowledged it.
///
/// # Errors
/// See [`Error`]. A server without subscriptions refuses with -32601.
#[must_use = "a subscription is opened when it is awaited"]
pub struct Listen {
    opening: Result<Opening, Error>,
    backoff: Option<Backoff>,
}

impl Listen {
    pub(crate) fn new(client: Client, filter: SubscriptionFilter) -> Self {
        let Timeouts { idle: timeout, .. } = client.timeouts();
        let opening =
            Opening { client, filter, timeout, headers: ExtraHeaders::default(), watch: None };
        Self { opening: Ok(opening), backoff: None }
    }

    /// How long the server may take to acknowledge; `None` is for ever. Behind that there is no timeout but
    /// [`lost_after`](Self::lost_after). Default is the client's
    /// [`timeout`](crate::ClientBuilder::timeout).
    pub fn timeout(self, time: impl Into<Option<Duration>>) -> Self {
        self.set(|opening| opening.timeout = time.into())
    }

    /// Counts the stream as lost when nothing at all has arrived for that long, keep-alive comments included.
    /// Default is never. Give it a few times the interval at which the server sends them, or it is lost
    /// for no reason; many do every 15 s. It has no effect over a byte stream, which has no such comments.
    pub fn lost_after(self, silence: Duration) -> Self {
        self.set(|opening| opening.watch = Some(silence))
    }

    /// Opens the subscription again whenever it ends without being closed here, after a pause, and tells so by
    /// [`Change::Stale`]. Default is not to.
    ///
    /// Only what may pass is tried again: a lost connection, a server that ended it or is out of order. A
    /// refusal ends it.
    pub fn relisten(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// Sends a header, as [`Call::header`](crate::Call::header) does.
    pub fn header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        if let Ok(opening) = &mut self.opening
            && let Err(error) = opening.headers.set(name, value)
        {
            self.opening = Err(error);
        }
        self
    }

    fn set(mut self, change: impl FnOnce(&mut Opening)) -> Self {
        if let Ok(opening) = &mut self.opening {
            change(opening);
        }
        self
    }
}

impl IntoFuture for Listen {
    type Output = Result<Changes, Error>;
    type IntoFuture = BoxFuture<'static, Result<Changes, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let opening = self.opening?;
            let signed_out = opening.client.shared().link.signed_out();
            let subscription = opening.open().await?;
            Ok(Changes::new(opening, self.backoff, signed_out, subscription))
        })
    }
}

impl fmt::Debug for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listen").field("backoff", &self.backoff).finish_non_exhaustive()
    }
}

/// Something changed at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// A resource that was subscribed to, or a part of it.
    Resource(ResourceUpdatedParams),
    /// The subscription was interrupted and goes on: anything may have changed, and has to be read again.
    /// Only with [`Listen::relisten`].
    Stale,
    /// A notification that this revision does not know, such as one of an extension.
    Other {
        /// Its name on the wire.
        method: String,
        /// What it carries, as it came; `{}` when it carries nothing.
        params: RawJson,
    },
}

/// How a subscription ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum End {
    /// It was closed here, or the user has signed out.
    Closed,
    /// The server ended it in good order, as on a shutdown.
    Graceful,
    /// The connection was lost, or the server ended it with an error.
    Lost(Error),
}
