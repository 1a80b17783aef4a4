//! `Fetch`: how documents about tokens are had.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

/// What a fetch comes to.
pub type Fetching<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Bytes>, FetchError>> + Send + 'a>>;

/// Sends one request and reads the whole response: keys and metadata of issuers, answers of introspection.
///
/// [`HttpsFetch`] is the default. Bring another for a proxy, for pinned certificates, or to count and log. A function of
/// a request that returns a future is one as well.
///
/// It must bound the body and the time, must verify the other side's certificate, and should not follow redirects, which
/// nothing here asks for. A status other than 200 is no error of it. Its future may be dropped at any `.await`.
pub trait Fetch: Send + Sync + 'static {
    /// Sends `request`, whose URL is absolute.
    fn fetch(&self, request: Request<Bytes>) -> Fetching<'_>;
}

impl<F, Fut> Fetch for F
where
    F: Fn(Request<Bytes>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Response<Bytes>, FetchError>> + Send + 'static,
{
    fn fetch(&self, request: Request<Bytes>) -> Fetching<'_> {
        Box::pin(self(request))
    }
}

/// HTTPS with what the system trusts; HTTP on loopback alone. Redirects are not followed, and proxies not used.
///
/// Connections are kept for a while and shared by its clones.
#[derive(Clone)]
pub struct HttpsFetch {
    timeout: Duration,
    body: usize,
    roots: Vec<CertificateDer<'static>>,
    /// Made by the first request: reading the system's roots takes a while, and what fails in it fails requests.
    client: Arc<OnceLock<Result<Pool, FetchError>>>,
}

type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

impl HttpsFetch {
    /// 5 s for a whole exchange: half of what a request waits for its token to be verified.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    /// 256 KiB of a body: a hundred keys, each with a chain of certificates that nobody reads.
    pub const BODY: usize = 256 * 1024;
    /// How long an idle connection is kept: 90 s.
    const IDLE_TIME: Duration = Duration::from_secs(90);
    /// Idle connections kept for one host.
    const IDLE_CONNECTIONS: usize = 8;

    /// With the default limits.
    pub fn new() -> Self {
        Self { timeout: Self::TIMEOUT, body: Self::BODY, roots: Vec::new(), client: Arc::default() }
    }

    /// How long an exchange may take, from connecting to the last byte. Default is [`TIMEOUT`](Self::TIMEOUT).
    #[must_use]
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How many bytes of a body are read; more is an error. Default is [`BODY`](Self::BODY).
    #[must_use]
    pub const fn body(mut self, limit: usize) -> Self {
        self.body = limit;
        self
    }

