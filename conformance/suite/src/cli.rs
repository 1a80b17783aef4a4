//! The command line.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::check::{self, Check};
use crate::client::Manners;
use crate::expected::Expected;
use crate::issuer::Issuer;
use crate::report::{self, Form, Report};
use crate::requirement::{Level, Table};
use crate::run::{self, Pace, Tested};
use crate::server::{Endpoint, Target, Tokens, Ways};
use crate::verdict::Stop;

/// Tests a server or a client of the Model Context Protocol against revision 2026-07-28.
///
/// Exit codes: 0, all is well; 1, something was found; 2, wrong arguments.
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
struct ServerArgs {
    /// The URL of a server that runs already.
    #[arg(long, required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// A shell command that starts a server over standard input and output.
    #[arg(long)]
    command: Option<String>,
    /// A header for every request, such as "Authorization: Bearer secret".
    #[arg(long = "header")]
    headers: Vec<String>,
    /// Speaks HTTP/2, without having asked unless it is over TLS. Checks of the bytes of HTTP/1.1 are skipped.
    #[arg(long, conflicts_with = "command")]
    http2: bool,
    /// A file of root certificates, PEM, to trust in place of the system's.
    #[arg(long, conflicts_with = "command")]
    ca: Option<PathBuf>,
    /// The server is public, and pages of every origin may use it.
    #[arg(long, conflicts_with = "command")]
    any_origin: bool,
    /// A header in place of the one above for requests of another user, who must not go on where the first has begun.
    #[arg(long = "other-header", conflicts_with = "command")]
    other_headers: Vec<String>,
    /// Host and port where the suite's own authorization server listens. The server has to trust the issuer http://HOST:PORT;
    /// the tokens are minted.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["command", "good"])]
    issuer: Option<String>,
    #[command(flatten)]
    tokens: Tokens,
    /// A shell command that asks the server to end, such as "kill -TERM 4711": the last thing that happens to it.
    #[arg(long, conflicts_with = "command")]
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
    #[arg(long, default_value_t = 8)]
    jobs: usize,
    /// Seconds that a check waits for the next thing to happen.
    #[arg(long, default_value_t = 20.0)]
    patience: f64,
    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Form::Terminal)]
    report: Form,
    /// Writes the report there, and one for people to standard output.
    #[arg(long)]
    output: Option<PathBuf>,
    /// A file of findings that are expected, a line each: CHECK # REASON. One that is not found any more fails.
    #[arg(long)]
    expected: Option<PathBuf>,
    /// Shows what passed on the wire for every check, not only for those that failed.
    #[arg(long)]
    verbose: bool,
    /// Counts what a SHOULD asks for as if it were a MUST.
    #[arg(long)]
    strict: bool,
}

impl Common {
    fn patience(&self) -> Result<Duration, String> {
        Duration::try_from_secs_f64(self.patience).map_err(|error| error.to_string())
    }
}

#[derive(Args)]
struct Filter {
    /// Checks whose id contains this; may be given several times.
    #[arg(long = "only")]
    only: Vec<String>,
    /// Checks that rest on a page, such as basic/transports.
    #[arg(long)]
    section: Option<String>,
    /// Checks that rest on this requirement; may be given several times.
    #[arg(long = "requirement")]
    requirements: Vec<String>,
    /// Checks that rest on a MUST or MUST NOT.
    #[arg(long)]
    must: bool,
}

impl Filter {
    fn checks(&self, table: &Table) -> Vec<&'static Check> {
        check::all().filter(|check| self.takes(check, table)).collect()
    }

    fn takes(&self, check: &Check, table: &Table) -> bool {
        let named = self.only.is_empty() || self.only.iter().any(|part| check.id.contains(&**part));
        let page = self.section.as_deref();
        let stands =
            page.is_none_or(|page| table.of_check(check.id).any(|it| it.page.starts_with(page)));
        let mut given = table.of_check(check.id).map(|it| &it.id);
        let rests = self.requirements.is_empty() || given.any(|id| self.requirements.contains(id));
        let musts = !self.must || table.of_check(check.id).any(|it| it.level.is_must());
        named && stands && rests && musts
    }
}

