//! `Process`: a server that the client starts, and ends. Specification: stdio, Shutdown.

mod group;
mod restart;
mod stderr;

use std::future::Future;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::error::{Error, Kind};
use crate::limits::Limits;
use group::Group;
pub use restart::Restart;
pub(crate) use stderr::StderrCallback;

/// A child process. Dropping it kills it, and whatever it has started, before the drop returns.
pub(crate) struct Process {
    group: Group,
    /// Says that it is to end.
    closing: watch::Sender<bool>,
    /// Says that it has ended.
    ended: watch::Receiver<bool>,
}

/// The ends of its standard streams: what it writes and what it reads.
pub(crate) type Streams =
    (Box<dyn AsyncRead + Send + Sync + Unpin>, Box<dyn AsyncWrite + Send + Sync + Unpin>);

impl Process {
    /// Starts `command`, with its standard streams for messages and logs.
    ///
    /// # Errors
    /// When it cannot be started, and outside of a Tokio runtime.
    pub(crate) fn start(
        command: &mut Command,
        grace: Duration,
        on_stderr: Option<StderrCallback>,
    ) -> Result<(Self, Streams), Error> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|error| {
            Error::usage("a server is started within a Tokio runtime").caused_by(error)
        })?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child =
            command.spawn().map_err(|error| Error::new(Kind::Spawn).caused_by(error))?;
        let group = Group::of(&child);
        let missing = || Error::new(Kind::Spawn).caused_by("its standard streams are missing");
        let reader = child.stdout.take().ok_or_else(missing)?;
        let writer = child.stdin.take().ok_or_else(missing)?;
        if let Some(stderr) = child.stderr.take() {
            runtime.spawn(stderr::read(stderr, on_stderr));
        }
        let (closing, close) = watch::channel(false);
        let (end, ended) = watch::channel(false);
        runtime.spawn(supervise(child, group, close, grace, end));
        Ok((Self { group, closing, ended }, (Box::new(reader), Box::new(writer))))
    }

    /// Ends it at once, and whatever it has started.
    pub(crate) fn kill(&self) {
        if !*self.ended.borrow() {
            self.group.kill();
        }
    }

    /// Waits until it has ended, for which its input must have been closed: by itself, else by being told to, else
    /// by being killed, within twice the grace. Cancel safe: it is ended all the same.
    pub(crate) async fn end(&self) {
        self.closing.send_replace(true);
        let mut ended = self.ended.clone();
        // Nobody is left to say so when the runtime shuts down, which kills it.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Resolves when it has ended and all that it wrote had time to be read. What it has started may have left its
    /// group and hold its standard output open, so that this need not end by itself.
    pub(crate) fn gone(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut ended = self.ended.clone();
        async move {
            let _ = ended.wait_for(|ended| *ended).await;
            tokio::time::sleep(Limits::STREAM_END).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for a child, ends it when that is wanted, and ends whatever it has left behind.
async fn supervise(
    mut child: Child,
    group: Group,
    mut close: watch::Receiver<bool>,
    grace: Duration,
    end: watch::Sender<bool>,
) {
    // An error says that nobody is left to want anything: the process has been killed by then.
    let wanted = async { drop(close.wait_for(|close| *close).await) };
    let exited = crate::future::first(child.wait(), wanted).await;
    if exited.is_none() {
        let left = timeout(grace, child.wait()).await;
        if left.is_err() {
            group.terminate();
            if timeout(grace, child.wait()).await.is_err() {
                group.kill();
                let _ = child.kill().await;
            }
        }
    }
    // Processes it has started may outlive it, with its standard streams in their hands.
    group.kill();
    tracing::debug!("the server's process has ended");
    end.send_replace(true);
}

impl Limits {
    /// 2 s for a server's process to end once its input is closed, and again once it was told to. Set by
    /// [`shutdown_grace`](crate::ClientBuilder::shutdown_grace).
    pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
}

/// A process to be started, and perhaps again.
pub(crate) struct ToSpawn {
    pub(crate) command: Command,
    pub(crate) grace: Duration,
    pub(crate) on_stderr: Option<StderrCallback>,
}

impl ToSpawn {
    pub(crate) fn spawn(&mut self) -> Result<(Process, Streams), Error> {
        Process::start(&mut self.command, self.grace, self.on_stderr.clone())
    }
}
