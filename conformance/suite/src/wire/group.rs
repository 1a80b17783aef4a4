//! `Group`: a shell command and all that it has started, which end together.

use std::collections::BTreeSet;
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, Command};

/// The groups that have not been ended yet; nothing once all were, and no more may begin. Locked while one begins: a
/// run that is broken off must miss none.
static RUNNING: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

fn running() -> MutexGuard<'static, Option<BTreeSet<u32>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The group of a shell command. All of it is killed when this is dropped, whether or not the shell itself has ended.
#[derive(Debug)]
pub(crate) struct Group(u32);

impl Group {
    /// A shell that is to carry out `script`.
    pub(crate) fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).kill_on_drop(true);
        shell
    }

    /// Starts a shell in a group of its own: a signal has to reach what it has started, and neither the suite nor others.
    ///
    /// # Errors
    /// It does not start, or the run is over.
    pub(crate) fn start(mut shell: Command) -> io::Result<(Child, Self)> {
        #[cfg(unix)]
        shell.process_group(0);
        let mut running = running();
        let over = || io::Error::other("the run is over");
        let running = running.as_mut().ok_or_else(over)?;
        let child = shell.spawn()?;
        let id = child.id().ok_or_else(|| io::Error::other("it has ended at once"))?;
        running.insert(id);
        Ok((child, Self(id)))
    }

    /// Sends a signal, such as `TERM`, to all of it; whether that was possible.
    pub(crate) fn signal(&self, signal: &str) -> bool {
        send(signal, self.0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        send("KILL", self.0);
        running().as_mut().map(|running| running.remove(&self.0));
    }
}

/// Kills all groups that there are, and lets no more begin.
pub(crate) fn end_all() {
    for id in running().take().unwrap_or_default() {
        send("KILL", id);
    }
}

/// The shell's own `kill`: small images have no program of that name.
fn send(signal: &str, group: u32) -> bool {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("kill -s {signal} -- -{group}")]);
    let sent = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    cfg!(unix) && sent.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::time::timeout;

    use super::*;

    /// The output is inherited by all that a shell has started: it ends when the last of them has ended.
    async fn output_ends(shell: &mut Child) -> bool {
        let mut output = shell.stdout.take().unwrap();
        let mut all = Vec::new();
        timeout(Duration::from_secs(30), output.read_to_end(&mut all)).await.is_ok()
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_a_shell_leaves_behind_ends_with_its_group() {
        for script in
            ["trap '' TERM INT HUP; sleep 1000", "sleep 1000 & true", "sleep 1000 & exit 3"]
        {
            let mut shell = Group::shell(script);
            shell.stdout(Stdio::piped());
            let (mut shell, group) = Group::start(shell).unwrap();
            if !script.starts_with("trap") {
                shell.wait().await.unwrap();
            }
            drop(group);
            assert!(output_ends(&mut shell).await, "{script}");
        }
    }
}
