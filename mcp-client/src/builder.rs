//! `ClientBuilder`: how a client is made.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::Full;
use mcp_types::{ClientCapabilities, Implementation, ProtocolVersion, TraceContext};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::cache::{Cache, MemoryStore};
use crate::catalog::Catalog;
use crate::child::{Restart, ToSpawn};
use crate::client::{Client, Shared, TraceSource};
use crate::deadline::Timeouts;
use crate::endpoint::{Endpoint, HttpService, Network, parse_url};
use crate::error::{BoxError, Error};
use crate::headers::ExtraHeaders;
use crate::input::Handlers;
use crate::layer::CallService;
use crate::limits::Limits;
use crate::link::Link;
#[cfg(feature = "oauth")]
use crate::oauth::{Fetcher, OAuth, Policy};
use crate::pipe::Pipe;
use crate::retry::Retry;
use crate::transport::HttpTransport;

/// Builds a [`Client`]. What is not set has the default that its setter names.
#[must_use = "it builds nothing until `build` is called"]
pub struct ClientBuilder {
    pub(crate) url: Box<str>,
    /// What the cache calls the server, where its URL does not tell it from others.
    pub(crate) server: Option<Arc<str>>,
    info: Option<Implementation>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) handlers: Handlers,
    version: ProtocolVersion,
    timeouts: Timeouts,
    retry: Option<Retry>,
    restart: Option<Restart>,
    probes: bool,
    in_flight: Option<usize>,
    pub(crate) layers: Option<CallService>,
    trace_context: Option<TraceSource>,
    headers: ExtraHeaders,
    limits: Limits,
    cache: Keeping,
    cache_context: Option<Arc<[u8]>>,
    stale_on_error: Option<Duration>,
    pub(crate) http: Http,
    pub(crate) network: Network,
    #[cfg(feature = "oauth")]
    pub(crate) oauth: Option<OAuth>,
}

/// Where answers are cached.
enum Keeping {
    Own,
    Shared(Cache),
    Nowhere,
}

/// What HTTP is spoken over.
pub(crate) enum Http {
    /// Connections that are made here.
    Own,
    /// Makes the pool, given whether it speaks HTTP/2.
    Connector(Box<dyn FnOnce(bool) -> Box<dyn HttpService> + Send + Sync>),
    Service(Box<dyn HttpService>),
    /// No HTTP, but lines.
    Pipe(OpenPipe),
    /// The same with a process to be started.
    Child(Box<ToSpawn>),
}

type OpenPipe = Box<dyn FnOnce(&Limits) -> Result<Pipe, Error> + Send + Sync>;

