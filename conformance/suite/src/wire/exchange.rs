//! What comes back for one request, over either transport.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::h2;
use super::http::{Connection, Framing, Head};
use super::json::{at, shown};
use super::line::Process;
use super::record::{Noted, Record};
use super::sse::{Event, Events};
use crate::verdict::{Stop, Verdict, expect};

/// A whole reply: all messages of it, up to the response.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// The head, over HTTP.
    pub(crate) head: Option<Head>,
    /// The body as it came, over HTTP.
    pub(crate) body: Vec<u8>,
    /// The messages, in their order. A body that is no JSON leaves none.
    pub(crate) messages: Vec<Value>,
    /// The events that carried them, if it was a stream.
    pub(crate) events: Vec<Event>,
}

impl Reply {
    /// Reads a whole reply from a connection that is used again.
    pub(crate) async fn read(connection: &mut Connection) -> Verdict<Self> {
        let head = connection.final_head().await?;
        let mut framing = Connection::framing(&head);
        let mut body = Vec::new();
        while let Some(piece) = connection.piece(&mut framing).await? {
            body.extend(piece);
        }
        let mut reply = Self { head: Some(head), body, ..Self::default() };
        reply.take_messages();
        Ok(reply)
    }

    /// Whether nothing more can be sent on the connection it came over.
    pub(crate) fn closes(&self) -> bool {
        let connection = self.head.as_ref().and_then(|head| head.get("Connection"));
        connection.is_some_and(|it| it.to_ascii_lowercase().contains("close"))
    }

    fn take_messages(&mut self) {
        if self.head.as_ref().is_some_and(|head| head.media_type() == "text/event-stream") {
            self.events = Events::default().push(&self.body);
            let data = self.events.iter().flat_map(|event| serde_json::from_str(&event.data));
            self.messages = data.collect();
        } else {
            self.messages = serde_json::from_slice(&self.body).into_iter().collect();
        }
    }

    /// The HTTP status, or nothing over other transports.
    pub(crate) fn status(&self) -> Option<u16> {
        self.head.as_ref().map(Head::status)
    }

    /// The status is this one; true of every transport that has none.
    pub(crate) fn has_status(&self, status: u16) -> Verdict {
        let seen = self.status();
        expect(seen.is_none_or(|seen| seen == status), format!("status {status}"), self.told())
    }

    /// The status is in this range; true of every transport that has none.
    pub(crate) fn has_status_in(&self, range: std::ops::Range<u16>) -> Verdict {
        let seen = self.status();
        let expected = format!("a status from {} to {}", range.start, range.end - 1);
        expect(seen.is_none_or(|seen| range.contains(&seen)), expected, self.told())
    }

    /// The last message, which is the response.
    pub(crate) fn response(&self) -> Verdict<&Value> {
        let response = self
            .messages
            .last()
            .filter(|message| message.get("result").is_some() || message.get("error").is_some());
        response.ok_or_else(|| Stop::fail("a JSON-RPC response", self.told()))
    }

    /// Everything before the response.
    pub(crate) fn notifications(&self) -> impl Iterator<Item = &Value> {
        self.messages.iter().filter(|message| message.get("method").is_some())
    }

    /// The result.
    pub(crate) fn result(&self) -> Verdict<&Value> {
        let result = self.response()?.get("result");
        result.ok_or_else(|| Stop::fail("a result", self.told()))
    }

    /// The error.
    pub(crate) fn error(&self) -> Verdict<&Value> {
        let error = self.response()?.get("error");
        error.ok_or_else(|| Stop::fail("an error", self.told()))
    }

    /// There is an error, and it has this code.
    pub(crate) fn has_code(&self, code: i64) -> Verdict<&Value> {
        let error = self.error()?;
        expect(at(error, "/code") == code, format!("error {code}"), self.told())?;
        Ok(error)
    }

