//! An authorization server of bytes, which answers what it is told to and keeps what it was asked.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::within;

pub(crate) struct Provider {
    addr: SocketAddr,
    shared: Arc<Shared>,
    open: watch::Sender<bool>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<HashMap<String, String>>,
    asked: Mutex<Vec<String>>,
    is_down: Mutex<bool>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (open, gate) = watch::channel(true);
        let of_task = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&of_task), gate.clone()));
            }
        });
        Self { addr, shared, open, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Answers 200 with `body` at `path` from now on; elsewhere the answer is 404.
    pub(crate) fn answer(&self, path: &str, body: &str) {
        self.answer_with(path, "200 OK", "", body);
    }

    /// The same with any status, and further lines of the head.
    pub(crate) fn answer_with(&self, path: &str, status: &str, lines: &str, body: &str) {
        let length = body.len();
        let reply = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{lines}\r\n{body}"
        );
        self.shared.answers.lock().unwrap().insert(path.to_owned(), reply);
    }

    /// Closes every connection without a word, or does not any more.
    pub(crate) fn down(&self, is_down: bool) {
        *self.shared.is_down.lock().unwrap() = is_down;
    }

    /// Holds answers back until told otherwise.
    pub(crate) fn hold(&self, holds: bool) {
        self.open.send_replace(!holds);
    }

    /// Every request so far, whole.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.asked.lock().unwrap().len()
    }

    /// Waits until it has been asked so often.
    pub(crate) async fn asked_times(&self, times: usize) {
        within(async {
            while self.count() < times {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>, mut gate: watch::Receiver<bool>) {
    let mut read = Vec::new();
    let request = loop {
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return;
        }
        if let Some(request) = whole(&read) {
            break request;
        }
    };
    shared.asked.lock().unwrap().push(request.clone());
    if *shared.is_down.lock().unwrap() {
        return;
    }
    let _ = gate.wait_for(|open| *open).await;
    let path = request.split(' ').nth(1).unwrap();
    let reply = shared.answers.lock().unwrap().get(path).cloned();
    let none = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let _ = stream.write_all(reply.as_deref().unwrap_or(none).as_bytes()).await;
}

/// The request, once all of it is there.
fn whole(read: &[u8]) -> Option<String> {
    let text = str::from_utf8(read).unwrap();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
    });
    (body.len() >= length.unwrap_or(0)).then(|| text.to_owned())
}
