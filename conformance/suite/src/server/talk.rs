//! `Talk`: several exchanges at once. `Lane`: one after the other on the same connection.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::Cx;
use super::progress::reporting;
use super::raw::SETTLE;
use crate::verdict::{Of as _, Stop, Verdict};
use crate::wire::http::Connection;
use crate::wire::json::{at, shown};
use crate::wire::line::Process;
use crate::wire::message::VERSION;
use crate::wire::{Message, Noted, Reply};

/// Several exchanges at once: each on a connection of its own over HTTP, all of them in one process over stdio.
pub(super) struct Talk {
    cx: Cx,
    way: Way,
    /// The ids of the requests that were answered on streams that have not ended yet.
    ending: Vec<Value>,
}

enum Way {
    Http { tasks: JoinSet<()>, left: Vec<(Value, tokio::task::AbortHandle)>, sides: Sides },
    Lines(Box<Process>),
}

struct Sides {
    sender: mpsc::UnboundedSender<Verdict<Came>>,
    receiver: mpsc::UnboundedReceiver<Verdict<Came>>,
}

/// A message that came.
#[derive(Clone, Debug)]
pub(super) struct Came {
    /// The id of the request on whose stream it came; null over stdio, where they share one.
    pub(super) on: Value,
    /// Null at the end of the stream.
    pub(super) message: Value,
}

impl Came {
    /// Whether it is the response under this id.
    pub(super) fn answers(&self, id: &Value) -> bool {
        self.message.get("id") == Some(id) && self.message.get("method").is_none()
    }

    pub(super) fn method(&self) -> &str {
        at(&self.message, "/method").as_str().unwrap_or_default()
    }

    /// The id of the subscription that it belongs to; null if to none.
    pub(super) fn subscription(&self) -> &Value {
        let part = if self.message.get("result").is_some() { "result" } else { "params" };
        at(&self.message, &format!("/{part}/_meta/io.modelcontextprotocol~1subscriptionId"))
    }
}

impl Talk {
    pub(super) fn open(cx: &Cx) -> Verdict<Self> {
        let way = if cx.is_http() {
            let (sender, receiver) = mpsc::unbounded_channel();
            let sides = Sides { sender, receiver };
            Way::Http { tasks: JoinSet::new(), left: Vec::new(), sides }
        } else {
            Way::Lines(Box::new(cx.process()?))
        };
        Ok(Self { cx: cx.clone(), way, ending: Vec::new() })
    }

    /// Sends a request, and waits for nothing.
    pub(super) async fn send(&mut self, message: &Message) -> Verdict {
        match &mut self.way {
            Way::Lines(process) => process.send_line(&message.text()).await,
            Way::Http { tasks, left, sides } => {
                let task = carry(self.cx.clone(), message.clone(), sides.sender.clone());
                left.push((message.id().clone(), tasks.spawn(task)));
                Ok(())
            }
        }
    }

    /// Gives a request up: by closing its connection, or by saying so.
    pub(super) async fn leave(&mut self, id: &Value) -> Verdict {
        match &mut self.way {
            Way::Lines(process) => process.send_line(&cancelled(id).text()).await,
            Way::Http { left, .. } => {
                left.iter().filter(|(of, _)| of == id).for_each(|(_, task)| task.abort());
                left.retain(|(of, _)| of != id);
                self.ending.retain(|of| of != id);
                Ok(())
            }
        }
    }

    /// The next message on any stream.
    pub(super) async fn next(&mut self) -> Verdict<Came> {
        loop {
            if let Some(came) = self.message_or_end().await? {
                return Ok(came);
            }
        }
    }

    /// The next message, or nothing at the end of a stream.
    async fn message_or_end(&mut self) -> Verdict<Option<Came>> {
        let came = self.read().await?;
        if came.on.is_null() {
            return Ok(Some(came));
        }
        if came.message.is_null() {
            self.ending.retain(|id| *id != came.on);
            return Ok(None);
        }
        if came.answers(&came.on) {
            self.ending.push(came.on.clone());
        }
        Ok(Some(came))
    }

    async fn read(&mut self) -> Verdict<Came> {
        match &mut self.way {
            Way::Lines(process) => {
                let message = process.next().await?;
                let message =
                    message.ok_or_else(|| Stop::fail("a process that lives on", "its end"))?;
                let method = String::new();
                self.cx.record.add(Noted { method, head: None, message: message.clone() });
                Ok(Came { on: Value::Null, message })
            }
            Way::Http { sides, .. } => match timeout(self.cx.patience, sides.receiver.recv()).await
            {
                Ok(Some(came)) => came,
                _ => Err(Stop::silent(self.cx.patience)),
            },
        }
    }

