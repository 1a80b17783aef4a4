//! A server that is a process, spoken to in lines.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::exchange::bounded;
use super::http::{WHOLE, endless};
use super::json::cut;
use super::log::Log;
use super::{Gathered, Group};
use crate::verdict::{Stop, Verdict};

/// A running process and its standard streams. It is killed when this is dropped, with all that it has started.
pub(crate) struct Process {
    child: Child,
    /// Nothing once the process has ended, and with it the rest of its group.
    group: Option<Group>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What was read of a line that is not whole yet: a read may be given up in its middle.
    partial: Vec<u8>,
    /// Bytes that may still be read, and messages that were.
    left: usize,
    count: usize,
    /// What it says besides.
    complaints: Gathered,
    log: Log,
    patience: Duration,
}

impl Process {
    /// Starts a shell command.
    pub(crate) fn start(command: &str, log: &Log, patience: Duration) -> Verdict<Self> {
        // The shell outlives a signal to both, so that its end tells of that of the command.
        let mut shell = Group::shell(&format!("trap : TERM\n{command}"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Group::start(shell);
        let (mut child, group) =
            started.map_err(|error| Stop::lost(format!("{command:?} does not start: {error}")))?;
        let complaints = Gathered::from(child.stderr.take(), COMPLAINTS);
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| Stop::lost("the process has no standard output"))?;
        let output = BufReader::new(output);
        Ok(Self {
            child,
            group: Some(group),
            input,
            output,
            partial: Vec::new(),
            left: WHOLE,
            count: 0,
            complaints,
            log: log.clone(),
            patience,
        })
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
            Some(line) => {
                self.count += 1;
                bounded(self.count)?;
                serde_json::from_str(&line).map(Some).map_err(|error| {
                    let seen = format!("{error}: {}", cut(&line));
                    Stop::fail("lines that are JSON-RPC messages", seen)
                })
            }
        }
    }

    /// The next line as it is; nothing when the output is closed.
    pub(crate) async fn line(&mut self) -> Verdict<Option<String>> {
        let left = self.left.saturating_sub(self.partial.len());
        if left == 0 {
            return Err(endless());
        }
        let mut output = (&mut self.output).take(left as u64);
        let read = timeout(self.patience, output.read_until(b'\n', &mut self.partial)).await;
        let line = match read {
            Ok(Ok(length)) if length == left && !self.partial.ends_with(b"\n") => {
                return Err(endless());
            }
            Ok(Ok(_)) => std::mem::take(&mut self.partial),
            _ => Vec::new(),
        };
        self.left = self.left.saturating_sub(line.len());
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
    pub(crate) fn terminate(&self) -> Verdict {
        let group = self.group.as_ref();
        let group = group.ok_or_else(|| Stop::lost("the process has ended already"))?;
        self.log.note("SIGTERM");
        if group.signal("TERM") { Ok(()) } else { Err(Stop::skip("there are no signals")) }
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

    /// Says how the process has ended, whose output is over, and what it has said last.
    pub(crate) async fn obituary(&mut self) -> String {
        let end = match self.status().await {
            Ok(status) => format!("it ends at once, with {status}"),
            Err(_) => "it closes its standard output at once".to_owned(),
        };
        let _ = timeout(self.patience, self.complaints.end()).await;
        said_last(&end, &self.complaints.text())
    }

    /// Waits for the process to end.
    async fn status(&mut self) -> Verdict<ExitStatus> {
        match timeout(self.patience, self.child.wait()).await {
            Ok(Ok(status)) => {
                self.group = None;
                Ok(status)
            }
            Ok(Err(error)) => Err(Stop::lost(error.to_string())),
            Err(_) => Err(Stop::fail(
                "an end of the process",
                format!("it runs on after {:?}", self.patience),
            )),
        }
    }
}

/// What it has said besides is told at its end, when most of it has arrived.
impl Drop for Process {
    fn drop(&mut self) {
        for line in self.complaints.text().lines() {
            self.log.note(&format!("the server says {line}"));
        }
    }
}

/// How something ended, and the last lines of what was said.
pub(crate) fn said_last(end: &str, said: &str) -> String {
    let lines = said.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut last =
        lines.rev().take(LAST).map(|line| format!("\n    {}", cut(line))).collect::<Vec<_>>();
    last.reverse();
    if last.is_empty() { end.to_owned() } else { format!("{end}; it says{}", last.concat()) }
}

/// Lines that are shown of what was said last.
const LAST: usize = 10;
/// Bytes of the standard error that are kept.
const COMPLAINTS: usize = 16 * 1024;