    /// The request was refused with this status and this code.
    pub(crate) fn is_refused(&self, status: u16, code: i64) -> Verdict<&Value> {
        let error = self.has_code(code)?;
        self.has_status(status)?;
        Ok(error)
    }

    /// What came, on one line.
    pub(crate) fn told(&self) -> String {
        let status = self.status().map(|status| format!("status {status}, "));
        let what = match self.messages.last() {
            Some(message) => shown(message),
            None if self.body.is_empty() => "no body".to_owned(),
            None => super::json::cut(&String::from_utf8_lossy(&self.body)),
        };
        format!("{}{what}", status.unwrap_or_default())
    }
}

/// A reply that is being read.
pub(crate) struct Open {
    pub(crate) head: Option<Head>,
    /// The id of the request that opened it.
    pub(crate) id: Value,
    source: Source,
    /// How many messages were given out.
    count: usize,
    /// Messages that were read and not given out yet.
    ready: VecDeque<Value>,
    /// The method of the request, and where its answers are recorded.
    record: Option<(String, Record)>,
    /// The events so far.
    events: Vec<Event>,
}

/// There are not more messages than one reply, or one process, has at most.
pub(super) fn bounded(count: usize) -> Verdict {
    expect(count <= MESSAGES, "an end", format!("more than {MESSAGES} messages"))
}

/// Messages that are read. Decoded they take many times the bytes that came.
const MESSAGES: usize = 10_000;

/// What replies come over.
pub(crate) enum Below {
    Connection(Connection),
    Process(Box<Process>),
}

enum Source {
    Http { body: Body, events: Events },
    Lines(Process),
}

/// A body that is being read.
enum Body {
    Http1(Connection, Framing),
    Http2(h2::Stream),
}

impl Body {
    async fn piece(&mut self) -> Verdict<Option<Vec<u8>>> {
        match self {
            Self::Http1(connection, framing) => connection.piece(framing).await,
            Self::Http2(stream) => stream.piece().await,
        }
    }
}

impl Open {
    pub(crate) fn http(connection: Connection, head: Head, id: Value) -> Self {
        let framing = Connection::framing(&head);
        Self::of(Body::Http1(connection, framing), head, id)
    }

    pub(crate) fn http2(stream: h2::Stream, id: Value) -> Self {
        let head = stream.head.clone();
        Self::of(Body::Http2(stream), head, id)
    }

    fn of(body: Body, head: Head, id: Value) -> Self {
        let source = Source::Http { body, events: Events::default() };
        Self {
            head: Some(head),
            id,
            source,
            count: 0,
            ready: VecDeque::new(),
            record: None,
            events: Vec::new(),
        }
    }

    pub(crate) fn lines(process: Process, id: Value) -> Self {
        Self {
            head: None,
            id,
            source: Source::Lines(process),
            count: 0,
            ready: VecDeque::new(),
            record: None,
            events: Vec::new(),
        }
    }

    /// The same, with all that comes recorded as answers to `method`.
    pub(crate) fn recorded(mut self, method: &str, record: &Record) -> Self {
        self.record = Some((method.to_owned(), record.clone()));
        self
    }

    fn note(&self, message: &Value) {
        if let Some((method, record)) = &self.record {
            // Over lines there may be responses to what was sent beside.
            let is_foreign = message.get("id").is_some_and(|id| *id != self.id);
            let method = if is_foreign { String::new() } else { method.clone() };
            let head = self.head.clone();
            record.add(Noted { method, head, message: message.clone() });
        }
    }

