//! The command line.

mod filter;
mod values;

use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand};

use crate::check;
use crate::client::Manners;
use crate::expected::{Entry, Expected};
use crate::issuer::Issuer;
use crate::report::{self, Form, Report};
use crate::requirement::{Level, Table};
use crate::run::{self, Pace, Tested};
use crate::server::{Endpoint, Target, Tokens, Ways};
use crate::wire::group;
use crate::wire::log::printable;
use filter::Filter;

/// Tests a server or a client of the Model Context Protocol against revision 2026-07-28.
///
/// Exit codes: 0, all is well; 1, something was found; 2, there was no run, for the reason that is said; 128 and a
/// signal's number, it was broken off by that.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Tests a server.
    Server(Box<ServerArgs>),
    /// Tests a client.
    Client(ClientArgs),
    /// Serves the suite's own authorization server until it is killed, for servers that ask it for its keys as they start.
    Issuer {
        /// Host and port to listen on; the issuer is http://HOST:PORT.
        #[arg(value_name = "HOST:PORT")]
        address: String,
    },
    /// Lists the checks.
    List(Filter),
    /// Explains a check or a requirement.
    Explain {
        /// The id of either.
        id: String,
    },
    /// Shows how much of the specification is covered, as Markdown.
    Coverage,
    /// Connects standard input and output with a playing server; for clients that start servers.
    #[command(hide = true)]
    Bridge {
        /// Where the playing server is.
        address: String,
        #[command(flatten)]
        manners: Manners,
    },
}

#[derive(Args)]
#[command(group = ArgGroup::new("tested").required(true).args(["url", "command"]))]
struct ServerArgs {
    /// The URL of a server that runs already.
    #[arg(long)]
    url: Option<String>,
    /// A shell command that starts a server over standard input and output; every check starts its own.
    #[arg(long)]
    command: Option<String>,
    /// A header for every request, such as "X-Tenant: 1", or @FILE with one on each line. Reports do not show the value.
    #[arg(long = "header", value_name = "HEADER", conflicts_with = "command")]
    headers: Vec<String>,
    /// Speaks HTTP/2, without having asked unless it is over TLS. Checks of the bytes of HTTP/1.1 are skipped.
    #[arg(long, conflicts_with = "command")]
    http2: bool,
    /// A file of root certificates, PEM, to trust in place of the system's.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    ca: Option<PathBuf>,
    /// The server is public, and pages of every origin may use it.
    #[arg(long, conflicts_with = "command")]
    any_origin: bool,
    /// A header in place of the one above for requests of another user, who must not go on where the first has begun.
    #[arg(long = "other-header", value_name = "HEADER", conflicts_with = "command")]
    other_headers: Vec<String>,
    /// Host and port where the suite's own authorization server listens. The server has to trust the issuer http://HOST:PORT;
    /// the tokens are minted.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["command", "good"])]
    issuer: Option<String>,
    #[command(flatten)]
    tokens: Tokens,
    /// A shell command that asks the server to end, such as "kill -TERM 4711": the last thing that happens to it.
    #[arg(long, value_name = "COMMAND", conflicts_with = "command")]
    stop: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct ClientArgs {
    /// A shell command that runs the client; the server's URL, or the command that starts it, is added to it.
    #[arg(long)]
    command: String,
    /// Has the client start its server and speak to it over standard input and output.
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    filter: Filter,
    /// How many checks run at once.
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Seconds that a check waits for the next thing to happen.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = values::patience)]
    patience: Duration,
    /// Seconds that a server at a URL is waited for which does not answer yet.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = values::wait)]
    wait: Duration,
    /// How the report is written.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Terminal)]
    report: Form,
    /// Writes the report there, and one for people to standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A file of findings that are expected, a line each: CHECK # REASON. One that is not found any more fails.
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Shows what passed on the wire for every check, not only for those that failed.
    #[arg(long)]
    verbose: bool,
    /// Counts what a SHOULD asks for as if it were a MUST.
    #[arg(long)]
    strict: bool,
}

impl Common {
    /// What is expected to be found.
    ///
    /// # Errors
    /// Says what is wrong with the file, and where.
    fn expected(&self) -> Result<Expected, String> {
        let Some(path) = &self.expected else { return Ok(Expected::default()) };
        let expected = Expected::parse(&read(path)?);
        let expected = expected.map_err(|why| format!("{}: {why}", path.display()))?;
        let known = |entry: &Entry| check::all().any(|it| it.id == entry.check);
        if let Some(entry) = expected.entries().find(|entry| !known(entry)) {
            return Err(format!("{}: {entry}: there is no such check", path.display()));
        }
        Ok(expected)
    }

