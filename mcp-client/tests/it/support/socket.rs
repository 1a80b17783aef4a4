//! A server of raw bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use mcp_client::{Client, ClientBuilder};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// What is written in answer to one request.
#[derive(Clone)]
pub(crate) struct Reply {
    write: Arc<Write>,
    then: Then,
}

/// Makes the bytes, given the id of the request.
type Write = dyn Fn(&str) -> Vec<u8> + Send + Sync;

#[derive(Clone, Copy)]
enum Then {
    /// The connection serves the next request.
    KeepAlive,
    Close,
    /// Nothing more is written; the connection waits for the client to close it.
    Hang,
}

impl Reply {
    fn new(write: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self { write: Arc::new(write), then: Then::KeepAlive }
    }

    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::new(move |_| bytes.clone())
    }

    /// A body under a status with these header lines. `{id}` stands for the id.
    pub(crate) fn head(status: &str, headers: &str, body: &str) -> Self {
        let (head, body) = (format!("HTTP/1.1 {status}\r\n{headers}"), body.to_owned());
        Self::new(move |id| {
            let body = body.replace("{id}", id);
            format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
        })
    }

    /// A body of any type under any status.
    pub(crate) fn body(status: &str, content_type: &str, body: &str) -> Self {
        Self::head(status, &format!("content-type: {content_type}\r\n"), body)
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::body("200 OK", "application/json", body)
    }

    /// A stream of these chunks that is not ended. `{id}` stands for the id.
    pub(crate) fn chunks<T: AsRef<[u8]>>(chunks: impl IntoIterator<Item = T>) -> Self {
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| chunk.as_ref().to_vec()).collect();
        Self::new(move |id| {
            let mut out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n"
                .to_vec();
            for chunk in &chunks {
                let chunk = match str::from_utf8(chunk) {
                    Ok(text) => text.replace("{id}", id).into_bytes(),
                    Err(_) => chunk.clone(),
                };
                out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                out.extend_from_slice(&chunk);
                out.extend_from_slice(b"\r\n");
            }
            out
        })
    }

    /// A stream of these messages that goes on, in silence.
    pub(crate) fn open_sse(messages: &[&str]) -> Self {
        Self::chunks(messages.iter().map(|message| format!("data: {message}\n\n"))).hang()
    }

    /// A stream of these messages.
    pub(crate) fn sse(messages: &[&str]) -> Self {
        Self::chunks(messages.iter().map(|message| format!("data: {message}\n\n"))).ended()
    }

    /// The same with the last chunk of a chunked body.
    pub(crate) fn ended(self) -> Self {
        let write = self.write;
        Self::new(move |id| {
            let mut out = write(id);
            out.extend_from_slice(b"0\r\n\r\n");
            out
        })
    }

    pub(crate) fn close(mut self) -> Self {
        self.then = Then::Close;
        self
    }

    pub(crate) fn hang(mut self) -> Self {
        self.then = Then::Hang;
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// The value of a header line, by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Answers requests with its replies in order, whatever connection they come on; further requests hang.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) host: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
    connections: Mutex<usize>,
    received: Notify,
    closed: Notify,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let state = State::new(replies);
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.serve(stream);
            }
        });
        Self { url: format!("http://{host}/mcp"), host, state }
    }

    /// The same at a Unix socket.
    #[cfg(unix)]
    pub(crate) fn start_unix(
        path: &std::path::Path,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let listener = tokio::net::UnixListener::bind(path).unwrap();
        let state = State::new(replies);
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.serve(stream);
            }
        });
        Self { url: "http://localhost/mcp".to_owned(), host: "localhost".to_owned(), state }
    }

    /// The same under TLS, as `localhost`. Handshakes that fail are no connections.
    #[cfg(feature = "tls")]
    pub(crate) async fn start_tls(
        config: rustls::ServerConfig,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("localhost:{}", listener.local_addr().unwrap().port());
        let state = State::new(replies);
        let shared = Arc::clone(&state);
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        shared.serve(stream);
                    }
                });
            }
        });
        Self { url: format!("https://{host}/mcp"), host, state }
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder(&self.url)
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The methods of the requests, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let method = |request: &Request| request.json()["method"].as_str().unwrap().to_owned();
        self.requests().iter().map(method).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.state.connections.lock().unwrap()
    }

    /// Waits until a request has arrived that this was not called for yet.
    pub(crate) async fn received(&self) {
        self.state.received.notified().await;
    }

    /// Waits until a client has closed a connection.
    pub(crate) async fn closed(&self) {
        self.state.closed.notified().await;
    }
}

impl State {
    fn new(replies: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let replies = Mutex::new(replies.into_iter().collect());
        Arc::new(Self { replies, ..Self::default() })
    }

    fn serve(self: &Arc<Self>, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        *self.connections.lock().unwrap() += 1;
        tokio::spawn(converse(stream, Arc::clone(self)));
    }
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<State>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let id = request.json().get("id").map(ToString::to_string).unwrap_or_default();
        state.requests.lock().unwrap().push(request);
        let reply = state.replies.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| Reply::raw("").hang());
        if stream.write_all(&(reply.write)(&id)).await.is_err() {
            break;
        }
        state.received.notify_one();
        match reply.then {
            Then::KeepAlive => {}
            Then::Close => return,
            Then::Hang => break,
        }
    }
    // Whatever else arrives, until the end of the connection or a reset.
    while stream.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {}
    state.closed.notify_one();
}

async fn read_request(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<Request> {
    loop {
        let text = String::from_utf8_lossy(buffer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = format!("{head}\r\n");
            let request = Request { head, body: body.to_owned() };
            let length: usize = request.header("content-length").unwrap().parse().unwrap();
            if body.len() >= length {
                assert_eq!(body.len(), length, "requests are not pipelined");
                buffer.clear();
                return Some(request);
            }
        }
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}