/// Does what the command line says.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        eprintln!("the runtime does not start");
        return ExitCode::from(2);
    };
    let said = runtime.block_on(carry_out(cli.what));
    // A thread may be reading standard input, and would be waited for.
    runtime.shutdown_background();
    said.unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::from(2)
    })
}

async fn carry_out(what: What) -> Result<ExitCode, String> {
    let table = Table::load();
    match what {
        What::Server(args) => {
            let headers = headers_of(&args.headers)?;
            let other = headers_of(&args.other_headers)?;
            let ServerArgs { http2, ca, any_origin, stop, .. } = *args;
            let ways = Ways { http2, any_origin, ca, other, stop, tokens: Tokens::default() };
            let target = match (args.url, args.command) {
                (Some(url), _) => {
                    let mut endpoint = Endpoint::new(&url, headers, ways)?;
                    let issuer = match args.issuer {
                        Some(address) => Some(Issuer::begin(&address).await?),
                        None => None,
                    };
                    args.tokens.give_to(&mut endpoint, issuer, args.common.patience()?).await;
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
            let checks = filter.checks(&table);
            print(&report::list(&checks, &table))
        }
        What::Explain { id } => {
            let told = report::explain(&id, &table)
                .ok_or_else(|| format!("{id:?} is no check and no requirement"))?;
            print(&told)
        }
        What::Coverage => print(&report::coverage(&table)),
        What::Bridge { address, manners } => {
            let ended = crate::client::bridge(&address, &manners).await;
            Ok(ExitCode::from(ended.map_err(|error| error.to_string())?))
        }
    }
}

/// Headers as they are given, name and value.
fn headers_of(given: &[String]) -> Result<Vec<(String, String)>, String> {
    let pairs = given.iter().map(|header| {
        let parts = header.split_once(':').ok_or_else(|| format!("{header:?} is no header"))?;
        Ok((parts.0.trim().to_owned(), parts.1.trim().to_owned()))
    });
    pairs.collect()
}

async fn test(
    table: &Table,
    tested: &Tested,
    is_http: bool,
    common: &Common,
) -> Result<ExitCode, String> {
    let of_server = matches!(tested, Tested::Server(_));
    let pace = Pace { jobs: common.jobs, patience: common.patience()? };
    let mut checks = common.filter.checks(table);
    checks.retain(|check| {
        let fits = if is_http { check.over.has_http() } else { check.over.has_stdio() };
        check.is_of_server() == of_server && fits
    });
    if checks.is_empty() {
        return Err("there is no such check".to_owned());
    }
    if let Tested::Server(target) = tested
        && let Target::Http(endpoint) = &**target
        && let Err(Stop::Fail { seen, .. }) = endpoint.connect(false, pace.patience).await
    {
        return Err(seen);
    }
    let expected = match &common.expected {
        None => Expected::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let expected =
                Expected::parse(&text).map_err(|why| format!("{}: {why}", path.display()))?;
            if let Some(entry) =
                expected.entries().find(|entry| check::all().all(|it| it.id != entry.check))
            {
                return Err(format!("{}: {entry}: there is no such check", path.display()));
            }
            expected
        }
    };
    let (total, ended) = (checks.len(), AtomicUsize::new(0));
    let shows_progress = std::io::stderr().is_terminal();
    let all = run::run(tested, checks, pace, |ran| {
        let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
        if shows_progress {
            eprint!("{}", report::progress(ended, total, ran));
        }
    });
    let all = all.await;
    if shows_progress {
        eprint!("\r\x1b[K");
    }
    let report = Report::new(&all, table, &expected, common.strict);
    match &common.output {
        None => print(&report.told(common.report, common.verbose))?,
        Some(path) => {
            let text = report.told(common.report, common.verbose);
            std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            print(&report.told(Form::Terminal, common.verbose))?
        }
    };
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(text: &str) -> Result<ExitCode, String> {
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
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
