//! `Dial`: a connector of any kind, which gives up in time.
//!
//! One type for all of them, so that the pool above is compiled once. What reading and writing through a pointer
//! costs is nothing beside the system call.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower_service::Service;

use crate::error::BoxError;
use crate::limits::Limits;

/// Makes connections as some other connector does.
#[derive(Clone)]
pub(crate) struct Dial(Arc<dyn Fn(Uri) -> Dialing + Send + Sync>);

type Dialing = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

impl Dial {
    /// Has [`Limits::CONNECT_TIME`] for all that `connector` does. The pool lets a connection that nobody waits for any
    /// more be made in the background; without a limit a peer that says nothing would keep it there for ever.
    pub(crate) fn new<C>(connector: C) -> Self
    where
        C: Service<Uri> + Clone + Send + Sync + 'static,
        C::Response: Io + 'static,
        C::Error: Into<BoxError>,
        C::Future: Send,
    {
        Self(Arc::new(move |uri| {
            let mut connector = connector.clone();
            Box::pin(async move {
                let dialing = async {
                    poll_fn(|cx| connector.poll_ready(cx)).await.map_err(Into::into)?;
                    connector.call(uri).await.map_err(Into::into)
                };
                match tokio::time::timeout(Limits::CONNECT_TIME, dialing).await {
                    Ok(Ok(io)) => Ok(Stream { io: Box::new(io), is_forwarded: false }),
                    Ok(Err(error)) => Err(reason(error)),
                    Err(_) => {
                        Err(format!("no connection within {:?}", Limits::CONNECT_TIME).into())
                    }
                }
            })
        }))
    }
}

impl Service<Uri> for Dial {
    type Response = Stream;
    type Error = BoxError;
    type Future = Dialing;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Dialing {
        (self.0)(uri)
    }
}

/// What there is to say of a failure.
fn reason(error: BoxError) -> BoxError {
    #[cfg(feature = "tls")]
    let error = super::tls::reason(error);
    error
}

/// What HTTP is spoken over.
pub(crate) trait Io: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Io for T {}

/// A connection of any kind.
pub(crate) struct Stream {
    io: Box<dyn Io>,
    is_forwarded: bool,
}

impl Stream {
    /// The same to a proxy that forwards requests, which therefore name their server.
    #[cfg(feature = "proxy")]
    pub(crate) fn forwarded(self) -> Self {
        Self { is_forwarded: true, ..self }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = self.io.connected();
        // What is below may have said so already.
        if self.is_forwarded { connected.proxy(true) } else { connected }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::net::TcpStream;

    use super::*;

    /// Never connects.
    #[derive(Clone)]
    struct Silent;

    impl Service<Uri> for Silent {
        type Response = TokioIo<TcpStream>;
        type Error = BoxError;
        type Future = std::future::Pending<Result<Self::Response, BoxError>>;

        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _uri: Uri) -> Self::Future {
            std::future::pending()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn gives_up() {
        let Err(error) = Dial::new(Silent).call(Uri::from_static("http://h/")).await else {
            panic!("connected to nothing");
        };
        assert_eq!(error.to_string(), "no connection within 10s");
    }
}
