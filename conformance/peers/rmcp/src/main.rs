//! The client of this project beside that of rmcp, on one server that does next to nothing.
//!
//! ```sh
//! cargo run --release
//! ```
//!
//! - CPU time per call of 50 bytes, by 1 and 32 callers: each client is a process of its own with one thread, the clients
//!   take turns, and the kernel counts; medians of five rounds.
//! - Connections opened for 1,024 calls by 32 callers, one more each to begin.
//! - The time from the first byte of a stream to the callback for progress, in one process.
//!
//! rmcp is measured as it is by default, and with an HTTP client of its own, which pools connections.

mod clients;
mod server;

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use clients::{Client, KINDS};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [kind, url, callers, calls] = &args[..] {
        let (callers, calls): (usize, usize) = (callers.parse().unwrap(), calls.parse().unwrap());
        return runtime().block_on(call(kind, url, callers, calls / callers));
    }
    let url = format!("http://{}/mcp", server::start());
    cpu_time(&url);
    connections(&url);
    runtime().block_on(first_events(&url));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Nanoseconds since the first time that somebody asked.
fn now() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed().as_nanos().try_into().unwrap()
}

/// Nanoseconds that this process has run, from the kernel.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Calls, and prints the nanoseconds it has run for; one call each before that makes the connections.
async fn call(kind: &str, url: &str, callers: usize, calls: usize) {
    let client = Client::connect(kind, url).await;
    for calls in [1, calls] {
        let before = cpu_ns();
        let mut under_way = tokio::task::JoinSet::new();
        for _ in 0..callers {
            under_way.spawn(client.clone().echo("x".repeat(50), calls));
        }
        under_way.join_all().await;
        println!("{}", cpu_ns() - before);
    }
}

/// Lets a client run, and returns the last that it prints.
fn run(kind: &str, url: &str, callers: usize, calls: usize) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([kind, url, &callers.to_string(), &calls.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().last().unwrap().parse().unwrap()
}

fn cpu_time(url: &str) {
    const CALLS: usize = 9_600;
    for callers in [1, 32] {
        let mut rounds = KINDS.map(|_| Vec::new());
        for _ in 0..5 {
            for (kind, rounds) in KINDS.into_iter().zip(&mut rounds) {
                rounds.push(run(kind, url, callers, CALLS) / CALLS as u64);
            }
        }
        for (kind, mut rounds) in KINDS.into_iter().zip(rounds) {
            rounds.sort_unstable();
            println!("CPU per call, {callers:>2} callers, {kind:<11} {:>7} ns", rounds[2]);
        }
    }
}

fn connections(url: &str) {
    for kind in KINDS {
        let before = server::accepted();
        run(kind, url, 32, 1024);
        println!("connections, {kind:<11} {:>5}", server::accepted() - before);
    }
}

async fn first_events(url: &str) {
    const CALLS: usize = 300;
    for kind in KINDS {
        let client = Client::connect(kind, url).await;
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let heard = client.progress().await;
            times.push(heard - server::sent());
        }
        times.sort_unstable();
        println!("first byte to callback, {kind:<11} median {:>7} ns", times[CALLS / 2]);
    }
}

/// Where to listen, told by a thread that goes on serving.
fn listening(
    serve: impl FnOnce(std::sync::mpsc::Sender<SocketAddr>) + Send + 'static,
) -> SocketAddr {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || serve(sender));
    address.recv().unwrap()
}