    /// All messages up to the first for which `is_last` holds, that one included.
    pub(super) async fn until(
        &mut self,
        what: &str,
        mut is_last: impl FnMut(&Came) -> bool,
    ) -> Verdict<Vec<Came>> {
        let mut all = Vec::new();
        loop {
            let came = self.next().await.of(what)?;
            let ends = is_last(&came);
            all.push(came);
            if ends {
                return Ok(all);
            }
        }
    }

    /// All messages up to the response under this id.
    pub(super) async fn response(&mut self, id: &Value) -> Verdict<Vec<Came>> {
        self.until(&format!("a response under the id {}", shown(id)), |came| came.answers(id)).await
    }

    /// Asks something, and reads all messages up to its response.
    pub(super) async fn ask(&mut self, message: &Message) -> Verdict<Vec<Came>> {
        self.send(message).await?;
        self.response(message.id()).await
    }

    /// What comes until the server has had time for all that it was asked for: it has answered one request more, which takes
    /// it a moment, the streams that were answered have ended, and `SETTLE` is over.
    pub(super) async fn settled(&mut self) -> Verdict<Vec<Came>> {
        let end = Instant::now() + SETTLE;
        let last = reporting(&self.cx).unwrap_or_else(|_| self.cx.request("server/discover"));
        let mut all = self.ask(&last).await?;
        while !self.ending.is_empty() {
            let Ok(came) = self.message_or_end().await else { break };
            all.extend(came);
        }
        while let Ok(next) = timeout_at(end, self.next()).await {
            all.push(next?);
        }
        all.retain(|came| came.on != *last.id() && !came.answers(last.id()));
        Ok(all)
    }

    /// The process, over stdio.
    pub(super) fn process(&mut self) -> Verdict<&mut Process> {
        match &mut self.way {
            Way::Lines(process) => Ok(process),
            Way::Http { .. } => Err(Stop::skip("it is about stdio")),
        }
    }
}

/// Carries one request over HTTP, and passes on all that comes back.
async fn carry(cx: Cx, message: Message, to: mpsc::UnboundedSender<Verdict<Came>>) {
    let on = message.id().clone();
    let passed = async {
        let mut open = cx.open(&message).await?;
        let is_stream =
            open.head.as_ref().is_some_and(|head| head.media_type() == "text/event-stream");
        if is_stream {
            while let Some(message) = open.next().await? {
                let _ = to.send(Ok(Came { on: on.clone(), message }));
            }
        } else {
            for message in open.finish().await?.messages {
                let _ = to.send(Ok(Came { on: on.clone(), message }));
            }
        }
        Ok(())
    };
    let _ = match passed.await {
        Ok(()) => to.send(Ok(Came { on, message: Value::Null })),
        Err(stop) => to.send(Err(stop)),
    };
}

/// A cancellation of the request with this id.
pub(super) fn cancelled(id: &Value) -> Message {
    Message::notification("notifications/cancelled").with("params", json!({ "requestId": id }))
}

/// One exchange after the other on the same connection, or in the same process.
pub(super) struct Lane {
    cx: Cx,
    connection: Option<Connection>,
    process: Option<Process>,
}

impl Lane {
    pub(super) fn open(cx: &Cx) -> Verdict<Self> {
        let process = if cx.is_http() { None } else { Some(cx.process()?) };
        Ok(Self { cx: cx.clone(), connection: None, process })
    }

    /// Sends a request and reads its whole reply.
    pub(super) async fn ask(&mut self, message: &Message) -> Verdict<Reply> {
        let Some(process) = &mut self.process else { return self.post(message).await };
        process.send_line(&message.text()).await?;
        let mut reply = Reply::default();
        while let Some(next) = process.next().await? {
            let is_response = next.get("method").is_none();
            let method = message.method().to_owned();
            self.cx.record.add(Noted { method, head: None, message: next.clone() });
            reply.messages.push(next);
            if is_response {
                return Ok(reply);
            }
        }
        Err(Stop::fail("a process that lives on", "its end"))
    }

    async fn post(&mut self, message: &Message) -> Verdict<Reply> {
        // The header is right even where `_meta` lacks the version.
        let post = self.cx.post(message)?;
        let post = match message.version() {
            Some(_) => post,
            None => post.set("MCP-Protocol-Version", VERSION),
        };
        if self.cx.is_http2() {
            return self.cx.send(&post).await;
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.cx.connect().await?,
        };
        connection.send(&post.encode()).await?;
        let reply = Reply::read(&mut connection).await?;
        for seen in &reply.messages {
            let method = message.method().to_owned();
            let head = reply.head.clone();
            self.cx.record.add(Noted { method, head, message: seen.clone() });
        }
        self.connection = Some(connection).filter(|_| !reply.closes());
        Ok(reply)
    }
}
