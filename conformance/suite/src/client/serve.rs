//! The playing server's end of connections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, join, sink};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::answer::{Answer, Content, Part as Piece};
use super::play::{Part, Seen, Witness};
use crate::verdict::Verdict;
use crate::wire::http::Connection;
use crate::wire::{Head, Log};

/// What every connection needs.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) part: Part,
    pub(super) witness: Arc<Witness>,
    pub(super) log: Log,
    pub(super) origin: String,
    /// How long an answer waits for the client to leave another.
    pub(super) patience: Duration,
}

/// How long a playing server waits for a client that has a connection open.
const PATIENCE: Duration = Duration::from_secs(600);

impl Serving {
    /// Serves until it is aborted.
    pub(super) async fn accept(self, listener: TcpListener, is_http: bool) {
        let mut tasks = tokio::task::JoinSet::new();
        let mut connection = 0;
        while let Ok((stream, _)) = listener.accept().await {
            let serving = self.clone();
            let _ = stream.set_nodelay(true);
            if is_http {
                tasks.spawn(async move { drop(serving.http(stream, connection).await) });
            } else {
                self.witness.opened();
                tasks.spawn(async move {
                    let witness = Arc::clone(&serving.witness);
                    serving.lines(stream, connection).await;
                    witness.closed();
                });
            }
            connection += 1;
        }
    }

    /// What the part answers; nothing if it panics, of which the play tells.
    fn answer(&self, seen: &Seen) -> Answer {
        let answer = catch_unwind(AssertUnwindSafe(|| (self.part)(seen)));
        answer.unwrap_or_else(|_| {
            self.witness.panicked();
            Answer::close()
        })
    }

    fn see(&self, head: Option<Head>, body: Vec<u8>, connection: usize) -> Seen {
        let message = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let origin = self.origin.clone();
        self.witness.add(Seen {
            head,
            body,
            message,
            connection,
            number: 0,
            turn: 0,
            at: Instant::now(),
            origin,
        })
    }

