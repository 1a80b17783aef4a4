//! Serving over byte streams: one message a line, all requests at once.
//!
//! `reader → Input → dispatch → InFlight → Output → writer`, in one task a connection, which alone reads and writes.
//! Handlers run in tasks of their own. What they say waits in their outboxes, which are bounded, until there is
//! nothing left to be written; then the connection takes it. So no message of a request leaves once it is cancelled,
//! and a client that does not read costs no more than its requests in flight.
//!
//! Specification: stdio.

mod connection;
mod in_flight;
mod input;
mod output;
#[cfg(feature = "stdio")]
mod stdio;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::caller::RequestParts;
use crate::error::ServeError;
use crate::serve::Signal;
use crate::server::Server;
use connection::Connection;

type Reader = Pin<Box<dyn AsyncRead + Send>>;
type Writer = Pin<Box<dyn AsyncWrite + Send>>;

impl Server {
    /// Serves one client over a byte stream: an accepted Unix or TCP socket, a pipe, memory. Every message is a line.
    ///
    /// Await what this returns; it resolves when the stream has ended. Whom handlers see as the caller is told with
    /// [`parts`](ServeStream::parts). There is no check of a host or an origin here, and a stream that strangers can
    /// reach has to be authenticated before it is served.
    ///
    /// ```no_run
    /// use mcp_server::{Caller, RequestParts, Server};
    /// use tokio::net::UnixListener;
    ///
    /// # async fn example(server: Server) -> Result<(), Box<dyn std::error::Error>> {
    /// let listener = UnixListener::bind("/run/user/1000/greeter.sock")?;
    /// loop {
    ///     let (stream, _) = listener.accept().await?;
    ///     let user = format!("uid {}", stream.peer_cred()?.uid());
    ///     let parts = RequestParts { caller: Some(Caller::new(user)), ..RequestParts::default() };
    ///     let (reader, writer) = stream.into_split();
    ///     tokio::spawn(server.clone().serve_stream(reader, writer).parts(parts).into_future());
    /// }
    /// # }
    /// ```
    pub fn serve_stream<R, W>(self, reader: R, writer: W) -> ServeStream
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        ServeStream::new(self, Streams::Given(Box::pin(reader), Box::pin(writer)))
    }

    /// Serves the client that started this process, over standard input and output.
    ///
    /// On Unix the two are taken away from the rest of the process when serving begins, for good: a stray `println!`,
    /// or a child process that inherits them, writes to standard error and reads nothing. Elsewhere it is up to the
    /// author that nothing but messages is written to standard output. Logs belong on standard error everywhere, so
    /// tell `tracing_subscriber` with `.with_writer(std::io::stderr)`.
    ///
    /// Reading and writing happen in threads of their own, which hold up neither the runtime nor the end of the
    /// process. Signals are the author's, with [`shutdown_on`](ServeStream::shutdown_on). A client that does not
    /// read is waited for, since it owns this process.
    ///
    /// # Errors
    /// Of the future: [`ServeError::Stream`], as for [`serve_stream`](Self::serve_stream), and when the two have been
    /// served before.
    ///
    /// ```no_run
    /// # async fn example(server: mcp_server::Server) -> Result<(), mcp_server::ServeError> {
    /// server.serve_stdio().await
    /// # }
    /// ```
    #[cfg(feature = "stdio")]
    pub fn serve_stdio(self) -> ServeStream {
        ServeStream::new(self, Streams::Standard)
    }
}

/// A server about to serve one client over a byte stream. Awaiting it serves until the stream has ended and what was
/// asked for is answered. Dropping it cancels every request in flight and drops the stream.
///
/// - Requests are handled at once and answered as they get done. `notifications/cancelled` drops the handler where it
///   waits, and nothing more is written for its request.
/// - A line that is no message is answered with an error, one over [`Limits::body`](crate::Limits::body) too, and the
///   next is read as usual. Responses, which clients do not send, are passed over.
/// - [`Limits::exchanges_per_caller`](crate::Limits::exchanges_per_caller) and
///   [`listens_per_caller`](crate::Limits::listens_per_caller) also bound what one connection has in flight.
/// - When the client closes its end, subscriptions end with their result, and calls in flight may still be answered.
/// - A subscription whose client reads too slowly is broken off with `notifications/cancelled`.
///
/// # Errors
/// [`ServeError::Stream`] when the stream fails. A client that is gone is no failure.
///
/// Specification: stdio; Cancellation; Subscriptions.
#[must_use = "nothing is served until it is awaited"]
pub struct ServeStream {
    server: Server,
    streams: Streams,
    parts: RequestParts,
    signal: Option<Signal>,
    drain_time: Duration,
}

enum Streams {
    Given(Reader, Writer),
    #[cfg(feature = "stdio")]
    Standard,
}

impl ServeStream {
    /// 5 s: longer than clients wait for a process before they end it, so that it is theirs to decide, and short enough
    /// for whoever waits at the end of a shell's pipe.
    pub const DRAIN_TIME: Duration = Duration::from_secs(5);

    fn new(server: Server, streams: Streams) -> Self {
        let parts = RequestParts::default();
        Self { server, streams, parts, signal: None, drain_time: Self::DRAIN_TIME }
    }

    /// What handlers see of every message: the caller, the address of the peer, extensions. Default is nothing.
    pub fn parts(mut self, parts: RequestParts) -> Self {
        self.parts = parts;
        self
    }

    /// Begins to end when `signal` resolves, as if the client had closed its end; calls that run to completion for
    /// nobody may end as well. Default is never.
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.signal = Some(Box::pin(signal));
        self
    }

    /// How long calls in flight, and those that run to completion for nobody, may take to end after the signal, or after
    /// the client has closed its end; what is left then is dropped. Default is [`DRAIN_TIME`](Self::DRAIN_TIME).
    pub const fn drain_time(mut self, limit: Duration) -> Self {
        self.drain_time = limit;
        self
    }

    async fn run(self) -> Result<(), ServeError> {
        let shared = self.server.shared;
        let (streams, stall, is_process) = match self.streams {
            Streams::Given(reader, writer) => {
                ((reader, writer), Some(shared.limits.write_stall), false)
            }
            #[cfg(feature = "stdio")]
            Streams::Standard => (stdio::open().map_err(ServeError::Stream)?, None, true),
        };
        let mut connection = Connection::new(shared.clone(), self.parts, streams, stall);
        connection.end_on(self.signal, self.drain_time);
        let ended = connection.serve().await;
        let outlives = is_process || connection.was_signalled();
        let deadline = connection.deadline();
        drop(connection);
        if outlives {
            let ended = tokio::time::timeout_at(deadline, shared.detached.ended()).await;
            if ended.is_err() {
                tracing::warn!("calls were still running to completion when time was up");
            }
        }
        match ended {
            Err(error) if !is_gone(&error) => Err(ServeError::Stream(error)),
            _ => Ok(()),
        }
    }
}

/// Whether it only says that the client has left.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof
    )
}

impl IntoFuture for ServeStream {
    type Output = Result<(), ServeError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for ServeStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeStream").field("server", &self.server).finish_non_exhaustive()
    }
}
