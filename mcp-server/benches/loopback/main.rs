//! Whole calls over loopback, beside a bare hyper server that parses the same body and answers the same bytes
//! without a single check.
//!
//! ```sh
//! cargo bench -p mcp-server --bench loopback                  # CPU time per request
//! cargo bench -p mcp-server --bench loopback -- instructions  # instructions per request, under callgrind
//! cargo bench -p mcp-server --bench loopback -- instructions echo-50
//! cargo bench -p mcp-server --bench loopback -- latency       # median time of a call, one at a time
//! ```
//!
//! Each server is a process of its own with one thread. CPU time is what the kernel counts for it while 32
//! connections keep it busy: medians of three rounds, the two servers taking turns. It differs from run to run;
//! instructions, counted in user space over the whole process, do not, and need valgrind.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program that measures, of no use once something is wrong"
)]

mod bare;
mod load;
mod ours;
mod work;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use load::Load;
use work::Work;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match *args {
        ["serve", kind, name] => serve(kind, Work::named(name)),
        ["instructions", ref names @ ..] => instructions(&selected(names)),
        ["latency", ref names @ ..] => latency(&selected(names)),
        ref names => cpu_time(&selected(names)),
    }
}

fn selected(names: &[&str]) -> Vec<Work> {
    if names.is_empty() {
        Work::ALL.to_vec()
    } else {
        names.iter().map(|n| Work::named(n)).collect()
    }
}

/// Serves until standard input ends, so that no server outlives its parent.
fn serve(kind: &str, work: Work) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening {}", listener.local_addr().unwrap());
        std::io::stdout().flush().unwrap();
        let (sender, ended) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = sender.send(());
        });
        let serving = async {
            match kind {
                "ours" => ours::serve(listener, work).await,
                "bare" => bare::serve(listener, work).await,
                other => panic!("no server {other:?}"),
            }
        };
        tokio::select! { () = serving => {} _ = ended => {} }
    });
}

/// A server in a process of its own.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(command: &mut Command, kind: &str, work: Work) -> Self {
        let mut child = command
            .args(["serve", kind, work.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
        Self { child, address }
    }

    fn stop(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }

    /// Nanoseconds that the process has run, from the kernel.
    fn cpu_ns(&self) -> f64 {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let text = std::fs::read_to_string(path).expect("the kernel counts CPU time in schedstat");
        text.split(' ').next().unwrap().parse().unwrap()
    }
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn cpu_time(works: &[Work]) {
    const ROUNDS: usize = 3;
    println!("{:<14} {:>10} {:>10} {:>8}", "CPU us/request", "bare", "ours", "ratio");
    for &work in works {
        let servers = ["bare", "ours"].map(|kind| Server::start(&mut this_program(), kind, work));
        let requests = work.requests();
        let mut rounds = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for (server, rounds) in servers.iter().zip(&mut rounds) {
                let before = server.cpu_ns();
                Load::new(server.address, work).run(32, requests);
                if round > 0 {
                    rounds.push((server.cpu_ns() - before) / requests as f64 / 1000.0);
                }
            }
        }
        let [bare, ours] = rounds.map(|mut rounds| {
            rounds.sort_by(f64::total_cmp);
            rounds[ROUNDS / 2]
        });
        println!("{:<14} {bare:>10.2} {ours:>10.2} {:>8.3}", work.name(), ours / bare);
        servers.into_iter().for_each(Server::stop);
    }
}

/// Where a socket holds small writes back, a call with events takes 40 ms and more.
fn latency(works: &[Work]) {
    println!("{:<14} {:>10} {:>10}", "us/call, median", "bare", "ours");
    for &work in works {
        let [bare, ours] = ["bare", "ours"].map(|kind| {
            let server = Server::start(&mut this_program(), kind, work);
            let mut times = Load::new(server.address, work).times(1_000);
            server.stop();
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e6
        });
        println!("{:<14} {bare:>10.1} {ours:>10.1}", work.name());
    }
}

fn instructions(works: &[Work]) {
    println!("{:<14} {:>10} {:>10}", "instructions", "bare", "ours");
    for &work in works {
        let [bare, ours] = ["bare", "ours"].map(|kind| {
            // The difference of two runs leaves out what starting and stopping costs.
            let (few, many) = (200, 1200);
            let counted = [few, many].map(|requests| count(kind, work, requests));
            (counted[1] - counted[0]) / (many - few) as u64
        });
        println!("{:<14} {bare:>10} {ours:>10}", work.name());
    }
}

/// The instructions of a whole process that answers `requests` requests on one connection.
fn count(kind: &str, work: Work, requests: usize) -> u64 {
    let out = std::env::temp_dir().join(format!("mcp-callgrind-{}", std::process::id()));
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().unwrap());
    let server = Server::start(&mut command, kind, work);
    Load::new(server.address, work).run(1, requests);
    server.stop();
    let profile = std::fs::read_to_string(&out).unwrap();
    if std::env::var_os("KEEP_PROFILE").is_none() {
        std::fs::remove_file(&out).unwrap();
    }
    let total = profile.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    total.trim().parse().unwrap()
}