    /// The file for the report, which is opened before the run: that it cannot be written should not cost one.
    fn output(&self) -> Result<Option<File>, String> {
        let Some(path) = &self.output else { return Ok(None) };
        let file = File::options().write(true).create(true).truncate(false).open(path);
        file.map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Does what the command line says.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        return complained("the runtime does not start");
    };
    // The others are ended by a signal as any program is; a bridge may have been told to take no notice of it.
    let is_run = matches!(cli.what, What::Server(_) | What::Client(_));
    let said = runtime.block_on(async {
        tokio::select! {
            // Signals are awaited before any process is started.
            biased;
            code = interrupted(), if is_run => Ok(code),
            said = carry_out(cli.what) => said,
        }
    });
    // A thread may be reading standard input, and would be waited for.
    runtime.shutdown_background();
    group::end_all();
    said.unwrap_or_else(|why| complained(&why))
}

/// Says why nothing was done.
fn complained(why: &str) -> ExitCode {
    for line in why.lines() {
        // Whoever closed the other end does not want to know.
        let _ = writeln!(std::io::stderr(), "{}", printable(line));
    }
    ExitCode::from(2)
}

/// Waits for a signal that ends the run, which has processes to end besides; gives the code that a shell would.
async fn interrupted() -> ExitCode {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let on = |kind| async move {
            match signal(kind) {
                Ok(mut signals) => drop(signals.recv().await),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = on(SignalKind::interrupt()) => ExitCode::from(128 + 2),
            () = on(SignalKind::terminate()) => ExitCode::from(128 + 15),
            () = on(SignalKind::hangup()) => ExitCode::from(128 + 1),
        }
    }
    #[cfg(not(unix))]
    {
        let _ = tokio::signal::ctrl_c().await;
        ExitCode::from(128 + 2)
    }
}

async fn carry_out(what: What) -> Result<ExitCode, String> {
    let table = Table::load();
    match what {
        What::Server(args) => {
            let headers = values::headers(&args.headers)?;
            let other = values::headers(&args.other_headers)?;
            let ServerArgs { http2, ca, any_origin, stop, .. } = *args;
            let ways = Ways { http2, any_origin, ca, other, stop, tokens: Tokens::default() };
            let target = match (args.url, args.command) {
                (Some(url), _) => {
                    let mut endpoint = Endpoint::new(&url, headers, ways)?;
                    let issuer = match args.issuer {
                        Some(address) => Some(Issuer::begin(&address).await?),
                        None => None,
                    };
                    args.tokens.give_to(&mut endpoint, issuer, args.common.patience).await;
                    Target::Http(Box::new(endpoint))
                }
                (None, command) => Target::Command(command.unwrap_or_default()),
            };
            let is_http = matches!(target, Target::Http { .. });
            test(&table, &Tested::Server(Arc::new(target)), is_http, &args.common).await
        }
        What::Client(args) => {
            let tested = Tested::Client { command: args.command.into(), is_http: !args.stdio };
            test(&table, &tested, !args.stdio, &args.common).await
        }
        What::Issuer { address } => {
            Issuer::run(&address).await?;
            Ok(ExitCode::SUCCESS)
        }
        What::List(filter) => {
            let checks = filter.checks(&table)?;
            print(&report::list(&checks, &table))
        }
        What::Explain { id } => print(&report::explain(&id, &table)?),
        What::Coverage => print(&report::coverage(&table)),
        What::Bridge { address, manners } => {
            let ended = crate::client::bridge(&address, &manners).await;
            Ok(ExitCode::from(ended.map_err(|error| error.to_string())?))
        }
    }
}

async fn test(
    table: &Table,
    tested: &Tested,
    is_http: bool,
    common: &Common,
) -> Result<ExitCode, String> {
    let of_server = matches!(tested, Tested::Server(_));
    let pace = Pace { jobs: common.jobs.into(), patience: common.patience, wait: common.wait };
    let mut checks = common.filter.checks(table)?;
    checks.retain(|check| {
        let fits = if is_http { check.over.has_http() } else { check.over.has_stdio() };
        check.is_of_server() == of_server && fits
    });
    if checks.is_empty() {
        return Err("those checks are about the other side or the other transport".to_owned());
    }
    let expected = common.expected()?;
    let output = common.output()?;
    let (total, ended) = (checks.len(), AtomicUsize::new(0));
    let shows_progress = std::io::stderr().is_terminal();
    let whole = run::run(tested, checks, pace, |ran| {
        let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
        if shows_progress {
            let _ = write!(std::io::stderr(), "{}", report::progress(ended, total, ran));
        }
    });
    let whole = whole.await;
    if shows_progress {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let whole = whole?;
    let report = Report::new(&whole, table, &expected, common.strict);
    let form = if output.is_some() { Form::Terminal } else { common.report };
    let printed = print(&report.told(form, common.verbose));
    if let (Some(mut file), Some(path)) = (output, &common.output) {
        let text = report.told(common.report, common.verbose);
        // A pipe has no length.
        let is_file = file.metadata().is_ok_and(|it| it.is_file());
        let emptied = if is_file { file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    printed?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A file as a text, whatever it begins with.
fn read(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

/// Writes to standard output. Whoever has closed that has read as much as they want.
fn print(text: &str) -> Result<ExitCode, String> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

impl Level {
    /// The strongest of a check's requirements.
    pub(crate) fn of_check(check: &str, table: &Table) -> Option<Self> {
        table.of_check(check).map(|it| it.level).max()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn options_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
