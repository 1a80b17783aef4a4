//! Signals to a process and all that it has started.
//!
//! The one file to change when something else sends them. It uses the program `kill`, which POSIX has everywhere,
//! because the system call needs either `unsafe` or another dependency.

use tokio::process::Child;

/// The process group of a child, which is its leader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(Option<u32>);

impl Group {
    pub(super) fn of(child: &Child) -> Self {
        Self(child.id())
    }

    /// Asks all of it to end.
    pub(super) fn terminate(self) {
        self.signal("TERM");
    }

    /// Ends all of it. Returns once the signal has been sent.
    pub(super) fn kill(self) {
        self.signal("KILL");
    }

    #[cfg(unix)]
    fn signal(self, name: &str) {
        use std::process::{Command, Stdio};

        let Some(leader) = self.0 else {
            return;
        };
        let sent = Command::new("kill")
            .args(["-s", name, "--", &format!("-{leader}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // That nothing is left of the group is no news.
            .stderr(Stdio::null())
            .status();
        if let Err(error) = sent {
            tracing::warn!(%error, "no signal could be sent to a server's process group");
        }
    }

    /// Elsewhere the child alone is killed, by its handle.
    #[cfg(not(unix))]
    fn signal(self, _name: &str) {
        let _ = self.0;
    }
}
