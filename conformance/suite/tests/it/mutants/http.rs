//! `Http`: a message of HTTP/1.1 whose head is kept line by line, as it came, right or wrong.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// A request or a response. A character of its head stands for a byte, whatever bytes those are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Http {
    /// The request line, or the status line.
    pub(crate) first: String,
    lines: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// Where a body ends.
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    Close,
}

impl Http {
    /// A request without a head, as a line is one.
    pub(crate) fn line(body: Vec<u8>) -> Self {
        Self { body, ..Self::default() }
    }

    /// Reads a head; nothing at the end of the connection.
    pub(crate) async fn head(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let Some(first) = line(from).await? else { return Ok(None) };
        let mut lines = Vec::new();
        while let Some(line) = line(from).await?.filter(|line| !line.is_empty()) {
            lines.push(line);
        }
        Ok(Some(Self { first, lines, body: Vec::new() }))
    }

    /// Reads a request with its body.
    pub(crate) async fn request(
        from: &mut (impl AsyncBufRead + Unpin),
    ) -> io::Result<Option<Self>> {
        let Some(mut request) = Self::head(from).await? else { return Ok(None) };
        let mut framing = request.framing(Framing::Length(0));
        while let Some(piece) = framing.piece(from).await? {
            request.body.extend(piece);
        }
        Ok(Some(request))
    }

    /// How long the body is by the head, or else this.
    pub(crate) fn framing(&self, or: Framing) -> Framing {
        if self.get("Transfer-Encoding").is_some() {
            return Framing::Chunked;
        }
        let length = self.get("Content-Length").and_then(|length| length.parse().ok());
        length.map_or(or, Framing::Length)
    }

    /// What goes on the wire, framed by its length.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut framed = self.clone();
        let had = ["Content-Length", "Transfer-Encoding"].iter().any(|it| self.get(it).is_some());
        framed.remove("Content-Length");
        framed.remove("Transfer-Encoding");
        if had || !self.body.is_empty() {
            framed.add("Content-Length", &self.body.len().to_string());
        }
        [framed.head_bytes(), framed.body].concat()
    }

    /// The head alone.
    pub(crate) fn head_bytes(&self) -> Vec<u8> {
        let head = format!("{}\r\n{}\r\n\r\n", self.first, self.lines.join("\r\n"));
        head.chars().map(|byte| u8::try_from(byte).unwrap_or(b'?')).collect()
    }

    /// The value of the first header of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let line = self.lines.iter().find(|line| is_named(line, name))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.lines.push(format!("{name}: {value}"));
    }

    /// Puts one header in place of all of this name.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.add(name, value);
    }

    /// Takes all headers of this name away.
    pub(crate) fn remove(&mut self, name: &str) {
        self.lines.retain(|line| !is_named(line, name));
    }

    /// Takes all headers away whose names begin with this.
    pub(crate) fn remove_all(&mut self, prefix: &str) {
        let is_one =
            |line: &str| line.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
        self.lines.retain(|line| !is_one(line));
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.get("Content-Type").is_some_and(|it| it.starts_with("text/event-stream"))
    }

    /// The status of a response.
    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn set_status(&mut self, status: u16) {
        self.first = format!("HTTP/1.1 {status} Bent");
    }

    /// Whether a response to `asked` has a body at all.
    pub(crate) fn has_body(&self, asked: &Self) -> bool {
        !asked.first.starts_with("HEAD ") && !matches!(self.status(), 100..200 | 204 | 304)
    }

    /// The message in the body; null if it is none.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn set_message(&mut self, message: &Value) {
        self.body = message.to_string().into_bytes();
    }

    /// Changes the message in the body, if it is one.
    pub(crate) fn bend(&mut self, change: impl FnOnce(&mut Value)) {
        let mut message = self.message();
        if message.is_object() {
            let before = message.clone();
            change(&mut message);
            if message != before {
                self.set_message(&message);
            }
        }
    }
}

impl Framing {
    /// The next piece of a body; nothing at its end.
    pub(crate) async fn piece(
        &mut self,
        from: &mut (impl AsyncBufRead + Unpin),
    ) -> io::Result<Option<Vec<u8>>> {
        let length = match self {
            Self::Length(0) => return Ok(None),
            Self::Length(length) => std::mem::take(length),
            Self::Chunked => {
                let size = line(from).await?.unwrap_or_default();
                let size = size.split(';').next().unwrap_or_default().trim();
                usize::from_str_radix(size, 16).map_err(io::Error::other)?
            }
            Self::Close => {
                let piece = from.fill_buf().await?.to_vec();
                from.consume(piece.len());
                return Ok(Some(piece).filter(|piece| !piece.is_empty()));
            }
        };
        let mut piece = vec![0; length];
        from.read_exact(&mut piece).await?;
        if matches!(self, Self::Chunked) {
            line(from).await?;
            if length == 0 {
                *self = Self::Length(0);
                return Ok(None);
            }
        }
        Ok(Some(piece))
    }
}

fn is_named(line: &str, name: &str) -> bool {
    line.split_once(':').is_some_and(|(it, _)| it.eq_ignore_ascii_case(name))
}

async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(&line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some(line.iter().copied().map(char::from).collect()))
}
