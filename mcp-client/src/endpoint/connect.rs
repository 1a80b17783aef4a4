//! hyper-util's pool, set up as this protocol needs it. It calls itself legacy; this is the one file to
//! change when something else takes its place.

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, Error as PoolError};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::{HttpService, Tower};
use crate::error::{BoxError, Error, Kind};
use crate::limits::Limits;

/// A pool of the connections that `connector` makes. With `http2` they speak HTTP/2 without being asked.
pub(crate) fn pool<C>(connector: C, http2: bool) -> Box<dyn HttpService>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client: Client<C, Full<Bytes>> = Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Limits::IDLE_TIME)
        .pool_max_idle_per_host(Limits::IDLE_CONNECTIONS)
        .http2_only(http2)
        .http2_keep_alive_interval(Limits::PROBE_AFTER)
        .build(connector);
    Box::new(Tower(client))
}

/// Plain TCP.
pub(crate) fn tcp() -> HttpConnector {
    tcp_with(GaiResolver::new())
}

/// The same, where `resolver` says what names mean.
pub(super) fn tcp_with<R>(resolver: R) -> HttpConnector<R> {
    let mut connector = HttpConnector::new_with_resolver(resolver);
    // Without this the last piece of a request waits for the acknowledgement of the one before, 40 ms.
    connector.set_nodelay(true);
    connector.set_keepalive(Some(Limits::PROBE_AFTER));
    connector.set_connect_timeout(Some(Limits::CONNECT_TIME));
    // Others take care of TLS, above.
    connector.enforce_http(false);
    connector
}

/// Whether a request failed before or after there was a connection.
pub(super) fn classify(error: BoxError) -> Error {
    let is_connect = error.downcast_ref::<PoolError>().is_some_and(PoolError::is_connect);
    let kind = match is_connect {
        #[cfg(feature = "tls")]
        true if super::tls::is_refusal(&*error) => Kind::Untrusted,
        true => Kind::Connect,
        false => Kind::Exchange,
    };
    Error::new(kind).caused_by(error)
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::net::{TcpListener, TcpStream};
    use tower_service::Service;

    use super::*;

    #[tokio::test]
    async fn sockets_send_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let io: TokioIo<TcpStream> = tcp().call(url.parse().unwrap()).await.unwrap();
        assert!(io.inner().nodelay().unwrap());
    }
}
