//! A server that is a process, spoken to in lines.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::json::cut;
use super::log::Log;
use crate::verdict::{Stop, Verdict};

/// A running process and its standard streams. It is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What was read of a line that is not whole yet: a read may be given up in its middle.
    partial: Vec<u8>,
    log: Log,
    patience: Duration,
}

impl Process {
    /// Starts a shell command.
    pub(crate) fn start(command: &str, log: &Log, patience: Duration) -> Verdict<Self> {
        let mut shell = Command::new("sh");
        // The shell outlives a signal to both, so that its end tells of that of the command.
        shell
            .args(["-c", &format!("trap : TERM\n{command}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // A signal has to reach what the shell started, and nothing else.
        #[cfg(unix)]
        shell.process_group(0);
        let spawned = shell.spawn();
        let mut child =
            spawned.map_err(|error| Stop::lost(format!("{command:?} does not start: {error}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| Stop::lost("the process has no standard output"))?;
        let output = BufReader::new(output);
        Ok(Self { child, input, output, partial: Vec::new(), log: log.clone(), patience })
    }

    /// Sends bytes as they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Verdict {
        self.log.sent(bytes);
        let Some(input) = &mut self.input else {
            return Err(Stop::lost("the input is closed already"));
        };
        match timeout(self.patience, input.write_all(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Stop::lost(format!("the process does not read on: {error}"))),
            Err(_) => Err(Stop::lost("the process does not read what is sent to it")),
        }
    }

    /// Sends a message and the end of its line.
    pub(crate) async fn send_line(&mut self, text: &str) -> Verdict {
        self.send(format!("{text}\n").as_bytes()).await
    }

    /// The same process, waited for in every step for as long as this.
    pub(crate) fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Closes the input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// The next message; nothing when the output is closed.
    pub(crate) async fn next(&mut self) -> Verdict<Option<Value>> {
        match self.line().await? {
            None => Ok(None),
            Some(line) => serde_json::from_str(&line).map(Some).map_err(|error| {
                Stop::fail("lines that are JSON-RPC messages", format!("{error}: {}", cut(&line)))
            }),
        }
    }

    /// The next line as it is; nothing when the output is closed.
    pub(crate) async fn line(&mut self) -> Verdict<Option<String>> {
        let read = timeout(self.patience, self.output.read_until(b'\n', &mut self.partial)).await;
        let line = match read {
            Ok(Ok(_)) => std::mem::take(&mut self.partial),
            _ => Vec::new(),
        };
        match read {
            Err(_) => Err(Stop::silent(self.patience)),
            Ok(Err(error)) => Err(Stop::lost(format!("the output broke off: {error}"))),
            Ok(Ok(_)) if line.is_empty() => Ok(None),
            Ok(Ok(_)) => {
                self.log.seen(&line);
                String::from_utf8(line)
                    .map(|line| Some(line.trim_end_matches(['\r', '\n']).to_owned()))
                    .map_err(|error| Stop::fail("lines in UTF-8", error.to_string()))
            }
        }
    }

    /// Asks the process to end, as a client does that has lost its patience.
    ///
    /// # Errors
    /// The check is skipped where there are no signals.
    pub(crate) async fn terminate(&self) -> Verdict {
        let id = self.id().ok_or_else(|| Stop::lost("the process has ended already"))?;
        self.log.note("SIGTERM");
        let kill = Command::new("kill").args(["-TERM", "--", &format!("-{id}")]).status().await;
        match kill {
            Ok(status) if status.success() && cfg!(unix) => Ok(()),
            _ => Err(Stop::skip("there are no signals")),
        }
    }

    /// The number of the process, while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the process to end; whether it did so by itself, and well.
    pub(crate) async fn ended(&mut self) -> Verdict<bool> {
        Ok(self.status().await?.success())
    }

    /// Whether the process, which has been terminated, ends by the signal and not by itself.
    pub(crate) async fn is_killed(&mut self) -> Verdict<bool> {
        const BY_SIGTERM: i32 = 128 + 15;
        Ok(matches!(self.status().await?.code(), None | Some(BY_SIGTERM)))
    }

    /// Waits for the process to end.
    async fn status(&mut self) -> Verdict<ExitStatus> {
        match timeout(self.patience, self.child.wait()).await {
            Ok(Ok(status)) => Ok(status),
            Ok(Err(error)) => Err(Stop::lost(error.to_string())),
            Err(_) => Err(Stop::fail(
                "an end of the process",
                format!("it runs on after {:?}", self.patience),
            )),
        }
    }
}

/// Ending the shell alone would leave what it has started.
#[cfg(unix)]
impl Drop for Process {
    fn drop(&mut self) {
        if let Some(id) = self.id() {
            let group = format!("-{id}");
            let mut kill = std::process::Command::new("kill");
            let _ = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        }
    }
}
