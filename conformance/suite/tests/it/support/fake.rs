//! Servers that answer with bytes, right or wrong.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

/// A server on a loopback address. Its threads end with the tests.
pub(crate) struct Fake {
    pub(crate) url: String,
    asked: Arc<AtomicUsize>,
}

impl Fake {
    /// Hands each connection, with the head and the body of its first request, to `answer`, and closes it then.
    pub(crate) fn start(answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static) -> Self {
        Self::serve("127.0.0.1:0", usize::MAX, answer)
    }

    /// The same at this address.
    pub(crate) fn start_at(
        address: &str,
        answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
    ) -> Self {
        Self::serve(address, usize::MAX, answer)
    }

    /// The same for so many connections; then nobody listens any more.
    pub(crate) fn start_for(
        connections: usize,
        answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
    ) -> Self {
        Self::serve("127.0.0.1:0", connections, answer)
    }

    fn serve(
        address: &str,
        connections: usize,
        answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (asked, answer) = (Arc::<AtomicUsize>::default(), Arc::new(answer));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().take(connections) {
                let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
                let Ok(mut stream) = stream else { continue };
                thread::spawn(move || {
                    let Some(text) = request(&mut stream) else { return };
                    count.fetch_add(1, Ordering::SeqCst);
                    answer(&mut stream, &text);
                });
            }
        });
        Self { url, asked }
    }

    /// How many requests have come.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// The first request of a connection, if a whole one comes.
fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.and_then(|it| it.parse().ok()).unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut buffer) {
            Ok(length @ 1..) => bytes.extend(&buffer[..length]),
            _ => return None,
        }
    }
}

/// Writes these bytes, and these others until nobody reads on.
pub(crate) fn pour(stream: &mut TcpStream, first: &str, endless: &[u8]) {
    let _ = stream.write_all(first.as_bytes());
    while !endless.is_empty() && stream.write_all(endless).is_ok() {}
}

/// Answers a request with a body, and the connection ends.
pub(crate) fn answer(stream: &mut TcpStream, status: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

/// Answers a request as a server does that offers nothing.
pub(crate) fn discovered(stream: &mut TcpStream, request: &str) {
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let id = serde_json::from_str::<Value>(body).unwrap_or_default()["id"].clone();
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "public",
    });
    let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    answer(stream, "200 OK", message.to_string().as_bytes());
}
