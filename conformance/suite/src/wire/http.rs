//! HTTP/1.1 by hand: requests that may be wrong in any way, and responses as they come.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::log::Log;
use super::message::Message;
use crate::verdict::Stop;

/// The name and the value of a header.
type Field = (String, Vec<u8>);

/// A request about to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    method: String,
    target: String,
    headers: Vec<Field>,
    body: Vec<u8>,
    has_length: bool,
}

impl Post {
    /// The request that carries `message` to `authority` and `target` with all headers that it needs.
    pub(crate) fn of(message: &Message, authority: &str, target: &str) -> Self {
        let mut post = Self::bytes(message.text(), authority, target);
        if let Some(version) = message.version() {
            post = post.header("MCP-Protocol-Version", version);
        }
        post = post.header("Mcp-Method", message.method());
        match message.name() {
            Some(name) => post.header("Mcp-Name", encoded(name)),
            None => post,
        }
    }

    /// The request that carries a body, without the headers that repeat it.
    pub(crate) fn bytes(body: impl Into<Vec<u8>>, authority: &str, target: &str) -> Self {
        let post = Self {
            method: "POST".into(),
            target: target.into(),
            headers: Vec::new(),
            body: body.into(),
            has_length: true,
        };
        post.header("Host", authority)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
    }

    /// Another HTTP method.
    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    /// Another target.
    pub(crate) fn target(mut self, target: impl Into<String>) -> Self {
        self.target = target.into();
        self
    }

    /// One more header, whether or not there is one of that name.
    pub(crate) fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The header in place of those of that name.
    pub(crate) fn set(self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.without(name).header(name, value)
    }

    /// The first header of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// No header of that name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self
    }

    /// The same headers under names that are changed by `change`.
    pub(crate) fn renamed(mut self, change: impl Fn(&str) -> String) -> Self {
        for (name, _) in &mut self.headers {
            *name = change(name);
        }
        self
    }

    /// Another body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// No `Content-Length` but what the check sets itself.
    pub(crate) fn without_length(mut self) -> Self {
        self.has_length = false;
        self
    }

    /// Method, target, headers and body, for what does not put them into bytes of HTTP/1.1.
    pub(crate) fn parts(&self) -> (&str, &str, &[Field], &[u8]) {
        (&self.method, &self.target, &self.headers, &self.body)
    }

    /// Head and body as they go out.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            out.extend(name.bytes().chain(*b": "));
            out.extend(value.iter().chain(b"\r\n"));
        }
        if self.has_length && self.method != "GET" {
            out.extend(format!("Content-Length: {}\r\n", self.body.len()).bytes());
        }
        out.extend(b"\r\n");
        out.extend(&self.body);
        out
    }
}

/// A value as a header can carry it. Specification: Streamable HTTP, Value Encoding.
pub(crate) fn encoded(value: &str) -> String {
    use base64::Engine as _;
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && value.trim_matches([' ', '\t']) == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if is_plain {
        return value.to_owned();
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(value);
    format!("=?base64?{encoded}?=")
}

/// The head of a response, or of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// The first line.
    pub(crate) line: String,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn new(line: impl Into<String>, headers: Vec<(String, String)>) -> Self {
        Self { line: line.into(), headers }
    }

    /// The status of a response; 0 if there is none.
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    /// The first header of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All headers of that name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let same = move |found: &str| found.eq_ignore_ascii_case(name);
        self.headers.iter().filter(move |(found, _)| same(found)).map(|(_, value)| &**value)
    }

    /// All headers in their order.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The media type without its parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.get("Content-Type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let line = lines.next().unwrap_or_default().to_owned();
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
        });
        Self { line, headers: headers.collect() }
    }
}

/// What HTTP is spoken over.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection, which may carry several requests.
pub(crate) struct Connection {
    io: Box<dyn Io>,
    log: Log,
    patience: Duration,
    /// What was read and not used yet.
    rest: Vec<u8>,
    /// Bytes that may still be read.
    left: usize,
}

/// Bytes of a head, and of a line between chunks, that are read at most.
const HEAD: usize = 256 * 1024;
/// Bytes of a whole connection, or of all that a process writes. No check asks for a tenth of it; several such peers,
/// with their messages decoded, fit into the memory of a small machine.
pub(crate) const WHOLE: usize = 16 * 1024 * 1024;

impl Connection {
    pub(crate) fn over(io: Box<dyn Io>, log: &Log, patience: Duration) -> Self {
        Self { io, log: log.clone(), patience, rest: Vec::new(), left: WHOLE }
    }

