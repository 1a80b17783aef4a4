//! `ClientBuilder`: how a client is made.

use std::fmt;
use std::sync::RwLock;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper_util::client::legacy::connect::Connect;
use mcp_types::{ClientCapabilities, Implementation, ProtocolVersion};
use tower_service::Service;

use crate::catalog::Catalog;
use crate::client::{Client, Shared};
use crate::deadline::Timeouts;
use crate::endpoint::{Endpoint, HttpService, Tower, parse_url, pool, tcp};
use crate::error::{BoxError, Error};
use crate::headers::ExtraHeaders;
use crate::limits::Limits;
use crate::transport::HttpTransport;

/// Builds a [`Client`]. What is not set has the default that its setter names.
#[must_use = "it builds nothing until `build` is called"]
pub struct ClientBuilder {
    url: Box<str>,
    info: Option<Implementation>,
    capabilities: ClientCapabilities,
    version: ProtocolVersion,
    timeouts: Timeouts,
    headers: ExtraHeaders,
    limits: Limits,
    http: Http,
    http2: bool,
}

/// What HTTP is spoken over.
enum Http {
    Tcp,
    /// Makes the pool, given whether it speaks HTTP/2.
    Connector(Box<dyn FnOnce(bool) -> Box<dyn HttpService> + Send + Sync>),
    Service(Box<dyn HttpService>),
}

impl ClientBuilder {
    /// 60 s without an answer: what other SDKs grant too, and more than interactive work needs.
    pub const TIMEOUT: Duration = Duration::from_secs(60);
    /// 10 min in all, progress or not: longer work belongs into a task that is asked after.
    pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);

    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.into(),
            info: Some(Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))),
            capabilities: ClientCapabilities::default(),
            version: ProtocolVersion::LATEST,
            timeouts: Timeouts { idle: Some(Self::TIMEOUT), total: Some(Self::TOTAL_TIMEOUT) },
            headers: ExtraHeaders::default(),
            limits: Limits::default(),
            http: Http::Tcp,
            http2: false,
        }
    }

    /// Who the client is, as every request says; `None` leaves it out. Default is this library.
    pub fn info(mut self, info: impl Into<Option<Implementation>>) -> Self {
        self.info = info.into();
        self
    }

    /// What the client can do for the server, as every request says. Default is nothing.
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

    /// Speaks HTTP/2 without asking for it first, over plain TCP too. Default is HTTP/1.1. It has no effect
    /// on a [`service`](Self::service).
    pub const fn http2_prior_knowledge(mut self) -> Self {
        self.http2 = true;
        self
    }

    /// Makes connections with `connector`, a tower service from addresses to byte streams: for TLS, Unix
    /// sockets or proxies. Default is TCP, without TLS.
    ///
    /// TCP sockets that it opens should have `TCP_NODELAY` set.
    pub fn connector<C>(mut self, connector: C) -> Self
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        self.http = Http::Connector(Box::new(|http2| pool(connector, http2)));
        self
    }

    /// Sends requests through `service`, in place of the connections made here: another HTTP client, tower
    /// layers around one, or a server in the same process. Every request gets a clone of it, made ready
    /// first. Default is hyper-util's pool.
    ///
    /// Requests have an absolute address and no `Host` header; the service must not follow redirects.
    pub fn service<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.http = Http::Service(Box::new(Tower(service)));
        self
    }

    /// The client. It does not connect yet.
    ///
    /// # Errors
    /// When the URL is not one of HTTP, or of HTTPS without a connector for it; when the version is one of
    /// those that begin with a handshake.
    pub fn build(self) -> Result<Client, Error> {
        if self.version.is_legacy() {
            let version = self.version;
            return Err(Error::usage(format!("version {version} is not spoken here")));
        }
        Ok(Client::from_shared(Shared {
            endpoint: endpoint(&self.url, &self.headers, self.http, self.http2)?,
            info: self.info,
            capabilities: self.capabilities,
            timeouts: self.timeouts,
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
    /// When the URL is not one of HTTP, or of HTTPS without a connector for it.
    pub fn build_transport(self) -> Result<HttpTransport, Error> {
        let endpoint = endpoint(&self.url, &self.headers, self.http, self.http2)?;
        Ok(HttpTransport::new(endpoint, self.timeouts, self.limits, self.version))
    }
}

fn endpoint(url: &str, headers: &ExtraHeaders, http: Http, http2: bool) -> Result<Endpoint, Error> {
    let uri = parse_url(url)?;
    let service = match http {
        Http::Tcp if uri.scheme() == Some(&Scheme::HTTPS) => {
            return Err(Error::usage("https:// needs a connector with TLS"));
        }
        Http::Tcp => pool(tcp(), http2),
        Http::Connector(make) => make(http2),
        Http::Service(service) => service,
    };
    Ok(Endpoint::new(uri, headers, service))
}

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