impl ClientBuilder {
    /// 60 s without an answer: what other SDKs grant too, and more than interactive work needs.
    pub const TIMEOUT: Duration = Duration::from_secs(60);
    /// 10 min in all, progress or not: longer work belongs into a task that is asked after.
    pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);

    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.into(),
            server: None,
            info: Some(Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))),
            capabilities: ClientCapabilities::default(),
            handlers: Handlers::default(),
            version: ProtocolVersion::LATEST,
            timeouts: Timeouts { idle: Some(Self::TIMEOUT), total: Some(Self::TOTAL_TIMEOUT) },
            retry: None,
            restart: None,
            probes: true,
            in_flight: None,
            layers: None,
            trace_context: None,
            headers: ExtraHeaders::default(),
            limits: Limits::default(),
            cache: Keeping::Own,
            cache_context: None,
            stale_on_error: None,
            http: Http::Own,
            network: Network::default(),
            #[cfg(feature = "oauth")]
            oauth: None,
        }
    }

    /// A builder for a client of a server in the same process; see
    /// [`Client::in_process`](crate::Client::in_process).
    pub fn in_process<S, B>(service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut builder = Self::new(LOCAL).service(service);
        builder.server = Some(unique_name());
        builder
    }

    /// A builder for a client of a server at the other end of a byte stream; see
    /// [`Client::over`](crate::Client::over). What is set for HTTP has no effect.
    pub fn over<R, W>(reader: R, writer: W) -> Self
    where
        R: AsyncRead + Send + Sync + Unpin + 'static,
        W: AsyncWrite + Send + Sync + Unpin + 'static,
    {
        let mut builder = Self::new("");
        builder.http = Http::Pipe(Box::new(|limits| Pipe::new(reader, writer, limits)));
        builder
    }

    /// A builder for a client of a server that is a process of its own; see
    /// [`Client::spawn`](crate::Client::spawn). What is set for HTTP has no effect.
    pub fn spawn(command: impl Into<Command>) -> Self {
        let mut builder = Self::new("");
        builder.http = Http::Child(Box::new(ToSpawn {
            command: command.into(),
            grace: Limits::SHUTDOWN_GRACE,
            on_stderr: None,
        }));
        builder
    }

    /// How long a process that was [spawned](Self::spawn) may take to end by itself once its input is closed, and
    /// again once it was told to. Default is [`Limits::SHUTDOWN_GRACE`].
    pub const fn shutdown_grace(mut self, time: Duration) -> Self {
        if let Http::Child(server) = &mut self.http {
            server.grace = time;
        }
        self
    }

    /// Has `callback` called with each line that a process which was [spawned](Self::spawn) writes to its standard
    /// error. It is called in a task of the runtime, so it must not block. Default is to log them at
    /// DEBUG.
    pub fn on_stderr(mut self, callback: impl FnMut(&str) + Send + Sync + 'static) -> Self {
        if let Http::Child(server) = &mut self.http {
            server.on_stderr = Some(Arc::new(Mutex::new(callback)));
        }
        self
    }

    /// Starts a process that was [spawned](Self::spawn) again when it has ended by itself. Default is not to: calls fail
    /// from then on. It has no effect on other clients.
    pub const fn restart(mut self, restart: Restart) -> Self {
        self.restart = Some(restart);
        self
    }

    /// Whether a server over a byte stream, such as one that was [spawned](Self::spawn), is asked `server/discover` before
    /// anything else, once for each process. Default is to ask: one of earlier revisions might take a call for one of its
    /// own, or stay silent, while its answer to this makes calls fail with an error that [tells](Error::is_legacy). The
    /// first call waits for the answer, within its own timeout; a [`discover`](Client::discover) of the application's counts
    /// as well. It has no effect over HTTP. Specification: stdio, Backward Compatibility.
    pub const fn probe(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// Who the client is, as every request says; `None` leaves it out. Default is this library.
    pub fn info(mut self, info: impl Into<Option<Implementation>>) -> Self {
        self.info = info.into();
        self
    }

    /// What the client can do for the server, as every request says, besides what the functions below are set
    /// for. Default is nothing.
    ///
    /// What is declared here alone, the caller answers: see [`Error::input_required`].
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The protocol version to begin with. Default is [`ProtocolVersion::LATEST`]; when the server speaks
    /// another one that this client speaks too, calls are repeated in that.
    pub fn protocol_version(mut self, version: impl Into<ProtocolVersion>) -> Self {
        self.version = version.into();
        self
    }

    /// How long a call may go without its answer; `None` is for ever. Default is
    /// [`TIMEOUT`](Self::TIMEOUT). Specification: Cancellation, Timeouts.
    pub fn timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.timeouts.idle = time.into();
        self
    }

    /// How long a call may take in all, whatever progress it makes; `None` is for ever. Default is
    /// [`TOTAL_TIMEOUT`](Self::TOTAL_TIMEOUT).
    pub fn total_timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.timeouts.total = time.into();
        self
    }

    /// Makes calls again when the network failed in a way that may pass. Default is not to: the caller is told at
    /// once.
    pub const fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Has no more than `most` requests of this client and its clones under way at once; others wait their turn, in the
    /// order in which they came, and their time counts. Default is no limit.
    ///
    /// A call has its turn for each of its requests: while it waits to be repeated, or for the user, others have theirs.
    /// Subscriptions do not count.
    pub const fn max_in_flight(mut self, most: usize) -> Self {
        self.in_flight = Some(most);
        self
    }

    /// Writes the trace that `source` tells into the `_meta` of every request, so that what the server does joins
    /// it. Default is not to. Specification: Overview, OpenTelemetry trace context.
    ///
    /// It is called within the span of the request, which is [`tracing::Span::current`], where this is enabled.
    pub fn trace_context(
        mut self,
        source: impl Fn() -> TraceContext + Send + Sync + 'static,
    ) -> Self {
        self.trace_context = Some(Box::new(source));
        self
    }

    /// Sends a header with every request, such as `Authorization`.
    ///
    /// # Errors
    /// When it is no header, or one that the protocol or HTTP itself decides about: `Content-Type`,
    /// `Accept`, `Host`, whatever begins with `Mcp-`, and the like.
    pub fn header<N, V>(mut self, name: N, value: V) -> Result<Self, Error>
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        self.headers.set(name, value)?;
        Ok(self)
    }

    /// The ceilings on what a server may send. Default is [`Limits::default`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps answers in `cache`, which clients can share: results that servers call public are served to all of
    /// them. Clients of different servers need different URLs then. Default is one of its own in memory.
    /// Specification: Caching.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Keeping::Shared(cache);
        self
    }

    /// Keeps no answers, whatever servers say of their freshness. Default is to keep them.
    pub fn no_cache(mut self) -> Self {
        self.cache = Keeping::Nowhere;
        self
    }

    /// On whose behalf the client acts: private answers are served to clients of the same context only. Default
    /// is all headers that were set, on the client and on the call, so that another token is another context;
    /// this lets answers outlive a token. A client with a [`connector`](Self::connector), a
    /// [`service`](Self::service) or a TLS configuration shares private answers with no other unless this is set, since each
    /// may add credentials of its own; one that adds different ones from call to call needs [`no_cache`](Self::no_cache).
    /// Where users sign in (feature `oauth`), each sign-in is a context of its own in any case.
    /// Specification: Caching, Cache Scope Field.
    pub fn cache_context(mut self, context: impl AsRef<[u8]>) -> Self {
        self.cache_context = Some(context.as_ref().into());
        self
    }

    /// Lets a cached answer stand in, with a warning in the log, up to `max_age` after it ceased to be fresh, for one
    /// that cannot be got: because the network failed, the time is up, or the server says that it is out of order or
    /// busy (5xx, 429). Default is never: who asks is told of the failure. Other errors are told in any case, and a call that [bypasses](crate::Call::bypass_cache) or
    /// [refreshes](crate::Call::refresh_cache) the cache gets what is new or an error.
    ///
    /// Retries come first. An answer that the cache has dropped is gone, for want of room or for a change.
    pub const fn stale_on_error(mut self, max_age: Duration) -> Self {
        self.stale_on_error = Some(max_age);
        self
    }

    /// The client. It does not connect yet.
    ///
    /// # Errors
    /// When the URL is not one of HTTP, or of HTTPS without the feature `tls`; when TLS cannot be set up, or the proxy
    /// cannot be used; when the version is one of
    /// those that begin with a handshake; when no request may be in flight.
    pub fn build(mut self) -> Result<Client, Error> {
        if self.version.is_legacy() {
            let version = self.version;
            return Err(Error::usage(format!("version {version} is not spoken here")));
        }
        if self.in_flight == Some(0) {
            return Err(Error::usage("with no request in flight nothing can be called"));
        }
        self.handlers.declare(&mut self.capabilities);
        // A connector or a service may add credentials that are not seen here: a context of its own for each.
        let mut below: Arc<str> = Arc::default();
        let (link, server) = match mem::replace(&mut self.http, Http::Own) {
            Http::Pipe(open) => (Link::Pipe(open(&self.limits)?), unique_name()),
            Http::Child(server) => {
                let pipe = Pipe::spawn(*server, self.restart, &self.limits)?;
                (Link::Pipe(pipe), unique_name())
            }
            http => {
                if !matches!(http, Http::Own) || self.network.has_credentials() {
                    below = unique_name();
                }
                let server = self.server.take().unwrap_or_else(|| (*self.url).into());
                (Link::Http(self.endpoint(http)?), server)
            }
        };
        let cache = match self.cache {
            Keeping::Own => {
                let Limits { cache_entries, cache_bytes, .. } = self.limits;
                Some(Cache::with_store(MemoryStore::new(cache_entries, cache_bytes)))
            }
            Keeping::Shared(cache) => Some(cache),
            Keeping::Nowhere => None,
        };
        Ok(Client::from_shared(Shared {
            server,
            cache,
            cache_context: self.cache_context,
            stale_on_error: self.stale_on_error,
            below,
            link,
            info: self.info,
            capabilities: self.capabilities,
            handlers: self.handlers,
            timeouts: self.timeouts,
            retry: self.retry,
            probes: self.probes,
            in_flight: self.in_flight.map(|most| Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            layers: self.layers,
            trace_context: self.trace_context,
            catalog: Catalog::new(&self.limits),
            limits: self.limits,
            version: RwLock::new(self.version),
            last_id: AtomicI64::new(0),
        }))
    }

    /// The transport alone, for messages made elsewhere: URL, headers, version, timeouts, limits and
    /// the HTTP below are as set here.
    ///
    /// # Errors
    /// As of [`build`](Self::build), as far as HTTP goes; after [`over`](Self::over) and [`spawn`](Self::spawn).
    pub fn build_transport(mut self) -> Result<HttpTransport, Error> {
        let http = mem::replace(&mut self.http, Http::Own);
        let endpoint = self.endpoint(http)?;
        Ok(HttpTransport::new(endpoint, self.timeouts, self.limits, self.version))
    }

    /// The way to the server over HTTP, with its tokens.
    #[cfg_attr(
        not(feature = "oauth"),
        expect(clippy::needless_pass_by_ref_mut, reason = "tokens are taken out")
    )]
    fn endpoint(&mut self, http: Http) -> Result<Endpoint, Error> {
        #[cfg(feature = "oauth")]
        let is_own = matches!(http, Http::Own);
        let endpoint = endpoint(&self.url, &self.headers, http, &self.network)?;
        #[cfg(feature = "oauth")]
        if let Some(oauth) = self.oauth.take() {
            let network = is_own.then_some(&self.network);
            let fetcher = fetcher(&self.url, oauth.policy.clone(), network, &endpoint)?;
            return Ok(oauth.keep(endpoint, fetcher, self.info.as_ref()));
        }
        Ok(endpoint)
    }
}

