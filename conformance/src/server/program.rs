//! The program `everything-server`.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use mcp_server::{ResponseMode, ServerBuilder};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};

/// Serves what the arguments say, which are those behind the program's name, until it is to end.
///
/// ```text
/// everything-server [--port N] [--until-eof] [--mode auto|json|sse] [--protected ISSUER] [--page-size N]
/// everything-server --stdio [--page-size N]
/// ```
///
/// Serves `/mcp` on 127.0.0.1, on a free port unless one is given, and prints `listening PORT`, until SIGTERM. With
/// `--until-eof` it ends when its standard input does as well, so that it cannot outlive the process that started it.
/// `--mode` says when replies are streams. With `--protected` it takes tokens of that issuer alone. With
/// `--stdio` it serves the process that started it over standard input and output, until SIGTERM at the latest. The
/// tool `end` ends it as well. Lists have pages of 100 unless told otherwise.
///
/// # Errors
/// What keeps it from serving: wrong arguments, a port that is taken.
pub async fn main(args: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let options = Options::parse(args)?;
    let end = Arc::new(Notify::new());
    if options.stdio {
        let server = super::over_stdio(Arc::clone(&end)).page_size(options.page_size).build()?;
        return Ok(server.serve_stdio().shutdown_on(either(terminated()?, notified(end))).await?);
    }
    let listener = TcpListener::bind(("127.0.0.1", options.port)).await?;
    let port = listener.local_addr()?.port();
    let mut server = super::everything(Arc::clone(&end))
        .page_size(options.page_size)
        .response_mode(options.mode);
    if let Some(issuer) = &options.issuer {
        server = super::scoped::scoped(server, &format!("http://127.0.0.1:{port}/mcp"), issuer);
    }
    let serve = server.build()?.serve_with(listener).drain_time(DRAIN_TIME);
    super::say(format_args!("listening {port}"));
    if options.until_eof {
        serve.shutdown_on(either(either(end_of_input(), terminated()?), notified(end))).await?;
    } else {
        serve.shutdown_on(either(terminated()?, notified(end))).await?;
    }
    Ok(())
}

async fn either(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    tokio::select! {
        () = one => {}
        () = other => {}
    }
}

/// The tool `end` was called.
async fn notified(end: Arc<Notify>) {
    end.notified().await;
}

struct Options {
    port: u16,
    until_eof: bool,
    stdio: bool,
    page_size: usize,
    mode: ResponseMode,
    issuer: Option<String>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            port: 0,
            until_eof: false,
            stdio: false,
            page_size: ServerBuilder::PAGE_SIZE,
            mode: ResponseMode::Auto,
            issuer: None,
        };
        while let Some(arg) = args.next() {
            match &*arg {
                "--until-eof" => options.until_eof = true,
                "--stdio" => options.stdio = true,
                "--port" => {
                    let port = args.next().and_then(|port| port.parse().ok());
                    options.port = port.ok_or("--port needs a number up to 65535")?;
                }
                "--page-size" => {
                    let entries = args.next().and_then(|entries| entries.parse().ok());
                    options.page_size = entries.ok_or("--page-size needs a number")?;
                }
                "--mode" => {
                    options.mode = match args.next().as_deref() {
                        Some("auto") => ResponseMode::Auto,
                        Some("json") => ResponseMode::Json,
                        Some("sse") => ResponseMode::Sse,
                        _ => return Err("--mode is auto, json or sse".to_owned()),
                    };
                }
                "--protected" => {
                    options.issuer = Some(args.next().ok_or("--protected needs an issuer")?);
                }
                _ => return Err(format!("{arg} is no option")),
            }
        }
        Ok(options)
    }
}

#[cfg(unix)]
fn terminated() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        terminate.recv().await;
    })
}

#[cfg(not(unix))]
fn terminated() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}

// A thread of its own: the runtime would wait for one of its own at the end, and so for the input.
fn end_of_input() -> impl Future<Output = ()> {
    let (end, ended) = oneshot::channel::<()>();
    thread::spawn(move || {
        // An input that cannot be read has ended as well.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(end);
    });
    async { drop(ended.await) }
}

/// Who closed the input is about to leave, and no longer reads what is under way.
const DRAIN_TIME: Duration = Duration::from_secs(1);
