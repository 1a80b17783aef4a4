//! Whole calls over loopback, beside a bare client of hyper-util that posts the same messages, decodes the answers and
//! checks nothing.
//!
//! ```sh
//! cargo bench -p mcp-client --bench loopback                  # CPU time per call
//! cargo bench -p mcp-client --bench loopback -- instructions  # instructions per call, under callgrind
//! ```
//!
//! Each client is a process of its own with one thread, the server is in this one. CPU time is what the kernel counts
//! for a client while it calls: medians of five rounds, the two clients taking turns. It differs from run to run;
//! instructions, counted in user space over the whole process, do not, and need valgrind.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, of no use once something is wrong"
)]

mod bare;
mod ours;
mod server;

use std::net::SocketAddr;
use std::process::{Command, Stdio};

/// The messages that are echoed: their name and their bytes.
const WORKS: [(&str, usize); 2] = [("echo-50", 50), ("echo-64k", 64 * 1024)];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match *args {
        ["call", kind, address, bytes, callers, calls] => {
            let parse = |number: &str| number.parse().unwrap();
            let work = Work { bytes: parse(bytes), callers: parse(callers), calls: parse(calls) };
            call(kind, address.parse().unwrap(), work);
        }
        ["instructions"] => instructions(server::start()),
        _ => cpu_time(server::start()),
    }
}

/// What a client does: so many calls, by so many callers at a time, with a text of so many bytes.
#[derive(Clone, Copy)]
struct Work {
    bytes: usize,
    callers: usize,
    calls: usize,
}

/// Calls, and prints the nanoseconds it has run for.
fn call(kind: &str, server: SocketAddr, work: Work) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = "x".repeat(work.bytes);
    let url = format!("http://{server}/mcp");
    let share = work.calls / work.callers;
    runtime.block_on(async {
        let mut callers = tokio::task::JoinSet::new();
        // The connections are made before anything is counted.
        match kind {
            "ours" => {
                let client = ours::client(&url);
                for calls in [1, share] {
                    let before = cpu_ns();
                    for _ in 0..work.callers {
                        callers.spawn(ours::calls(client.clone(), text.clone(), calls));
                    }
                    while let Some(done) = callers.join_next().await {
                        done.unwrap();
                    }
                    println!("{}", cpu_ns() - before);
                }
            }
            "bare" => {
                let client = bare::client();
                for calls in [1, share] {
                    let before = cpu_ns();
                    for _ in 0..work.callers {
                        let url = url.parse().unwrap();
                        callers.spawn(bare::calls(client.clone(), url, text.clone(), calls));
                    }
                    while let Some(done) = callers.join_next().await {
                        done.unwrap();
                    }
                    println!("{}", cpu_ns() - before);
                }
            }
            other => panic!("no client {other:?}"),
        }
    });
}

/// Nanoseconds that this process has run, from the kernel.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat");
    let text = text.expect("the kernel counts CPU time in schedstat");
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Lets a client run, and returns the last that it prints.
fn run(mut command: Command, kind: &str, server: SocketAddr, work: Work) -> u64 {
    let Work { bytes, callers, calls } = work;
    let numbers = [bytes, callers, calls].map(|number| number.to_string());
    command.args(["call", kind, &server.to_string()]).args(numbers).stderr(Stdio::inherit());
    let output = command.output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().last().unwrap().parse().unwrap()
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn cpu_time(server: SocketAddr) {
    const ROUNDS: usize = 5;
    println!("{:<10} {:>7} {:>10} {:>10} {:>8}", "CPU us", "callers", "bare", "ours", "ratio");
    for (name, bytes) in WORKS {
        for callers in [1, 32] {
            let calls = if bytes > 1000 { 4_000 } else { 20_000 };
            let work = Work { bytes, callers, calls };
            let mut rounds = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (kind, rounds) in ["bare", "ours"].into_iter().zip(&mut rounds) {
                    let spent = run(this_program(), kind, server, work);
                    rounds.push(spent as f64 / calls as f64 / 1000.0);
                }
            }
            let [bare, ours] = rounds.map(|mut rounds| {
                rounds.sort_by(f64::total_cmp);
                *rounds.get(ROUNDS / 2).unwrap()
            });
            let ratio = ours / bare;
            println!("{name:<10} {callers:>7} {bare:>10.2} {ours:>10.2} {ratio:>8.3}");
        }
    }
}

fn instructions(server: SocketAddr) {
    println!("{:<14} {:>10} {:>10} {:>8}", "instructions", "bare", "ours", "ratio");
    for (name, bytes) in WORKS {
        let [bare, ours] = ["bare", "ours"].map(|kind| {
            // The difference of two runs leaves out what starting and stopping costs.
            let (few, many) = (200, 1200);
            let [fewer, more] =
                [few, many].map(|calls| count(kind, server, Work { bytes, callers: 1, calls }));
            (more - fewer) / (many - few) as u64
        });
        println!("{name:<14} {bare:>10} {ours:>10} {:>8.3}", ours as f64 / bare as f64);
    }
}

/// The instructions of a whole process.
fn count(kind: &str, server: SocketAddr, work: Work) -> u64 {
    let out = std::env::temp_dir().join(format!("mcp-callgrind-{}", std::process::id()));
    let mut command = Command::new("valgrind");
    command
        .args(["-q", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().unwrap());
    run(command, kind, server, work);
    let profile = std::fs::read_to_string(&out).unwrap();
    if std::env::var_os("KEEP_PROFILE").is_none() {
        std::fs::remove_file(&out).unwrap();
    }
    let total = profile.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    total.trim().parse().unwrap()
}
