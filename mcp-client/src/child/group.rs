//! Signals to a process and all that it has started.

use tokio::process::Child;

/// The process group of a child, which is its leader.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        Self(leader.and_then(rustix::process::Pid::from_raw))
    }

    /// Asks all of it to end.
    pub(super) fn terminate(self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Ends all of it.
    pub(super) fn kill(self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(self, signal: rustix::process::Signal) {
        let Some(leader) = self.0 else {
            return;
        };
        match rustix::process::kill_process_group(leader, signal) {
            // That nothing is left of the group is no news.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => {
                tracing::warn!(%error, "no signal could be sent to a server's process group");
            }
        }
    }
}

/// Elsewhere there are no groups: the child alone is killed, by its handle.
#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
pub(super) struct Group;

#[cfg(not(unix))]
impl Group {
    pub(super) fn of(_child: &Child) -> Self {
        Self
    }

    pub(super) fn terminate(self) {}

    pub(super) fn kill(self) {}
}
