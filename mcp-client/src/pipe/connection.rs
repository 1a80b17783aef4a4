//! `Connection`: one byte stream, from its beginning to its end. Specification: stdio.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, Weak};

use bytes::BytesMut;
use mcp_transport::line::{self, Decoder};
use mcp_types::{CancelledParams, Notification, NotificationMessage, RequestId, notification};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::inbox::{End, Inbox};
use super::routes::{Route, Routes, Wants};
use crate::child::{Process, ToSpawn};
use crate::deadline::Deadline;
use crate::error::{Error, Kind};
use crate::future::first;
use crate::limits::Limits;
use crate::probe::Era;

/// A connection of lines. Its two tasks, one for each direction, end with it.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    era: Era,
    /// What is at the other end, if it was started here.
    process: Option<Process>,
}

struct Shared {
    lines: mpsc::UnboundedSender<Outgoing>,
    room: Arc<Semaphore>,
    routes: Arc<Routes>,
    reader: AbortHandle,
}

/// What the writer gets.
enum Outgoing {
    Line(Line),
    /// Nothing will follow.
    End,
}

/// A message to be written. One that cancels needs no room: there is one at most for each that had some.
struct Line {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Begins to read, lines of up to `limit` bytes, and to write. Requests that wait at the end are told by `end`.
    ///
    /// # Errors
    /// Outside of a Tokio runtime.
    pub(super) fn new<R, W>(reader: R, writer: W, limit: usize, end: End) -> Result<Self, Error>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::until(pending(), reader, writer, limit, end)
    }

    /// The same, which ends at the latest when `gone` does.
    fn until<R, W>(
        gone: impl Future<Output = ()> + Send + 'static,
        reader: R,
        writer: W,
        limit: usize,
        end: End,
    ) -> Result<Self, Error>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let runtime = Handle::try_current().map_err(|error| {
            Error::usage("a client over a byte stream is made within a Tokio runtime")
                .caused_by(error)
        })?;
        let routes = Arc::new(Routes::new(end));
        let (lines, to_write) = mpsc::unbounded_channel();
        let reader = runtime.spawn(read(reader, gone, Arc::clone(&routes), limit));
        runtime.spawn(write(writer, to_write, Arc::downgrade(&routes)));
        let shared = Shared {
            lines,
            room: Arc::new(Semaphore::new(Limits::PIPE_WRITES)),
            routes,
            reader: reader.abort_handle(),
        };
        Ok(Self { shared: Arc::new(shared), era: Era::default(), process: None })
    }

    /// Starts a server and speaks to it over its standard streams.
    ///
    /// # Errors
    /// When it cannot be started, and outside of a Tokio runtime.
    pub(super) fn spawn(server: &mut ToSpawn, limit: usize, end: End) -> Result<Self, Error> {
        let (process, (reader, writer)) = server.spawn()?;
        let connection = Self::until(process.gone(), reader, writer, limit, end)?;
        Ok(Self { process: Some(process), ..connection })
    }

    /// What is known of the server.
    pub(crate) const fn era(&self) -> &Era {
        &self.era
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended_at().is_some()
    }

    /// When it ended; `None` while it has not.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.shared.routes.ended_at()
    }

    /// Ends a process that was started here at once.
    pub(super) fn kill(&self) {
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// See [`Pipe::close`](super::Pipe::close).
    pub(super) async fn close(&self) {
        self.shared.room.close();
        let _ = self.shared.lines.send(Outgoing::End);
        if let Some(process) = &self.process {
            process.end().await;
        }
    }

    /// Sends the request `id`, whose JSON text this is, and returns where its messages arrive.
    ///
    /// Cancel safe: a message is written as a whole or not at all.
    ///
    /// # Errors
    /// When the connection has ended or is being closed, or there is no room for the request in time.
    pub(crate) async fn send(
        &self,
        id: &RequestId,
        request: &[u8],
        wants: Wants,
        deadline: &mut Deadline,
    ) -> Result<PipeReply, Error> {
        let room = deadline.race(Arc::clone(&self.shared.room).acquire_owned()).await?;
        let room = room.map_err(|error| Error::new(Kind::Closed).caused_by(error))?;
        let inbox = Arc::new(Inbox::default());
        let route = Route { inbox: Arc::clone(&inbox), wants };
        self.shared.routes.open(id.clone(), route)?;
        let reply = PipeReply { id: id.clone(), inbox, shared: Arc::clone(&self.shared) };
        let mut bytes = Vec::with_capacity(request.len() + 1);
        line::write_line_with(&mut bytes, |out| out.extend_from_slice(request));
        if self.shared.write(Line { bytes, _room: Some(room) }) {
            Ok(reply)
        } else {
            Err(self.shared.routes.end().error())
        }
    }
}

impl Shared {
    /// Returns whether anybody is there to take it.
    fn write(&self, line: Line) -> bool {
        self.lines.send(Outgoing::Line(line)).is_ok()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The writer ends by itself, once it has written what is left, and so ends the stream.
        self.reader.abort();
    }
}

/// The messages that answer one request. Dropping it before the response is there cancels the request, with a
/// message, since there is no stream of its own to be closed. Specification: stdio, Cancellation.
pub(crate) struct PipeReply {
    id: RequestId,
    pub(crate) inbox: Arc<Inbox>,
    shared: Arc<Shared>,
}

impl Drop for PipeReply {
    fn drop(&mut self) {
        if !self.shared.routes.forget(&self.id) {
            return;
        }
        let params = CancelledParams::new(self.id.clone());
        let message = NotificationMessage::new(notification::Cancelled::METHOD, params);
        let mut bytes = Vec::new();
        if line::write_line_with(&mut bytes, |out| serde_json::to_writer(out, &message)).is_ok() {
            self.shared.write(Line { bytes, _room: None });
        }
    }
}

/// Hands what arrives to whom it is for, until the end, or until what wrote it is gone.
async fn read<R: AsyncRead + Unpin>(
    mut reader: R,
    gone: impl Future<Output = ()>,
    routes: Arc<Routes>,
    limit: usize,
) {
    let mut gone = pin!(gone);
    let mut decoder = Decoder::new(limit);
    let mut buffer = BytesMut::new();
    let mut junk = 0;
    let reason = loop {
        buffer.reserve(READ_BYTES);
        match first(reader.read_buf(&mut buffer), &mut gone).await {
            Some(Ok(0)) | None => break None,
            Some(Ok(_)) => decoder.push(buffer.split().freeze()),
            Some(Err(error)) => break Some(error),
        }
        while let Some(line) = decoder.next() {
            routes.take(line, &mut junk);
        }
    };
    if let Some(line) = decoder.finish() {
        routes.take(line, &mut junk);
    }
    tracing::debug!(?reason, "the connection to the server has ended");
    routes.close();
}

/// Writes what is sent, until nobody is left to send anything.
async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    routes: Weak<Routes>,
) {
    while let Some(outgoing) = lines.recv().await {
        let Outgoing::Line(line) = outgoing else {
            // What was sent at the same moment is still written.
            lines.close();
            continue;
        };
        let written = async {
            writer.write_all(&line.bytes).await?;
            // What waits together leaves together.
            if lines.is_empty() { writer.flush().await } else { Ok(()) }
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the server reads no more");
            if let Some(routes) = routes.upgrade() {
                routes.close();
            }
            return;
        }
    }
    let _ = writer.shutdown().await;
}

/// How much is read at once: a pipe's own buffer is that big.
const READ_BYTES: usize = 64 * 1024;
