//! `Session`: one connection or one process, on which requests follow each other.

use super::Cx;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::at;
use crate::wire::{Below, Message, Open, Reply};

/// A connection, or a process, that carries one request after the other. It is opened by the first.
pub(crate) struct Session {
    cx: Cx,
    below: Option<Below>,
}

impl Cx {
    /// A connection or a process of its own.
    pub(crate) fn session(&self) -> Session {
        Session { cx: self.clone(), below: None }
    }

    /// The same message with a new id.
    pub(crate) fn again(&self, message: &Message) -> Message {
        message.clone().with("id", self.request("").id().clone())
    }
}

impl Session {
    /// Sends a message as it has to be sent, and reads the whole reply.
    pub(crate) async fn ask(&mut self, message: &Message) -> Verdict<Reply> {
        let is_reused = self.below.is_some() && self.cx.is_http();
        let mut open = match self.open(message).await {
            // The server may have closed it since.
            Err(_) if is_reused => self.open(message).await?,
            opened => opened?,
        };
        let reply = open.read_out().await?;
        self.below = open.into_below();
        Ok(reply)
    }

    /// The same, for a message that the server may answer in many ways: what comes has to be a response to it, and the
    /// server has to live on.
    pub(crate) async fn orderly(&mut self, message: &Message) -> Verdict<Reply> {
        let reply = self.ask(message).await?;
        let response = reply.response()?;
        expect(at(response, "/id") == message.id(), "the id of the request", reply.told())?;
        if at(response, "/error/code") != INTERNAL {
            reply.has_status_in(200..500)?;
        }
        self.ask(&self.cx.request("server/discover")).await?.result()?;
        Ok(reply)
    }

    /// The same, for a message that is longer than a server needs to take: over HTTP it may break the connection off
    /// before all of it was sent, and then there is nothing to look at.
    pub(crate) async fn oversized(&mut self, message: &Message) -> Verdict<Option<Reply>> {
        let reply = match self.ask(message).await {
            Err(Stop::Fail { .. }) if self.cx.is_http() => None,
            asked => Some(asked?),
        };
        if let Some(reply) = &reply {
            reply.has_status_in(200..500)?;
        }
        self.ask(&self.cx.request("server/discover")).await?.result()?;
        Ok(reply)
    }

    async fn open(&mut self, message: &Message) -> Verdict<Open> {
        let cx = &self.cx;
        if cx.is_http2() {
            // Requests of one connection are streams there, which say nothing of each other.
            return cx.open(message).await;
        }
        let open = if cx.is_http() {
            let post = cx.post(message)?;
            let mut connection = match self.below.take() {
                Some(Below::Connection(connection)) => connection,
                _ => cx.connect().await?,
            };
            connection.send(&post.encode()).await?;
            let head = connection.head().await?;
            Open::http(connection, head, message.id().clone())
        } else {
            let mut process = match self.below.take() {
                Some(Below::Process(process)) => *process,
                _ => cx.process()?,
            };
            process.send_line(&message.text()).await?;
            Open::lines(process, message.id().clone())
        };
        Ok(open.recorded(message.method(), &cx.record))
    }
}

/// The code of an internal error.
pub(crate) const INTERNAL: i64 = -32603;
