//! Processes under test, and whether they are there at all.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, thread};

/// A program and what it prints. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) child: Child,
    lines: Receiver<String>,
}

/// The lines of a stream as they come, read by a thread.
pub(crate) fn lines(stream: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stream).lines();
        lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

impl Program {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Self {
        // The pipe for its input is held open: the end of it is the end of a server.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = child.stdout.take().expect("a pipe was asked for");
        Self { child, lines: lines(stdout) }
    }

    /// Starts it, and reads what it writes to standard error as well.
    pub(crate) fn start_heard(command: &mut Command) -> (Self, Receiver<String>) {
        let mut program = Self::start(command.stderr(Stdio::piped()));
        let stderr = program.child.stderr.take().expect("a pipe was asked for");
        (program, lines(stderr))
    }

    /// Writes a line to its input.
    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").unwrap();
    }

    /// Waits until it has ended by itself, with its input still open.
    pub(crate) fn ended(mut self) {
        while self.lines.recv_timeout(LIMIT) != Err(RecvTimeoutError::Disconnected) {}
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// The next line that it prints.
    pub(crate) fn line(&self) -> String {
        let line = self.lines.recv_timeout(LIMIT);
        line.expect("what is waited for is printed")
    }

    /// Ends it by ending its input, and returns what it still had to print.
    pub(crate) fn end(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => rest.push(line),
                // Its output ends with it.
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; it printed {rest:?}"),
            }
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}; it printed {rest:?}");
        rest
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that serves.
#[derive(Debug)]
pub(crate) struct Serving {
    /// What it prints besides.
    pub(crate) program: Program,
    /// The address of its endpoint.
    pub(crate) url: String,
}

impl Serving {
    /// Starts it and waits for its `listening PORT`.
    pub(crate) fn start(command: &mut Command) -> Self {
        let program = Program::start(command);
        let line = program.line();
        let port = line.strip_prefix("listening ").expect("a server says where");
        Self { url: format!("http://127.0.0.1:{port}/mcp"), program }
    }

    /// Ours.
    pub(crate) fn ours() -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_everything-server")).arg("--until-eof"))
    }
}

/// Holds off the other tests: what the official suite waits for has to come within half a second, which
/// should not be spent on waiting for a processor.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a part of the peers is installed, told by one of its files. If not, says so.
///
/// # Panics
/// In CI, where it has to be.
pub(crate) fn is_installed(file: &str) -> bool {
    let file = peers().join(file);
    if file.exists() {
        return true;
    }
    let test = thread::current().name().unwrap_or_default().to_owned();
    let why = format!("{} is missing; peers/setup.sh installs it", file.display());
    assert!(env::var_os("CI").is_none(), "{why}");
    // Not by the macro: what it prints is only shown when a test fails.
    let line = format!("{test}: skipped, {why}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
    false
}

/// The folder of the peers.
pub(crate) fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// For any one step of any program: far more than it takes, and the end of what hangs.
const LIMIT: Duration = Duration::from_secs(30);