#[cfg(feature = "oauth")]
impl ClientBuilder {
    /// What gets tokens for the server alone, for applications whose users sign in by steps: the URL and the HTTP
    /// below are as set here, and `policy` says what is allowed beyond what is safe. Headers that are set
    /// here are not sent.
    ///
    /// # Errors
    /// As of [`build`](Self::build), as far as HTTP goes; when the URL is none that tokens may be sent to.
    pub fn build_fetcher(self, policy: Policy) -> Result<Fetcher, Error> {
        let is_own = matches!(self.http, Http::Own);
        let endpoint = endpoint(&self.url, &self.headers, self.http, &self.network)?;
        fetcher(&self.url, policy, is_own.then_some(&self.network), &endpoint)
    }
}

/// Over connections of its own, made as those of `network`; or over those of the endpoint, where they are not made here.
#[cfg(feature = "oauth")]
fn fetcher(
    url: &str,
    policy: Policy,
    network: Option<&Network>,
    endpoint: &Endpoint,
) -> Result<Fetcher, Error> {
    let made = match network {
        Some(network) => Fetcher::of_network(network, url, policy),
        None => Fetcher::over(endpoint.service(), url, policy),
    };
    made.map_err(|error| Error::usage("there can be no tokens for the URL").caused_by(error))
}

/// A name for a server without an address, that no other has.
pub(crate) fn unique_name() -> Arc<str> {
    static NAMED: AtomicU64 = AtomicU64::new(0);
    format!("stream:{}", NAMED.fetch_add(1, Ordering::Relaxed)).into()
}

fn endpoint(
    url: &str,
    headers: &ExtraHeaders,
    http: Http,
    network: &Network,
) -> Result<Endpoint, Error> {
    let uri = parse_url(url)?;
    let service = match http {
        Http::Own => return network.endpoint(uri, headers),
        Http::Connector(make) => make(network.http2),
        Http::Service(service) => service,
        Http::Pipe(_) | Http::Child(_) => {
            return Err(Error::usage("a byte stream is no transport of HTTP"));
        }
    };
    Ok(Endpoint::new(uri, headers, service))
}

/// An address for servers without one: its host passes their checks.
pub(crate) const LOCAL: &str = "http://localhost/mcp";

/// Says where the server is, and nothing that may be secret.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("info", &self.info)
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
