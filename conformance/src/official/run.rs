//! Starts the suite and waits for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, iter, thread};

use super::{Expected, Leg, Verdict, judge, read_results};

/// The suite as `peers/setup.sh` installs it, and where its results go.
#[derive(Clone, Debug)]
pub struct Suite {
    peers: PathBuf,
    out: PathBuf,
}

/// What the suite is let loose on.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has two sides")]
pub enum Subject<'a> {
    /// A server that is listening already.
    Server {
        /// Its endpoint. The suite wants a loopback address here, and one in digits saves it a look-up.
        url: &'a str,
    },
    /// A client that is started once a scenario, all of them at the same time. It gets the URL of the
    /// scenario's server as its only argument and the scenario's name in `MCP_CONFORMANCE_SCENARIO`.
    Client {
        /// Its executable.
        program: &'a Path,
    },
}

impl Suite {
    /// The suite in the folder `peers`, writing into the folder `out`, which it makes when needed.
    pub fn new(peers: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        Self { peers: peers.into(), out: out.into() }
    }

    /// Runs every scenario of one side for revision 2026-07-28, scored or not, and judges the results by
    /// `official/expected.txt` in the folder of the peers.
    ///
    /// Blocks for about 10 s, and for 4 minutes at the most. Run one side at a time: some of the suite's checks
    /// wait no longer than half a second. All that the suite wrote stays in the folder `server` or `client` of
    /// the output until the next run: `suite.log` and `results/`.
    ///
    /// # Errors
    /// Fails if the suite cannot be started or does not end in time, if its results cannot be read, and
    /// if the list of what is expected is malformed. What the results say is the verdict's business.
    pub fn check(&self, subject: Subject<'_>) -> io::Result<Verdict> {
        let leg = match subject {
            Subject::Server { .. } => Leg::Server,
            Subject::Client { .. } => Leg::Client,
        };
        let peers = std::path::absolute(&self.peers)?;
        let expected: Expected =
            fs::read_to_string(peers.join("official/expected.txt"))?.parse()?;
        let folder = std::path::absolute(&self.out)?.join(leg.as_str());
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let (results, exits) = (folder.join("results"), folder.join("exits"));
        fs::create_dir_all(&results)?;
        fs::create_dir_all(&exits)?;

        let listing = folder.join("scenarios.txt");
        let listed = run(suite(&peers)?.arg("list"), &listing)?.success();
        let wanted = scenarios(leg, &fs::read_to_string(&listing)?);
        if !listed || wanted.is_empty() {
            return Err(io::Error::other(format!("no scenarios in {}", listing.display())));
        }

        let mut command = suite(&peers)?;
        command.arg(leg.as_str()).arg("--output-dir").arg(&results);
        match subject {
            Subject::Server { url } => command.args(["--url", url]),
            Subject::Client { program } => {
                command.arg("--command").arg(recorded(&peers, &exits, program)?)
            }
        };
        // Its own verdict, the exit code, is left aside: ours is stricter and knows what is expected.
        run(&mut command, &folder.join("suite.log"))?;
        let ran = read_results(leg, &results, &exits)?;
        Ok(judge(leg, &wanted, &ran, &expected))
    }
}

/// The command line for a client whose end is recorded in `exits`; the suite hands it to `sh` and adds the URL.
fn recorded(peers: &Path, exits: &Path, program: &Path) -> io::Result<OsString> {
    let mut line = OsString::from("sh");
    for word in [&peers.join("official/record-exit.sh"), exits, &std::path::absolute(program)?] {
        line.push(" '");
        line.push(word.to_string_lossy().replace('\'', r"'\''"));
        line.push("'");
    }
    Ok(line)
}

/// The suite's command. The Node installed with it goes first on the path, because the
/// machine's own may be too old.
fn suite(peers: &Path) -> io::Result<Command> {
    let bin = peers.join("node_modules/.bin");
    let inherited = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(iter::once(bin.clone()).chain(env::split_paths(&inherited)))
        .map_err(io::Error::other)?;
    let mut command = Command::new(bin.join("conformance"));
    command.env("PATH", path);
    Ok(command)
}

/// Runs one command of the suite for [`REVISION`] to its end, all its output going to `log`.
fn run(command: &mut Command, log: &Path) -> io::Result<ExitStatus> {
    let log = fs::File::create(log)?;
    command.args(["--requirements", REVISION]);
    command.stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log);
    let mut child = command.spawn().map_err(|e| {
        let program = Path::new(command.get_program());
        io::Error::new(e.kind(), format!("{}: {e}; has setup.sh been run?", program.display()))
    })?;
    wait(&mut child)
}

fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the official suite did not end in time",
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The scenarios of one side in what `conformance list --requirements` prints: those scored stand under a
/// heading for their side, those not scored under one for both and say which.
fn scenarios(leg: Leg, listing: &str) -> Vec<String> {
    let other = match leg {
        Leg::Server => Leg::Client,
        Leg::Client => Leg::Server,
    };
    let mut heading = "";
    let mut names = Vec::new();
    for line in listing.lines() {
        let Some(item) = line.trim_start().strip_prefix("- ") else {
            if !line.starts_with(' ') && !line.is_empty() {
                heading = line;
            }
            continue;
        };
        let (name, side) = match item.split_once(" [") {
            Some((name, side)) => (name, side.strip_suffix(']')),
            None if heading.to_lowercase().starts_with(other.as_str()) => {
                (item, Some(other.as_str()))
            }
            None => (item, Some(leg.as_str())),
        };
        if side == Some(leg.as_str()) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The revision whose frozen set of scenarios is run.
const REVISION: &str = "2026-07-28";

/// A run takes about 10 s. Each scenario has a limit of 30 s of its own, and a machine may be slow or busy.
const LIMIT: Duration = Duration::from_mins(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_the_listing_by_side() {
        let listing = "Required for 2026-07-28 (3 scenarios):\n\nServer scenarios (test against a server):\n  \
            - tools-list\n  - caching\n\nClient scenarios (test against a client):\n  - tools_call\n\n\
            Run and reported, but never scored:\n  extension (2):\n    - auth/dpop [client]\n    - tasks-x [server]\n";
        assert_eq!(scenarios(Leg::Server, listing), ["tools-list", "caching", "tasks-x"]);
        assert_eq!(scenarios(Leg::Client, listing), ["tools_call", "auth/dpop"]);
    }

    #[test]
    fn quotes_the_command_for_the_shell() {
        let line = recorded(Path::new("/a b"), Path::new("/it's"), Path::new("/c")).unwrap();
        assert_eq!(line, r"sh '/a b/official/record-exit.sh' '/it'\''s' '/c'");
    }
}
