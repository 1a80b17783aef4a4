//! How a client is told what its connections are made of.

#[cfg(unix)]
use std::path::PathBuf;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper_util::client::legacy::connect::Connect;
use tower_service::Service;

#[cfg(feature = "proxy")]
use super::proxy::{Proxies, Proxy, Variables};
#[cfg(feature = "tls")]
use super::tls::Tls;
use super::{Tower, pool};
use crate::builder::{ClientBuilder, Http};
use crate::error::BoxError;
#[cfg(feature = "proxy")]
use crate::error::Error;

/// What connections are made of. See the [manual](crate::manual::connections).
impl ClientBuilder {
    /// Speaks HTTP/2 and nothing else: over plain TCP without asking for it first, over TLS by offering no more.
    /// Default is HTTP/1.1 over plain TCP, and over TLS what the server prefers. It has no effect on a
    /// [`service`](Self::service).
    pub const fn http2_prior_knowledge(mut self) -> Self {
        self.network.http2 = true;
        self
    }

    /// Connects to the Unix socket at `path`, whatever host the URL names; host and path of the URL are those of the
    /// requests. Default is TCP. Proxies have no part in it. It takes the place of a [`connector`](Self::connector) or
    /// a [`service`](Self::service).
    ///
    /// ```
    /// # fn example() -> Result<(), mcp_client::Error> {
    /// let client = mcp_client::Client::builder("http://localhost/tools/mcp")
    ///     .unix("/run/tools.sock")
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn unix(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        // Servers at different sockets may have the same URL. Debug's form tells any two paths apart.
        self.server = Some(format!("unix:{path:?}:{}", self.url).into());
        self.network.socket = Some(path);
        self.http = Http::Own;
        self
    }

    /// Trusts the root certificates in `pem`, one or more of them in PEM, beside those that the system trusts. Default
    /// is the system's alone. It has no effect on a [`connector`](Self::connector) or a [`service`](Self::service).
    ///
    /// # Errors
    /// When there is no certificate in it, or one that cannot be read; after [`tls`](Self::tls), whose
    /// configuration has roots of its own.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Result<Self, Error> {
        self.network.tls.trust(pem.as_ref())?;
        Ok(self)
    }

    /// Speaks TLS as `config` says, with other roots, a certificate for the client, other cryptography, in place of all
    /// defaults. What it says of ALPN is replaced. It has no effect on a [`connector`](Self::connector) or a
    /// [`service`](Self::service).
    ///
    /// The client shares cached private answers with no other unless there is a
    /// [`cache_context`](Self::cache_context): certificates are credentials.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use mcp_client::Client;
    /// use mcp_client::rustls::crypto::ring;
    /// use mcp_client::rustls::pki_types::pem::PemObject;
    /// use mcp_client::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    /// use mcp_client::rustls::{ClientConfig, RootCertStore};
    ///
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut roots = RootCertStore::empty();
    /// roots.add(CertificateDer::from_pem_file("ca.pem")?)?;
    /// let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
    ///     .with_safe_default_protocol_versions()?
    ///     .with_root_certificates(roots)
    ///     .with_client_auth_cert(
    ///         vec![CertificateDer::from_pem_file("client.pem")?],
    ///         PrivateKeyDer::from_pem_file("client.key")?,
    ///     )?;
    /// let client = Client::builder("https://mcp.example.com/mcp").tls(config).build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tls")]
    pub fn tls(mut self, config: rustls::ClientConfig) -> Self {
        self.network.tls = Tls::Given(Box::new(config));
        self
    }

    /// Goes through the proxy at `url`, whatever the environment says and wherever the server is. Default is what the
    /// environment says. It has no effect on a [`connector`](Self::connector) or a [`service`](Self::service).
    ///
    /// It begins with `http://`, `https://` (feature `tls`), `socks5://`, or `socks5h://` for one that looks names up
    /// itself; credentials in it go to the proxy and nowhere else, percent-encoded as in any URL.
    ///
    /// # Errors
    /// When it is no address of such a proxy.
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, url: impl AsRef<str>) -> Result<Self, Error> {
        let proxy = Proxy::parse(url.as_ref())
            .map_err(|why| Error::usage(format!("the proxy cannot be used: {why}")))?;
        self.network.proxies = Proxies::Given(proxy);
        Ok(self)
    }

    /// Goes through the proxy that variables name as those of the environment do, but which `lookup` gives, such as
    /// from a configuration. Default is the environment.
    #[cfg(feature = "proxy")]
    pub fn proxy_variables(mut self, lookup: impl Fn(&str) -> Option<String>) -> Self {
        self.network.proxies = Proxies::Variables(Variables::read(lookup));
        self
    }

    /// Goes through no proxy, whatever the environment says.
    #[cfg(feature = "proxy")]
    pub fn no_proxy(mut self) -> Self {
        self.network.proxies = Proxies::Nowhere;
        self
    }

    /// Makes connections with `connector`, a tower service from addresses to byte streams: for other kinds of sockets,
    /// or TLS by another library. Default is TCP, with TLS by the feature `tls`.
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
}