    /// Trusts the root certificates in `pem` besides those of the system.
    ///
    /// # Errors
    /// When there is none, or one that cannot be read.
    pub fn root_certificates(mut self, pem: &[u8]) -> Result<Self, FetchError> {
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let roots = roots.map_err(|error| FetchError::caused("a root cannot be read", error))?;
        if roots.is_empty() {
            return Err(FetchError::new("there is no certificate in PEM"));
        }
        self.roots.extend(roots);
        self.client = Arc::default();
        Ok(self)
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, FetchError> {
        check(request.uri())?;
        let client = self.client.get_or_init(|| pool(&self.roots)).as_ref();
        let client = client.map_err(Clone::clone)?;
        let response = client.request(request.map(Full::new)).await;
        let response = response.map_err(|error| FetchError::caused("no answer", error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, self.body).collect().await;
        let body = body.map_err(|error| FetchError::caused("the body cannot be read", error))?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

impl Default for HttpsFetch {
    fn default() -> Self {
        Self::new()
    }
}

impl Fetch for HttpsFetch {
    fn fetch(&self, request: Request<Bytes>) -> Fetching<'_> {
        Box::pin(async move {
            let exchanged = tokio::time::timeout(self.timeout, self.exchange(request)).await;
            exchanged.unwrap_or_else(|_| Err(FetchError::new("no answer in time")))
        })
    }
}

impl fmt::Debug for HttpsFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsFetch").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Why nothing was fetched. It holds no part of the request. A cheap clone.
#[derive(Clone)]
pub struct FetchError {
    what: Arc<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl FetchError {
    /// An error that says this.
    pub fn new(what: impl Into<Arc<str>>) -> Self {
        Self { what: what.into(), source: None }
    }

    /// The same, with its cause.
    pub fn caused(
        what: impl Into<Arc<str>>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { what: what.into(), source: Some(source.into().into()) }
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl fmt::Debug for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchError")
            .field("what", &self.what)
            .field("source", &self.source)
            .finish()
    }
}

impl StdError for FetchError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The document at `url`: the response if its status is 200, and `None` if it says, in whatever words, that there is
/// none. That the server is in trouble says nothing.
pub(super) async fn document(
    fetch: &dyn Fetch,
    url: &str,
) -> Result<Option<Response<Bytes>>, FetchError> {
    let request = Request::get(url).header(ACCEPT, "application/json").header(USER_AGENT, AGENT);
    let request = request.body(Bytes::new());
    let request = request.map_err(|error| FetchError::caused(format!("{url} is no URL"), error))?;
    let response = fetch.fetch(request).await;
    let response = response.map_err(|error| FetchError::caused(format!("of {url}"), error))?;
    match response.status() {
        StatusCode::OK => Ok(Some(response)),
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Err(FetchError::new(format!("{url} answered {status}")))
        }
        _ => Ok(None),
    }
}

/// The text of a body.
pub(super) fn text(response: &Response<Bytes>) -> Result<&str, FetchError> {
    str::from_utf8(response.body())
        .map_err(|error| FetchError::caused("the document is not UTF-8", error))
}

/// Who asks. Some firewalls turn away whoever does not say.
pub(super) const AGENT: &str = concat!("mcp-server/", env!("CARGO_PKG_VERSION"));

/// That keys and secrets travel over TLS, or not at all over a network.
fn check(url: &Uri) -> Result<(), FetchError> {
    let host = url.host().unwrap_or_default();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    match url.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_loopback => Ok(()),
        _ => Err(FetchError::new("the URL is not https, as it has to be except on loopback")),
    }
}

fn pool(roots: &[CertificateDer<'static>]) -> Result<Pool, FetchError> {
    let config = config(roots);
    let config = config.map_err(|error| FetchError::caused("TLS cannot be set up", error))?;
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    // TLS is taken care of above it.
    tcp.enforce_http(false);
    let builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
    Ok(Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(HttpsFetch::IDLE_TIME)
        .pool_max_idle_per_host(HttpsFetch::IDLE_CONNECTIONS)
        .build(builder.enable_http1().wrap_connector(tcp)))
}

fn config(roots: &[CertificateDer<'static>]) -> Result<ClientConfig, rustls::Error> {
    let installed = CryptoProvider::get_default().cloned();
    let provider = installed.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let verifier = Verifier::new_with_extra_roots(roots.iter().cloned(), Arc::clone(&provider))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        // The name is rustls': this verifier is what the system itself does.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_does_without_tls() {
        for (url, is) in [
            ("https://auth.example.com/keys", true),
            ("HTTPS://auth.example.com/keys", true),
            ("http://localhost:8080/keys", true),
            ("http://127.0.0.1/keys", true),
            ("http://127.1.2.3:1/keys", true),
            ("http://[::1]:8080/keys", true),
            ("http://auth.example.com/keys", false),
            ("http://localhost.example.com/keys", false),
            ("http://127.0.0.1.example.com/keys", false),
            ("http://10.0.0.1/keys", false),
            ("file:///etc/passwd", false),
            ("ftp://localhost/keys", false),
            ("/keys", false),
        ] {
            let checked = url.parse::<Uri>().is_ok_and(|url| check(&url).is_ok());
            assert_eq!(checked, is, "{url}");
        }
    }
}