    /// The next message; nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Verdict<Option<Value>> {
        let next = self.read().await?;
        if let Some(message) = &next {
            self.count += 1;
            bounded(self.count)?;
            self.note(message);
        }
        Ok(next)
    }

    async fn read(&mut self) -> Verdict<Option<Value>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            match &mut self.source {
                Source::Lines(process) => return process.next().await,
                Source::Http { body, events } => {
                    let Some(piece) = body.piece().await? else {
                        return Ok(None);
                    };
                    for event in events.push(&piece) {
                        self.ready.push_back(parse(&event.data)?);
                        self.events.push(event);
                    }
                }
            }
        }
    }

    /// The next event, whatever it carries; nothing at the end, or if there is no stream.
    pub(crate) async fn event(&mut self) -> Verdict<Option<Event>> {
        let is_stream = |head: &Head| head.media_type() == "text/event-stream";
        let Source::Http { body, events } = &mut self.source else { return Ok(None) };
        if !self.head.as_ref().is_some_and(is_stream) {
            return Ok(None);
        }
        while let Some(piece) = body.piece().await? {
            if let Some(event) = events.push(&piece).into_iter().next() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The next message, which has to be there.
    pub(crate) async fn expect_next(&mut self, what: &str) -> Verdict<Value> {
        self.next().await?.ok_or_else(|| Stop::fail(what, "the end of the stream"))
    }

    /// The messages that arrive within `time`.
    pub(crate) async fn within(&mut self, time: Duration) -> Verdict<Vec<Value>> {
        let end = Instant::now() + time;
        let mut messages = Vec::new();
        while let Ok(next) = tokio::time::timeout_at(end, self.next()).await {
            match next? {
                Some(message) => messages.push(message),
                None => break,
            }
        }
        Ok(messages)
    }

    /// A process that others may speak to as well, if that is what is below.
    pub(crate) fn process(&mut self) -> Option<&mut Process> {
        match &mut self.source {
            Source::Lines(process) => Some(process),
            Source::Http { .. } => None,
        }
    }

    /// Reads to the response, or to the end of the body.
    pub(crate) async fn finish(mut self) -> Verdict<Reply> {
        self.read_out().await
    }

    /// The connection or the process below, on which to go on after the end of the reply; nothing if it is used up.
    pub(crate) fn into_below(self) -> Option<Below> {
        match self.source {
            Source::Lines(process) => Some(Below::Process(Box::new(process))),
            Source::Http { body: Body::Http1(connection, Framing::Length(0)), .. } => {
                let closes = self.head.as_ref().and_then(|head| head.get("Connection"));
                let closes = closes.is_some_and(|it| it.eq_ignore_ascii_case("close"));
                (!closes).then_some(Below::Connection(connection))
            }
            Source::Http { .. } => None,
        }
    }

    /// As [`finish`](Self::finish), without giving up what is below.
    pub(crate) async fn read_out(&mut self) -> Verdict<Reply> {
        let head = self.head.clone();
        let is_json = head.as_ref().is_some_and(|head| head.media_type() != "text/event-stream");
        let mut reply = if is_json { self.whole().await? } else { self.up_to_response().await? };
        reply.head = head;
        for message in reply.messages.iter().filter(|_| is_json) {
            self.note(message);
        }
        Ok(reply)
    }

    /// All messages up to the response over lines, and up to the end of a stream.
    async fn up_to_response(&mut self) -> Verdict<Reply> {
        let mut reply = Reply::default();
        while let Some(message) = self.next().await? {
            let is_response =
                message.get("id") == Some(&self.id) && message.get("method").is_none();
            reply.messages.push(message);
            if is_response && matches!(self.source, Source::Lines(_)) {
                break;
            }
        }
        reply.events = std::mem::take(&mut self.events);
        Ok(reply)
    }

    /// A body that is no stream.
    async fn whole(&mut self) -> Verdict<Reply> {
        let mut reply = Reply::default();
        if let Source::Http { body, .. } = &mut self.source {
            while let Some(piece) = body.piece().await? {
                reply.body.extend(piece);
            }
            reply.take_messages();
        }
        Ok(reply)
    }
}

fn parse(text: &str) -> Verdict<Value> {
    let parsed = serde_json::from_str(text);
    parsed.map_err(|error| {
        Stop::fail("a JSON-RPC message", format!("{error}: {}", super::json::cut(text)))
    })
}
