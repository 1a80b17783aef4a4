//! `Network`: the way to a server, where connections are made here.

#[cfg(unix)]
use std::path::PathBuf;
#[cfg(feature = "oauth")]
use std::sync::Arc;

use http::Uri;
use http::uri::Scheme;
use tower_service::Service;

use super::connect::{pool, tcp};
use super::dial::{Dial, Io};
#[cfg(feature = "proxy")]
use super::proxy::{Proxies, Proxy};
#[cfg(feature = "tls")]
use super::tls::Tls;
#[cfg(unix)]
use super::unix::UnixConnector;
#[cfg(feature = "oauth")]
use super::vetted::{Vet, vetted_tcp};
use super::{Endpoint, HttpService};
use crate::error::{BoxError, Error};
use crate::headers::ExtraHeaders;

/// What connections are made of.
#[derive(Clone, Default)]
pub(crate) struct Network {
    /// HTTP/2 and nothing else.
    pub(crate) http2: bool,
    /// A Unix socket, in place of the host that the address names.
    #[cfg(unix)]
    pub(crate) socket: Option<PathBuf>,
    #[cfg(feature = "proxy")]
    pub(crate) proxies: Proxies,
    #[cfg(feature = "tls")]
    pub(crate) tls: Tls,
    /// Looks at the addresses that names stand for.
    #[cfg(feature = "oauth")]
    pub(crate) vet: Option<Arc<dyn Vet>>,
}

impl Network {
    /// The endpoint at `uri`, whose requests say `extra`.
    ///
    /// # Errors
    /// When the address wants TLS, which is not there or cannot be set up, or its proxy cannot be used.
    pub(crate) fn endpoint(&self, uri: Uri, extra: &ExtraHeaders) -> Result<Endpoint, Error> {
        let service = self.pool(&uri)?;
        #[cfg(unix)]
        if let Some(path) = &self.socket {
            let shown = format!("unix:{}:{}", path.display(), uri.path());
            return Ok(Endpoint::new(uri, extra, service).shown_as(shown));
        }
        Ok(Endpoint::new(uri, extra, service))
    }

    /// Whether connections say who the client is, so that answers may depend on it.
    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unused_self, reason = "that is for TLS to say")
    )]
    pub(crate) fn has_credentials(&self) -> bool {
        #[cfg(feature = "tls")]
        return matches!(self.tls, Tls::Given(_));
        #[cfg(not(feature = "tls"))]
        false
    }

    /// The same for hosts that strangers name, where `vet` looks at what their names stand for. Where a proxy looks names
    /// up, it alone can do that. The environment is asked now.
    #[cfg(feature = "oauth")]
    pub(crate) fn vetted(&self, vet: Arc<dyn Vet>) -> Self {
        let mut vetted = Self { vet: Some(vet), ..self.clone() };
        #[cfg(feature = "proxy")]
        vetted.proxies.settle();
        #[cfg(not(feature = "proxy"))]
        let _ = &mut vetted;
        vetted
    }

    /// Connections for `uri`.
    ///
    /// # Errors
    /// As of [`endpoint`](Self::endpoint).
    pub(crate) fn pool(&self, uri: &Uri) -> Result<Box<dyn HttpService>, Error> {
        #[cfg(not(feature = "tls"))]
        if is_https(uri) {
            let what = "https:// needs the feature `tls`, or a connector with TLS";
            return Err(Error::usage(what));
        }
        #[cfg(unix)]
        if let Some(path) = &self.socket {
            return self.pool_over(UnixConnector::new(path), uri);
        }
        #[cfg(feature = "proxy")]
        if let Some(proxy) = self.proxies.of(uri)? {
            return self.pool_through(proxy, uri);
        }
        #[cfg(feature = "oauth")]
        if let Some(vet) = &self.vet {
            return self.pool_over(vetted_tcp(vet), uri);
        }
        self.pool_over(tcp(), uri)
    }

    /// The same over what `connector` connects to, with TLS if the address wants it.
    fn pool_over<C>(&self, connector: C, uri: &Uri) -> Result<Box<dyn HttpService>, Error>
    where
        C: Service<Uri, Response: Io + 'static> + Clone + Send + Sync + 'static,
        C::Error: Into<BoxError>,
        C::Future: Send + 'static,
    {
        #[cfg(feature = "tls")]
        if is_https(uri) {
            let secured = self.tls.server_connector(connector, self.http2)?;
            return Ok(pool(Dial::new(secured), self.http2));
        }
        let _ = uri;
        Ok(pool(Dial::new(connector), self.http2))
    }

    #[cfg(feature = "proxy")]
    fn pool_through(&self, proxy: Proxy, uri: &Uri) -> Result<Box<dyn HttpService>, Error> {
        let dial = if is_https(proxy.uri()) { self.dial_secured()? } else { Dial::new(tcp()) };
        // What the proxy cannot read, or might not forward as it is, goes through a tunnel.
        let forwards = !is_https(uri) && !self.http2;
        let (via, credentials) = proxy.through(dial, forwards);
        #[cfg(feature = "oauth")]
        let via = via.vetted(self.vet.clone());
        match credentials {
            None => self.pool_over(via, uri),
            Some(credentials) => Ok(Box::new(credentials.with(self.pool_over(via, uri)?))),
        }
    }

    #[cfg(feature = "tls")]
    fn dial_secured(&self) -> Result<Dial, Error> {
        Ok(Dial::new(self.tls.proxy_connector(tcp())?))
    }

    #[cfg(all(feature = "proxy", not(feature = "tls")))]
    #[expect(clippy::unused_self, reason = "the other one needs it")]
    fn dial_secured(&self) -> Result<Dial, Error> {
        Err(Error::usage("a proxy at https:// needs the feature `tls`"))
    }
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}
