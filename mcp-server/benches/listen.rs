//! What open subscriptions cost: memory of the server for each that is idle, and time to tell all of them.
//!
//! ```sh
//! cargo bench -p mcp-server --bench listen          # 1,000 streams, 2,000 at the most
//! cargo bench -p mcp-server --bench listen -- 5000  # as many; needs file descriptors for them
//! ```
//!
//! The server is a process of its own with one thread. Memory is the growth of its resident set from the first
//! hundred streams to the last, divided by the streams in between. The client reads its streams one after the other,
//! so that times are those of both.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program that measures, of no use once something is wrong"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_server::{Announces, Limits, Server, Tool};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.first().map(String::as_str) {
        Some("serve") => serve(),
        Some(streams) => http1(streams.parse().unwrap()),
        None => {
            http1(1000);
            http1(2000);
            http2(1000);
        }
    }
}

/// Serves, tells of a change for every line of standard input, and shuts down at its end.
fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut limits = Limits::default();
        (limits.listens, limits.listens_per_caller) = (usize::MAX, usize::MAX);
        limits.connections = usize::MAX;
        let server = Server::builder("listened-to", "1.0.0")
            .tool(Tool::new("ok", async || "ok"))
            .announces(Announces::new().tools())
            .limits(limits)
            .build()
            .unwrap();
        let notify = server.notify();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening {}", listener.local_addr().unwrap());
        std::io::stdout().flush().unwrap();
        let (sender, ended) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            for _ in std::io::stdin().lines() {
                notify.tools_changed();
            }
            let _ = sender.send(());
        });
        let ended = async {
            let _ = ended.await;
        };
        server.serve_with(listener).shutdown_on(ended).await.unwrap();
    });
}

/// Streams that each have a connection.
fn http1(streams: usize) {
    let mut server = Process::start();
    let mut open: Vec<Stream> = (0..WARM_UP).map(|_| Stream::open(server.address)).collect();
    let before = server.resident();
    open.extend((0..streams).map(|_| Stream::open(server.address)));
    let grown = server.resident() - before;
    println!("HTTP/1.1, {streams} streams: {:.1} KiB resident for each", grown / streams as f64);
    for said in ["first", "second"] {
        let told = Instant::now();
        server.tell();
        for stream in &mut open {
            stream.read_until("tools/list_changed");
        }
        println!("  the {said} change had reached all of them after {:?}", told.elapsed());
    }
    let told = Instant::now();
    server.stop();
    println!("  all had ended and the server was gone after {:?}", told.elapsed());
    for stream in &mut open {
        stream.read_until("\"resultType\":\"complete\"");
    }
}

/// Streams that share connections.
fn http2(streams: usize) {
    /// As many as the server lets a client have.
    const SHARED: usize = 100;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut server = Process::start();
        let mut open = share(server.address, SHARED).await;
        let before = server.resident();
        for _ in 0..streams / SHARED {
            open.extend(share(server.address, SHARED).await);
        }
        let grown = server.resident() - before;
        println!(
            "HTTP/2, {streams} streams, {SHARED} a connection: {:.1} KiB resident for each",
            grown / streams as f64
        );
        let told = Instant::now();
        server.tell();
        for body in &mut open {
            body.frame().await.unwrap().unwrap();
        }
        println!("  a change had reached all of them after {:?}", told.elapsed());
    });
}

async fn share(address: SocketAddr, streams: usize) -> Vec<Incoming> {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut open = Vec::new();
    for _ in 0..streams {
        let mut request = http::Request::post("http://localhost/mcp");
        for (name, value) in FIELDS {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from_static(BODY.as_bytes()))).unwrap();
        let mut body = sender.send_request(request).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        open.push(body);
    }
    open
}

/// The server in a process of its own.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
        Self { child, address }
    }

    fn tell(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn stop(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    /// KiB of memory that the process holds, from the kernel, once it has come to rest.
    fn resident(&self) -> f64 {
        std::thread::sleep(Duration::from_millis(200));
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An open subscription.
struct Stream {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Stream {
    fn open(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).expect("enough file descriptors");
        let mut request = String::from("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in FIELDS {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Length: {}\r\n\r\n{BODY}", BODY.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut stream = Self { stream, read: Vec::new() };
        stream.read_until("subscriptions/acknowledged");
        stream
    }

    fn read_until(&mut self, what: &str) {
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&self.read).contains(what) {
            let length = self.stream.read(&mut piece).unwrap();
            assert!(length > 0, "the stream ended");
            self.read.extend(&piece[..length]);
        }
        self.read.clear();
    }
}

/// Before the first is measured, so that what is allocated once does not count.
const WARM_UP: usize = 100;

const FIELDS: &[(&str, &str)] = &[
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
    ("User-Agent", "a-client-that-says-who-it-is/1.0.0"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "subscriptions/listen"),
];

const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a-client","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}"#;
