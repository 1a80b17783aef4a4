//! `Revival`: starting a server's process again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::Pipe;
use super::connection::Connection;
use super::inbox::End;
use crate::child::{Restart, ToSpawn};
use crate::error::{Error, Kind};
use crate::future::first;

/// What it takes to start a process again.
pub(super) struct Revival {
    attempts: Mutex<Attempts>,
    policy: Restart,
    /// Bytes of a line.
    limit: usize,
    /// Says that nothing is to be started any more.
    over: watch::Sender<bool>,
}

struct Attempts {
    server: ToSpawn,
    /// The last start, and how many there were in a row without a healthy process.
    started_at: Instant,
    failed: u32,
}

impl Revival {
    /// For a server that has just been started.
    pub(super) fn new(server: ToSpawn, policy: Restart, limit: usize) -> Self {
        let attempts = Attempts { server, started_at: Instant::now(), failed: 0 };
        Self { attempts: Mutex::new(attempts), policy, limit, over: watch::Sender::new(false) }
    }

    /// Lets nothing be started any more.
    pub(super) fn give_up(&self) {
        self.over.send_replace(true);
    }

    /// Puts another process into the place of one that has died, unless somebody else has. Cancel safe.
    ///
    /// # Errors
    /// When it cannot be started, was started too often, or is not to be.
    pub(super) async fn revive(&self, pipe: &Pipe) -> Result<Arc<Connection>, Error> {
        let mut attempts = self.attempts.lock().await;
        let died = pipe.current()?;
        if !died.has_ended() {
            return Ok(died);
        }
        let attempts = &mut *attempts;
        if attempts.held(&died) >= self.policy.pauses().longest() {
            attempts.failed = 0;
        }
        if attempts.failed >= self.policy.most() {
            let why = format!("it was started {} times in a row", attempts.failed);
            return Err(Error::new(Kind::Closed).caused_by(why));
        }
        let pause = self.policy.pauses().pause(attempts.failed);
        let mut over = self.over.subscribe();
        let over = async { drop(over.wait_for(|over| *over).await) };
        let pause = tokio::time::sleep(pause.saturating_sub(attempts.started_at.elapsed()));
        if first(pause, over).await.is_none() {
            return Err(Error::new(Kind::Closed));
        }
        tracing::warn!(failed = attempts.failed, "the server's process is started again");
        (attempts.started_at, attempts.failed) = (Instant::now(), attempts.failed + 1);
        // It may only have closed its output.
        died.kill();
        pipe.replace(Connection::spawn(&mut attempts.server, self.limit, End::Died)?)
    }
}

impl Attempts {
    /// How long the process ran.
    fn held(&self, died: &Connection) -> Duration {
        let until = died.ended_at().unwrap_or(self.started_at);
        until.saturating_duration_since(self.started_at)
    }
}