    /// All requests of one connection.
    async fn http(self, stream: TcpStream, connection: usize) -> Verdict {
        let (reader, mut writer) = stream.into_split();
        let mut requests = Connection::over(Box::new(join(reader, sink())), &self.log, PATIENCE);
        loop {
            let head = requests.head().await?;
            let mut framing = Connection::framing(&head);
            let mut body = Vec::new();
            while let Some(piece) = requests.piece(&mut framing).await? {
                body.extend(piece);
            }
            let is_last = head.get("Connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
            let seen = self.see(Some(head), body, connection);
            let answer = self.answer(&seen);
            tokio::select! {
                goes_on = self.reply(&mut writer, answer) => if !goes_on || is_last {
                    let _ = writer.shutdown().await;
                    return Ok(());
                },
                // A client that leaves, or sends more before it has its answer, does not wait for it.
                _ = requests.is_closed() => {
                    self.log.note("the client left");
                    self.witness.left(seen.number);
                    return Ok(());
                }
            }
        }
    }

    /// Writes an answer; whether the connection goes on.
    async fn reply(&self, writer: &mut OwnedWriteHalf, answer: Answer) -> bool {
        let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let (media_type, body) = match answer.content {
            Content::Close => return false,
            Content::Silence => std::future::pending().await,
            Content::Nothing => (String::new(), Vec::new()),
            Content::Json(value) => ("application/json".to_owned(), value.to_string().into_bytes()),
            Content::Bytes(media_type, bytes) => (media_type, bytes),
            Content::Stream(pieces) => {
                head.push_str("Content-Type: text/event-stream\r\n");
                head.push_str("Transfer-Encoding: chunked\r\n\r\n");
                return self.write(writer, head.as_bytes()).await
                    && self.pieces(writer, pieces, chunk).await
                    && self.write(writer, b"0\r\n\r\n").await;
            }
            Content::Wire(pieces) => {
                self.pieces(writer, pieces, |bytes| bytes).await;
                return false;
            }
        };
        if !media_type.is_empty() {
            head.push_str(&format!("Content-Type: {media_type}\r\n"));
        }
        if answer.status != 204 {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        self.write(writer, head.as_bytes()).await && self.write(writer, &body).await
    }

    /// Writes the pieces of a stream, each as `framed` has it; whether the connection goes on.
    async fn pieces(
        &self,
        writer: &mut OwnedWriteHalf,
        pieces: Vec<Piece>,
        framed: fn(Vec<u8>) -> Vec<u8>,
    ) -> bool {
        for piece in pieces {
            let (bytes, times) = match piece {
                Piece::Message(message) => (format!("data: {message}\n\n").into_bytes(), 1),
                Piece::Raw(bytes) => (bytes, 1),
                Piece::Repeat(bytes, times) => (bytes, times),
                Piece::Hold => std::future::pending().await,
                Piece::Break => return false,
                Piece::Reset => {
                    let _ = writer.as_ref().set_zero_linger();
                    return false;
                }
                other => {
                    self.act(other).await;
                    continue;
                }
            };
            let bytes = framed(bytes);
            for _ in 0..times {
                if !self.write(writer, &bytes).await {
                    return false;
                }
            }
        }
        true
    }

    async fn write(&self, writer: &mut OwnedWriteHalf, bytes: &[u8]) -> bool {
        self.log.sent(bytes);
        writer.write_all(bytes).await.is_ok()
    }

    /// A client that speaks in lines, through the bridge.
    async fn lines(self, stream: TcpStream, connection: usize) {
        let (reader, writer) = stream.into_split();
        let writer = Arc::new(Mutex::new(writer));
        let mut lines = BufReader::new(reader).split(b'\n');
        let mut tasks = tokio::task::JoinSet::new();
        while let Ok(Some(line)) = lines.next_segment().await {
            self.log.seen(&line);
            let seen = self.see(None, line, connection);
            let answer = self.answer(&seen);
            let (serving, writer) = (self.clone(), Arc::clone(&writer));
            tasks.spawn(async move { serving.reply_in_lines(&writer, answer).await });
        }
        // The client has closed its side; what it asked for is answered all the same.
        let _ = tokio::time::timeout(Duration::from_millis(200), async {
            while tasks.join_next().await.is_some() {}
        })
        .await;
    }

    async fn reply_in_lines(&self, writer: &Mutex<OwnedWriteHalf>, answer: Answer) {
        let pieces = match answer.content {
            Content::Close => vec![Piece::Break],
            Content::Nothing | Content::Silence => return,
            Content::Json(value) => vec![Piece::Message(value)],
            Content::Bytes(_, bytes) => vec![Piece::Raw(bytes)],
            Content::Stream(pieces) | Content::Wire(pieces) => pieces,
        };
        for piece in pieces {
            let (bytes, times) = match piece {
                Piece::Message(message) => (format!("{message}\n").into_bytes(), 1),
                Piece::Raw(bytes) => (bytes, 1),
                Piece::Repeat(bytes, times) => (bytes, times),
                Piece::Hold => return,
                Piece::Break | Piece::Reset => {
                    let _ = writer.lock().await.shutdown().await;
                    return;
                }
                other => {
                    self.act(other).await;
                    continue;
                }
            };
            for _ in 0..times {
                if !self.write(&mut *writer.lock().await, &bytes).await {
                    return;
                }
            }
        }
    }

    /// Does what a piece says that has nothing to be written.
    async fn act(&self, piece: Piece) {
        match piece {
            Piece::Pause(time) => sleep(time).await,
            Piece::Until(told) => told.notified().await,
            Piece::Left(number) => self.witness.until_left(number, self.patience).await,
            Piece::Reached(flag) => flag.store(true, Ordering::SeqCst),
            _ => {}
        }
    }
}

fn chunk(bytes: Vec<u8>) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend(bytes.into_iter().chain(*b"\r\n"));
    chunk
}
