//! What a playing server answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::play::Seen;
use crate::wire::message::META_SUBSCRIPTION;

/// An answer to one request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The status, over HTTP.
    pub(crate) status: u16,
    /// Headers besides those of the framing.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Content,
}

/// What stands in an answer.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A JSON body; over lines one line.
    Json(Value),
    /// A body of any kind, of a media type; over lines as it is.
    Bytes(String, Vec<u8>),
    /// A stream of events; over lines one line a message.
    Stream(Vec<Part>),
    /// Nothing: an empty body.
    Nothing,
    /// No answer for as long as the client waits.
    Silence,
    /// Everything that goes over the connection, head and all, which is closed behind it; for HTTP alone.
    Wire(Vec<Part>),
    /// No answer, and over HTTP the connection is closed.
    Close,
}

/// A part of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Message(Value),
    /// Bytes as they are.
    Raw(Vec<u8>),
    Pause(Duration),
    /// Goes on once it is told to, which may have been before.
    Until(Arc<Notify>),
    /// Goes on once the client has left the answer to the request of this number, over HTTP, or the check's patience is
    /// over.
    Left(usize),
    /// Goes on for as long as the client stays.
    Hold,
    /// The same bytes so many times.
    Repeat(Vec<u8>, usize),
    /// Notes that everything before it was written.
    Reached(Arc<AtomicBool>),
    /// The connection breaks off, without the end that the framing has.
    Break,
    /// The same by a reset.
    Reset,
}

impl Answer {
    fn of(content: Content) -> Self {
        Self { status: 200, headers: Vec::new(), content }
    }

    /// A JSON body.
    pub(crate) fn json(value: Value) -> Self {
        Self::of(Content::Json(value))
    }

    /// A body of any kind.
    pub(crate) fn bytes(media_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Content::Bytes(media_type.into(), bytes.into()))
    }

    /// A stream.
    pub(crate) fn stream(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::of(Content::Stream(parts.into_iter().collect()))
    }

    /// What goes over a connection, byte by byte.
    pub(crate) fn wire(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::of(Content::Wire(parts.into_iter().collect()))
    }

    /// A stream of these messages.
    pub(crate) fn messages(messages: impl IntoIterator<Item = Value>) -> Self {
        Self::stream(messages.into_iter().map(Part::Message))
    }

    /// The response to `seen` with this result.
    pub(crate) fn result(seen: &Seen, result: Value) -> Self {
        Self::json(response(seen, result))
    }

    /// The response to `seen` with this error, under a status that fits.
    pub(crate) fn error(seen: &Seen, code: i64, message: &str, data: Value) -> Self {
        let mut error = json!({ "code": code, "message": message });
        if !data.is_null() {
            error["data"] = data;
        }
        let status = if code == -32601 { 404 } else { 400 };
        Self::json(json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error })).status(status)
    }

    /// 202, as for a notification.
    pub(crate) fn accepted() -> Self {
        Self::of(Content::Nothing).status(202)
    }

    /// No answer, and the connection stays open.
    pub(crate) fn silence() -> Self {
        Self::of(Content::Silence)
    }

    /// No answer.
    pub(crate) fn close() -> Self {
        Self::of(Content::Close)
    }

    /// Another status.
    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// One more header.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// The response to `seen` with this result.
pub(crate) fn response(seen: &Seen, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result })
}

/// What a server that makes no mistakes answers: it has a tool `echo`, a resource, a template and a prompt.
pub(crate) fn good(seen: &Seen) -> Answer {
    if !matches!(seen.http_method(), "" | "POST") {
        return Answer::bytes("text/plain", "no").status(405).header("Allow", "POST");
    }
    if seen.id().is_null() {
        return Answer::accepted();
    }
    match result_of(seen) {
        Some(result) => Answer::result(seen, result),
        None if seen.method() == "subscriptions/listen" => listening(seen, Vec::new()),
        None => Answer::error(seen, -32601, "Method not found", Value::Null),
    }
}

/// A subscription that is acknowledged as it was asked for, and then has these notifications; it stays open.
pub(crate) fn listening(seen: &Seen, notifications: Vec<Value>) -> Answer {
    let messages = notifications.into_iter().map(|it| Part::Message(subscribed(seen, it)));
    Answer::stream([acknowledged(seen)].into_iter().chain(messages).chain([Part::Hold]))
}

/// The same with one notification, which waits until it is told to come.
pub(crate) fn listening_until(seen: &Seen, told: Arc<Notify>, notification: Value) -> Answer {
    let notification = Part::Message(subscribed(seen, notification));
    Answer::stream([acknowledged(seen), Part::Until(told), notification, Part::Hold])
}

fn acknowledged(seen: &Seen) -> Part {
    granted(seen, seen.param("notifications"))
}

/// The acknowledgement of these.
pub(crate) fn granted(seen: &Seen, notifications: &Value) -> Part {
    let acknowledged = json!({
        "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
        "params": { "notifications": notifications },
    });
    Part::Message(subscribed(seen, acknowledged))
}

/// The notification as one of the subscription that `seen` opens.
pub(crate) fn subscribed(seen: &Seen, mut notification: Value) -> Value {
    notification["params"]["_meta"] = json!({ META_SUBSCRIPTION: seen.id() });
    notification
}

/// The right result of a request, if the method is one that has one.
pub(crate) fn result_of(seen: &Seen) -> Option<Value> {
    let mut result = match seen.method() {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {
                "tools": { "listChanged": true }, "prompts": { "listChanged": true }, "completions": {},
                "resources": { "listChanged": true, "subscribe": true }, "logging": {},
            },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "echo", "description": "Says it again",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        }] }),
        "tools/call" => {
            let text =
                seen.param("arguments").get("text").cloned().unwrap_or_else(|| "done".into());
            return Some(json!({
                "resultType": "complete", "content": [{ "type": "text", "text": text }],
            }));
        }
        "resources/list" => json!({ "resources": [{
            "uri": "test://one", "name": "one", "mimeType": "text/plain",
        }] }),
        "resources/templates/list" => json!({ "resourceTemplates": [{
            "uriTemplate": "test://{name}", "name": "any",
        }] }),
        "resources/read" => {
            json!({ "contents": [{ "uri": seen.param("uri"), "text": "content" }] })
        }
        "prompts/list" => json!({ "prompts": [{ "name": "greet", "description": "Greets" }] }),
        "prompts/get" => {
            return Some(json!({ "resultType": "complete", "messages": [{
                "role": "user", "content": { "type": "text", "text": "Hello" },
            }] }));
        }
        "completion/complete" => {
            return Some(json!({ "resultType": "complete", "completion": { "values": ["a"] } }));
        }
        _ => return None,
    };
    result["resultType"] = "complete".into();
    result["ttlMs"] = 0.into();
    result["cacheScope"] = "private".into();
    Some(result)
}
