//! Serving: accepting connections, speaking HTTP on them, and ending in good order.

mod accept;
mod guard;
mod protocol;
mod sniff;
#[cfg(feature = "http2")]
mod streams;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::time::Duration;

use tokio::net::TcpListener;

#[cfg(feature = "http2")]
pub(crate) use streams::{handed, is_watched};

use crate::error::ServeError;
use crate::server::Server;

/// What ends serving.
pub(crate) type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Server {
    /// Listens on `addr` and serves the endpoint at the builder's path, `/mcp` by default, over HTTP/1.1 and,
    /// with the feature `http2`, cleartext HTTP/2.
    ///
    /// Await what this returns; it resolves when serving has ended. Only loopback addresses are taken unless
    /// the builder was told which hosts the server answers to.
    ///
    /// # Errors
    /// [`ServeError`] when the address cannot be listened on, or is public while no hosts were named.
    pub fn serve(self, addr: impl ToSocketAddrs + fmt::Debug) -> Serve {
        let address = format!("{addr:?}");
        let source = match addr.to_socket_addrs() {
            Ok(addrs) => Source::Addresses(addrs.collect(), address),
            Err(source) => Source::Failed(ServeError::Bind { address, source }),
        };
        Serve::new(self, source)
    }

    /// Serves on a listener that is already bound, like [`serve`](Self::serve).
    pub fn serve_with(self, listener: TcpListener) -> Serve {
        Serve::new(self, Source::Listener(listener))
    }
}

/// A server about to serve. Awaiting it serves until the listener fails or
/// [`shutdown_on`](Self::shutdown_on)'s signal has come and everything is drained.
#[must_use = "nothing is served until it is awaited"]
pub struct Serve {
    server: Server,
    source: Source,
    signal: Option<Signal>,
    drain_time: Duration,
}

enum Source {
    Addresses(Vec<SocketAddr>, String),
    Listener(TcpListener),
    Failed(ServeError),
}

impl Serve {
    /// 10 s: what service managers and container runtimes commonly grant before they kill.
    pub const DRAIN_TIME: Duration = Duration::from_secs(10);

    fn new(server: Server, source: Source) -> Self {
        Self { server, source, signal: None, drain_time: Self::DRAIN_TIME }
    }

    /// Begins to shut down when `signal` resolves: the listener closes, idle connections close, subscriptions end with
    /// their result, calls under way may end, those that run to completion for nobody included. Default is never.
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.signal = Some(Box::pin(signal));
        self
    }

    /// How long calls under way may take to end after the signal; what is left then is cut off. Default is
    /// [`DRAIN_TIME`](Self::DRAIN_TIME).
    pub const fn drain_time(mut self, limit: Duration) -> Self {
        self.drain_time = limit;
        self
    }

    async fn run(self) -> Result<(), ServeError> {
        let listener = match self.source {
            Source::Listener(listener) => listener,
            Source::Failed(error) => return Err(error),
            Source::Addresses(addrs, address) => TcpListener::bind(&*addrs)
                .await
                .map_err(|source| ServeError::Bind { address, source })?,
        };
        let local = listener.local_addr().map_err(ServeError::Accept)?;
        if !local.ip().is_loopback() && !self.server.shared.hosts_are_chosen {
            return Err(ServeError::PublicWithoutHosts(local));
        }
        tracing::info!(%local, "serving");
        let signal = self.signal.unwrap_or_else(|| Box::pin(std::future::pending()));
        accept::run(self.server.shared, listener, signal, self.drain_time).await
    }
}

impl IntoFuture for Serve {
    type Output = Result<(), ServeError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("server", &self.server).finish_non_exhaustive()
    }
}
