//! `Pipe`: the byte stream that all calls share; where a process is started again, one after the other. Specification:
//! stdio.

mod connection;
mod inbox;
mod revival;
mod routes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::child::{Restart, ToSpawn};
use crate::deadline::Deadline;
use crate::error::{Error, Kind};
use crate::limits::Limits;
pub(crate) use connection::{Connection, PipeReply};
use inbox::End;
use revival::Revival;
pub(crate) use routes::Wants;

/// The way to a server over lines.
pub(crate) struct Pipe {
    now: Mutex<Now>,
    revival: Option<Revival>,
}

struct Now {
    connection: Arc<Connection>,
    /// By the caller, for good.
    is_closed: bool,
}

impl Pipe {
    /// Begins to read and write.
    ///
    /// # Errors
    /// Outside of a Tokio runtime.
    pub(crate) fn new<R, W>(reader: R, writer: W, limits: &Limits) -> Result<Self, Error>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Ok(Self::of(Connection::new(reader, writer, limits.event, End::Closed)?, None))
    }

    /// Starts a server and speaks to it over its standard streams.
    ///
    /// # Errors
    /// When it cannot be started, and outside of a Tokio runtime.
    pub(crate) fn spawn(
        mut server: ToSpawn,
        restart: Option<Restart>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let Some(restart) = restart else {
            return Ok(Self::of(Connection::spawn(&mut server, limits.event, End::Closed)?, None));
        };
        let connection = Connection::spawn(&mut server, limits.event, End::Died)?;
        Ok(Self::of(connection, Some(Revival::new(server, restart, limits.event))))
    }

    fn of(connection: Connection, revival: Option<Revival>) -> Self {
        let now = Now { connection: Arc::new(connection), is_closed: false };
        Self { now: Mutex::new(now), revival }
    }

    /// Writes what is left, ends the stream, and waits for a process that was started here to end. Requests that
    /// wait are answered as long as the server does; no more can be sent, and nothing is started again.
    pub(crate) async fn close(&self) {
        let connection = {
            let mut now = self.now();
            now.is_closed = true;
            Arc::clone(&now.connection)
        };
        if let Some(revival) = &self.revival {
            revival.give_up();
        }
        connection.close().await;
    }

    /// The connection; where a process has died that may be started again, one to another process.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// When it was closed, and when no process is to be started any more or not in time.
    pub(crate) async fn connection(
        &self,
        deadline: &mut Deadline,
    ) -> Result<Arc<Connection>, Error> {
        let connection = self.current()?;
        match &self.revival {
            Some(revival) if connection.has_ended() => deadline.race(revival.revive(self)).await?,
            _ => Ok(connection),
        }
    }

    /// The connection, which may have ended.
    ///
    /// # Errors
    /// When it was closed.
    fn current(&self) -> Result<Arc<Connection>, Error> {
        let now = self.now();
        if now.is_closed {
            return Err(Error::new(Kind::Closed));
        }
        Ok(Arc::clone(&now.connection))
    }

    /// Goes on over another connection.
    ///
    /// # Errors
    /// When it was closed meanwhile.
    fn replace(&self, connection: Connection) -> Result<Arc<Connection>, Error> {
        let mut now = self.now();
        if now.is_closed {
            return Err(Error::new(Kind::Closed));
        }
        now.connection = Arc::new(connection);
        Ok(Arc::clone(&now.connection))
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // Nothing here panics between two changes.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
