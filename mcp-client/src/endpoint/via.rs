//! `Via`: connections through a proxy.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
#[cfg(feature = "oauth")]
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::uri::Scheme;
use http::{HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use tower_service::Service;

use super::dial::{Dial, Stream};
use super::service::{HttpService, Sent};
#[cfg(feature = "oauth")]
use super::vetted::{Vet, vetted};
use crate::error::BoxError;

/// Makes connections through one proxy.
#[derive(Clone)]
pub(crate) enum Via {
    /// To the proxy itself, which forwards requests.
    Forward { dial: Dial, proxy: Uri },
    /// To the server, by CONNECT.
    Tunnel(Tunnel<Dial>),
    /// To the server, by SOCKS 5.
    Socks {
        socks: SocksV5<Dial>,
        looks_up: bool,
        #[cfg(feature = "oauth")]
        vet: Option<Arc<dyn Vet>>,
    },
}

impl Via {
    pub(super) const fn forward(dial: Dial, proxy: Uri) -> Self {
        Self::Forward { dial, proxy }
    }

    pub(super) fn tunnel(dial: Dial, proxy: Uri, credentials: Option<HeaderValue>) -> Self {
        let tunnel = Tunnel::new(proxy, dial);
        Self::Tunnel(match credentials {
            Some(credentials) => tunnel.with_auth(credentials),
            None => tunnel,
        })
    }

    /// With `looks_up` the proxy finds out what names mean.
    pub(super) fn socks(
        dial: Dial,
        proxy: Uri,
        credentials: Option<(&str, &str)>,
        looks_up: bool,
    ) -> Self {
        let socks = SocksV5::new(proxy, dial);
        let socks = match credentials {
            Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
            None => socks,
        };
        Self::Socks {
            socks,
            looks_up,
            #[cfg(feature = "oauth")]
            vet: None,
        }
    }

    /// The same where `vet` looks at the addresses that are looked up here.
    #[cfg(feature = "oauth")]
    pub(super) fn vetted(self, vet: Option<Arc<dyn Vet>>) -> Self {
        match self {
            Self::Socks { socks, looks_up, .. } => Self::Socks { socks, looks_up, vet },
            other => other,
        }
    }
}

impl Service<Uri> for Via {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(())) // as a `Dial` is
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        match self.clone() {
            Self::Forward { mut dial, proxy } => {
                Box::pin(async move { dial.call(proxy).await.map(Stream::forwarded) })
            }
            Self::Tunnel(mut tunnel) => {
                Box::pin(async move { Ok(tunnel.call(with_port(&target)?).await?) })
            }
            #[cfg(feature = "oauth")]
            Self::Socks { mut socks, looks_up: false, vet: Some(vet) } => Box::pin(async move {
                let target = with_port(&target)?;
                let found = lookup(&target).await?;
                let passed = vetted(&*vet, target.host().unwrap_or_default(), found)?;
                Ok(socks.call(first(passed.into_iter())?).await?)
            }),
            Self::Socks { mut socks, looks_up, .. } => Box::pin(async move {
                let target = with_port(&target)?;
                let target = if looks_up { target } else { first(lookup(&target).await?)? };
                Ok(socks.call(target).await?)
            }),
        }
    }
}

/// What is below takes 443 where there is no port, whatever the scheme.
fn with_port(target: &Uri) -> Result<Uri, BoxError> {
    let scheme = target.scheme_str().unwrap_or_default();
    let default = if target.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let port = target.port_u16().unwrap_or(default);
    Ok(format!("{scheme}://{}:{port}/", target.host().unwrap_or_default()).parse()?)
}

/// The addresses of a host. Below, they would be looked for in a way that blocks.
async fn lookup(target: &Uri) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let authority = target.authority().map_or("", |authority| authority.as_str());
    tokio::net::lookup_host(authority).await
}

fn first(mut found: impl Iterator<Item = SocketAddr>) -> Result<Uri, BoxError> {
    let address = found.next().ok_or_else(|| io::Error::other("the host has no address"))?;
    Ok(format!("http://{address}/").parse()?)
}

/// What a forwarding proxy wants to see with every request.
pub(crate) struct Credentials(HeaderValue);

impl Credentials {
    pub(super) fn new(mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        Self(value)
    }

    /// Sends them with all that `service` sends. They are added here, at the bottom, since they are the proxy's alone:
    /// no answer depends on them.
    pub(crate) fn with(self, service: Box<dyn HttpService>) -> impl HttpService {
        Authorized { credentials: self.0, service }
    }
}

struct Authorized {
    credentials: HeaderValue,
    service: Box<dyn HttpService>,
}

impl HttpService for Authorized {
    fn send(&self, mut request: Request<Full<Bytes>>) -> Sent {
        request.headers_mut().insert(PROXY_AUTHORIZATION, self.credentials.clone());
        self.service.send(request)
    }
}