    /// Sends bytes as they are. That the peer has closed its side already is no error here: it may have answered.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.log.sent(bytes);
        match timeout(self.patience, self.io.write_all(bytes)).await {
            Ok(Ok(())) => {
                let _ = self.io.flush().await;
                Ok(())
            }
            Ok(Err(error)) => {
                self.log.note(&format!("the peer does not read on: {error}"));
                Ok(())
            }
            Err(_) => Err(Stop::lost("the peer does not read what is sent to it")),
        }
    }

    /// Sends `piece` that many times, or until the peer says something or closes its side.
    pub(crate) async fn pour(&mut self, piece: &[u8], times: usize) {
        let (patience, mut buffer) = (self.patience, [0; 1024]);
        let (mut reading, mut writing) = tokio::io::split(&mut self.io);
        let write = async {
            for _ in 0..times {
                if !matches!(timeout(patience, writing.write_all(piece)).await, Ok(Ok(()))) {
                    break;
                }
            }
        };
        tokio::select! {
            () = write => {}
            read = reading.read(&mut buffer) => {
                self.rest.extend(buffer.iter().take(read.unwrap_or_default()));
            }
        }
    }

    /// Ends the direction from here.
    pub(crate) async fn shutdown(&mut self) {
        let _ = self.io.shutdown().await;
    }

    /// Reads the next head that is not an interim one.
    pub(crate) async fn final_head(&mut self) -> Result<Head, Stop> {
        loop {
            let head = self.head().await?;
            if !matches!(head.status(), 100..200) {
                return Ok(head);
            }
        }
    }

    /// Reads the next head.
    pub(crate) async fn head(&mut self) -> Result<Head, Stop> {
        loop {
            if let Some(end) = find(&self.rest, b"\r\n\r\n") {
                let rest = self.rest.split_off(end + 4);
                let head = std::mem::replace(&mut self.rest, rest);
                self.log.seen(&head);
                return Ok(Head::parse(&head));
            }
            if self.rest.len() > HEAD {
                return Err(Stop::lost(format!("a head of more than {HEAD} bytes")));
            }
            if !self.fill().await? {
                return Err(Stop::lost("the connection was closed without a response"));
            }
        }
    }

    /// Whether the peer has closed its side, with nothing left to read, within the check's patience.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.rest.is_empty() && matches!(self.fill().await, Ok(false))
    }

    /// How the body behind `head` is framed.
    pub(crate) fn framing(head: &Head) -> Framing {
        let is_chunked =
            head.all("Transfer-Encoding").any(|it| it.to_ascii_lowercase().contains("chunked"));
        if is_chunked {
            Framing::Chunked
        } else if let Some(length) = head.get("Content-Length").and_then(|it| it.parse().ok()) {
            Framing::Length(length)
        } else if matches!(head.status(), 100..200 | 204 | 304) || !head.line.starts_with("HTTP/") {
            Framing::Length(0)
        } else {
            Framing::Close
        }
    }

    /// The next piece of a body; nothing at its end.
    pub(crate) async fn piece(&mut self, framing: &mut Framing) -> Result<Option<Vec<u8>>, Stop> {
        let piece = match framing {
            Framing::Length(0) => return Ok(None),
            Framing::Length(left) => {
                self.fill_if_empty().await?;
                let length = self.rest.len().min(*left);
                *left -= length;
                self.rest.drain(..length).collect::<Vec<_>>()
            }
            Framing::Chunked => match self.chunk().await? {
                Some(chunk) => chunk,
                None => {
                    *framing = Framing::Length(0);
                    return Ok(None);
                }
            },
            Framing::Close => {
                if self.rest.is_empty() && !self.fill().await? {
                    *framing = Framing::Length(0);
                    return Ok(None);
                }
                std::mem::take(&mut self.rest)
            }
        };
        self.log.seen(&piece);
        Ok(Some(piece))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let line = self.line().await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16);
        let size =
            size.map_err(|error| Stop::lost(format!("a chunk begins with {line:?}: {error}")))?;
        if size > WHOLE {
            return Err(Stop::lost(format!("a chunk of {size} bytes")));
        }
        while self.rest.len() < size + 2 {
            if !self.fill().await? {
                return Err(Stop::lost("the connection broke off within a chunk"));
            }
        }
        let chunk = self.rest.drain(..size).collect::<Vec<_>>();
        self.rest.drain(..2);
        Ok(Some(chunk).filter(|chunk| !chunk.is_empty()))
    }

    async fn line(&mut self) -> Result<String, Stop> {
        loop {
            if let Some(end) = find(&self.rest, b"\r\n") {
                let line = self.rest.drain(..end + 2).collect::<Vec<_>>();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.rest.len() > HEAD {
                return Err(Stop::lost(format!(
                    "no end of a line between chunks after {HEAD} bytes"
                )));
            }
            if !self.fill().await? {
                return Err(Stop::lost("the connection broke off between chunks"));
            }
        }
    }

    async fn fill_if_empty(&mut self) -> Result<(), Stop> {
        if self.rest.is_empty() && !self.fill().await? {
            return Err(Stop::lost("the connection broke off within the body"));
        }
        Ok(())
    }

    /// Reads more; whether there was any.
    async fn fill(&mut self) -> Result<bool, Stop> {
        if self.left == 0 {
            return Err(endless());
        }
        self.rest.reserve(16 * 1024);
        match timeout(self.patience, self.io.read_buf(&mut self.rest)).await {
            Ok(Ok(length)) => {
                self.left = self.left.saturating_sub(length);
                Ok(length > 0)
            }
            Ok(Err(error)) => Err(Stop::lost(format!("the connection broke off: {error}"))),
            Err(_) => Err(Stop::silent(self.patience)),
        }
    }
}

/// More came than is read of one peer.
pub(super) fn endless() -> Stop {
    Stop::lost(format!("more than {WHOLE} bytes, and no end of them"))
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// That many bytes are left.
    Length(usize),
    Chunked,
    /// Up to the end of the connection.
    Close,
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
