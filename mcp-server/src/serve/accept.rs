//! The accept loop, one task a connection, and the drain at the end.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
#[cfg(feature = "http2")]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Signal;
use super::guard::Guard;
use super::protocol::Protocol;
use super::sniff::sniff;
use crate::caller::Connection;
use crate::error::ServeError;
use crate::server::Shared;
use crate::service::{ResponseFuture, respond};
use crate::subscription::Group;

/// Without traffic, a peer that has vanished is found out after this and a few probes more. HTTP/2 pings in
/// the same rhythm.
pub(super) const PROBE_AFTER: Duration = Duration::from_secs(60);
/// How long to wait when accepting fails for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts and serves until `signal`, then lets what is under way end for at most `drain_time`.
pub(super) async fn run(
    shared: Arc<Shared>,
    listener: TcpListener,
    signal: Signal,
    drain_time: Duration,
) -> Result<(), ServeError> {
    let protocol = Arc::new(Protocol::new(&shared.limits));
    let connections = Arc::new(Semaphore::new(shared.limits.connections));
    let graceful = GracefulShutdown::new();
    let group = Group::default();
    let mut tasks = tokio::task::JoinSet::new();
    let mut signal = pin!(signal);
    loop {
        let mut accepting = pin!(accept(&listener, &connections));
        let accepted = poll_fn(|cx| match signal.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => accepting.as_mut().poll(cx).map(Some),
        });
        let Some(accepted) = accepted.await else { break };
        while tasks.try_join_next().is_some() {}
        let Some((stream, peer, permit)) = accepted? else { continue };
        let (shared, protocol) = (Arc::clone(&shared), Arc::clone(&protocol));
        let connection = serve(shared, group.clone(), protocol, stream, peer, graceful.watcher());
        tasks.spawn(async move {
            connection.await;
            drop(permit);
        });
    }
    drop(listener);
    tracing::info!("shutting down");
    shared.subscriptions.hub.end(&group);
    let drained = async {
        graceful.shutdown().await;
        shared.detached.ended().await;
    };
    if tokio::time::timeout(drain_time, drained).await.is_err() {
        tracing::warn!("calls were still under way when the time to drain was over");
    }
    // Dropping the set ends what is left.
    Ok(())
}

/// The next connection; `None` when one failed to come about.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Result<Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)>, ServeError> {
    let permit = match Arc::clone(connections).acquire_owned().await {
        Ok(permit) => permit,
        // The semaphore is never closed.
        Err(closed) => return Err(ServeError::Accept(io::Error::other(closed))),
    };
    match listener.accept().await {
        Ok((stream, peer)) => Ok(Some((stream, peer, permit))),
        Err(error) if is_about_one_connection(&error) => Ok(None),
        Err(error) => {
            tracing::warn!(%error, "cannot accept connections for the moment");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            Ok(None)
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

async fn serve(
    shared: Arc<Shared>,
    group: Group,
    protocol: Arc<Protocol>,
    stream: TcpStream,
    peer: SocketAddr,
    watcher: Watcher,
) {
    configure(&stream);
    let limits = shared.limits;
    let connection = Connection { peer, requests: Arc::default() };
    #[cfg(feature = "http2")]
    let requests = Arc::clone(&connection.requests);
    let Some(opening) = sniff(&stream, &group, limits.header_time).await else { return };
    let io = Guard::new(TokioIo::new(stream), opening.first, limits.write_stall);
    let answer = move |request| answer(&shared, &group, &connection, request);
    let service = hyper::service::service_fn(answer);
    #[cfg(feature = "http2")]
    if opening.is_http2 {
        let served = watcher.watch(protocol.http2.serve_connection(io, service));
        // In a box of its own, so that connections of HTTP/1.1 have no room for it.
        return Box::pin(watch(served, &requests, limits.header_time)).await;
    }
    let served = watcher.watch(protocol.http1.serve_connection(io, service));
    log(served.await);
}

/// Polls a connection of HTTP/2 to its end, or until it is idle for `limit`: HTTP/1.1 closes idle connections by
/// itself, but a peer that answers pings could hold one for ever.
#[cfg(feature = "http2")]
async fn watch(
    served: impl Future<Output = hyper::Result<()>>,
    requests: &Arc<AtomicUsize>,
    limit: Duration,
) {
    let mut served = pin!(served);
    let mut before = 0;
    loop {
        if let Ok(ended) = tokio::time::timeout(limit, &mut served).await {
            return log(ended);
        }
        let began = requests.load(Ordering::Relaxed);
        if began == before && Arc::strong_count(requests) == IDLE {
            tracing::debug!("an idle connection is closed");
            return;
        }
        before = began;
    }
}

fn log(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        // Peers come and go; that is no fault of the server.
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::debug!(error, "a connection ended early");
    }
}

/// Who counts the requests of a connection without one under way: whoever watches it, and its service.
#[cfg(feature = "http2")]
const IDLE: usize = 2;

fn answer(
    shared: &Arc<Shared>,
    group: &Group,
    connection: &Connection,
    request: Request<Incoming>,
) -> ResponseFuture {
    connection.requests.fetch_add(1, Ordering::Relaxed);
    let (head, body) = request.into_parts();
    respond(Arc::clone(shared), &shared.head, group.clone(), head, Some(connection), body)
}

/// Events have to leave when they are written, and a peer that vanished has to be found out.
fn configure(stream: &TcpStream) {
    let keep_alive = TcpKeepalive::new().with_time(PROBE_AFTER);
    let set = stream
        .set_nodelay(true)
        .and_then(|()| SockRef::from(stream).set_tcp_keepalive(&keep_alive));
    if let Err(error) = set {
        tracing::debug!(%error, "a socket option could not be set");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sockets_send_at_once_and_are_probed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (accepted, client) = tokio::join!(listener.accept(), client);
        let (stream, _) = accepted.unwrap();
        configure(&stream);
        assert!(stream.nodelay().unwrap());
        assert!(SockRef::from(&stream).keepalive().unwrap());
        drop(client);
    }
}
