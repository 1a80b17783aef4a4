//! A connection: bytes out, responses and their frames in.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Post, within};

pub(crate) struct Conn {
    pub(crate) stream: TcpStream,
    /// Read and not looked at yet.
    read: Vec<u8>,
    /// Of the body of the response under way.
    body: Vec<u8>,
    /// What is left of that body, if its length was announced.
    left: Option<usize>,
}

/// A response as far as its head, or whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What is between two blank lines of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    Event(Value),
    Comment(String),
}

impl Conn {
    pub(crate) async fn open(addr: SocketAddr) -> Self {
        let stream = within(TcpStream::connect(addr)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, read: Vec::new(), body: Vec::new(), left: None }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        within(self.stream.write_all(bytes)).await.unwrap();
    }

    /// Sends `post` and reads the whole answer.
    pub(crate) async fn ask(&mut self, post: &Post) -> Reply {
        self.send(&post.bytes()).await;
        self.reply().await
    }

    /// Sends `post` and reads the answer as far as its body.
    pub(crate) async fn ask_head(&mut self, post: &Post) -> Reply {
        self.send(&post.bytes()).await;
        self.head().await
    }

    /// Reads a whole response.
    pub(crate) async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await;
        while let Some(chunk) = self.chunk().await {
            reply.body.extend(chunk);
        }
        reply
    }

    /// Reads a response as far as its body.
    pub(crate) async fn head(&mut self) -> Reply {
        let head = self.take_until(b"\r\n\r\n").await;
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let line = lines.next().unwrap();
        let status = line.strip_prefix("HTTP/1.1 ").unwrap_or_else(|| panic!("{line:?}"));
        let status = status[..3].parse().unwrap();
        let fields = lines.filter_map(|line| line.split_once(": "));
        let fields =
            fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let reply = Reply { status, fields, body: Vec::new() };
        self.body.clear();
        self.left = reply.field("content-length").map(|length| length.parse().unwrap());
        if status == 204 {
            assert_eq!(self.left.replace(0), None, "{reply:?}");
        }
        assert!(self.left.is_some() != reply.is_chunked(), "a body without framing: {reply:?}");
        reply
    }

    /// Reads the head of a stream.
    pub(crate) async fn stream(&mut self) -> Reply {
        let head = self.head().await;
        assert!(head.status == 200 && head.is_stream(), "{head:?}");
        head
    }

    /// Reads a head that is no response yet.
    pub(crate) async fn interim(&mut self) -> String {
        String::from_utf8(self.take_until(b"\r\n\r\n").await).unwrap()
    }

    /// The next chunk of a body, which is one chunk if its length was announced; `None` behind the last.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        if let Some(left) = &mut self.left {
            let length = std::mem::take(left);
            return if length > 0 { Some(self.take(length).await) } else { None };
        }
        let size = String::from_utf8(self.take_until(b"\r\n").await).unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let chunk = self.take(size).await;
        assert_eq!(self.take(2).await, b"\r\n");
        (size > 0).then_some(chunk)
    }

    /// The next frame of a stream; `None` at its end.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = find(&self.body, b"\n\n") {
                let rest = self.body.split_off(end + 2);
                let frame = std::mem::replace(&mut self.body, rest);
                return Some(parse_frame(&String::from_utf8(frame).unwrap()));
            }
            match self.chunk().await {
                Some(chunk) => self.body.extend(chunk),
                None => {
                    assert!(self.body.is_empty(), "half a frame at the end");
                    return None;
                }
            }
        }
    }

    /// The next message of a stream, comments passed over.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            match self.frame().await? {
                Frame::Event(event) => return Some(event),
                Frame::Comment(_) => {}
            }
        }
    }

    /// Every message up to the end of the stream.
    pub(crate) async fn events(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }

    /// Waits until the peer has closed, and returns what it had to say before.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        // A reset is an end as well.
        while self.fill().await.is_some_and(|read| read > 0) {}
        std::mem::take(&mut self.read)
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.read.len() < length {
            self.must_fill().await;
        }
        let rest = self.read.split_off(length);
        std::mem::replace(&mut self.read, rest)
    }

    async fn take_until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = find(&self.read, end) {
                return self.take(at + end.len()).await;
            }
            self.must_fill().await;
        }
    }

    async fn must_fill(&mut self) {
        let read = self.fill().await;
        assert!(
            read.is_some_and(|read| read > 0),
            "the connection ended after {:?}",
            String::from_utf8_lossy(&self.read)
        );
    }

    /// Reads some bytes; `None` for an error.
    async fn fill(&mut self) -> Option<usize> {
        self.read.reserve(16 * 1024);
        within(self.stream.read_buf(&mut self.read)).await.ok()
    }
}

impl Reply {
    /// What came of a stream by other means than a [`Conn`].
    pub(crate) fn of_stream(body: Vec<u8>) -> Self {
        let fields = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        Self { status: 200, fields, body }
    }

    /// The value of a field that is there once.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(found, _)| found == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} is there twice");
        value
    }

    pub(crate) fn is_json(&self) -> bool {
        self.field("content-type") == Some("application/json")
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.field("content-type") == Some("text/event-stream")
    }

    fn is_chunked(&self) -> bool {
        self.field("transfer-encoding") == Some("chunked")
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    /// The message that answers the request: the body, or the last event of a stream.
    pub(crate) fn message(&self) -> Value {
        if self.is_stream() {
            return self.events().pop().unwrap();
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{:?}", self.text()))
    }

    /// The messages of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text().strip_suffix("\n\n").unwrap();
        let frames = text.split("\n\n").map(|frame| parse_frame(&format!("{frame}\n\n")));
        frames
            .filter_map(|frame| match frame {
                Frame::Event(event) => Some(event),
                Frame::Comment(_) => None,
            })
            .collect()
    }

    /// The result, which must be there.
    pub(crate) fn result(&self) -> Value {
        let message = self.message();
        assert!(message.get("error").is_none(), "{message}");
        message["result"].clone()
    }

    /// The text of a tool result's only content block.
    pub(crate) fn tool_text(&self) -> String {
        tool_text(&self.message())
    }

    /// The code of the error, if it is one.
    pub(crate) fn code(&self) -> Option<i64> {
        self.message()["error"]["code"].as_i64()
    }
}

pub(crate) fn tool_text(message: &Value) -> String {
    let content = message["result"]["content"].as_array().unwrap_or_else(|| panic!("{message}"));
    assert_eq!(content.len(), 1, "{message}");
    content[0]["text"].as_str().unwrap().to_owned()
}

fn parse_frame(frame: &str) -> Frame {
    let mut data = None;
    let mut comment = String::new();
    for line in frame.strip_suffix("\n\n").unwrap().lines() {
        if let Some(text) = line.strip_prefix("data: ") {
            assert!(data.replace(text).is_none(), "more than one data line: {frame:?}");
        } else if let Some(text) = line.strip_prefix(':') {
            comment += text;
        } else {
            panic!("neither data nor a comment: {line:?}");
        }
    }
    match data {
        Some(data) => Frame::Event(serde_json::from_str(data).unwrap()),
        None => Frame::Comment(comment.trim().to_owned()),
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}
