//! From the response to a POST to the answer: `bytes -> frames -> envelope -> outcome`.
//!
//! Specification: Streamable HTTP, Sending Messages, Receiving Messages.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http::{Response, StatusCode};
use http_body::Body;
use mcp_transport::json::{self, Message, ScanError, scan};
use mcp_transport::media::{self, BodyKind};
use mcp_types::{ErrorObject, RequestId};

use crate::body::{Collected, collect, skip};
use crate::deadline::Deadline;
use crate::endpoint::ReplyBody;
use crate::error::{BoxError, Error, Fault, Head, Kind, excerpt, undecodable};
use crate::limits::Limits;
use crate::link::Reply;
use crate::messages::Messages;
use crate::promise::Promise;

/// The answer to a request: its result, found but not decoded, and what came with it.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What is known of the HTTP response, if there was one.
    pub(crate) head: Option<Head>,
    pub(crate) found: Found,
    /// Whether it was asked for before.
    pub(crate) is_cached: bool,
}

/// A result within the reply it came in.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its JSON text.
    pub(crate) result: Bytes,
    /// The JSON text of its `resultType`, if it has one.
    pub(crate) tag: Option<Bytes>,
    /// Whether it is the result of a tool that failed.
    pub(crate) is_tool_error: bool,
    /// What the tool that gave it promised.
    pub(crate) promise: Option<Arc<Promise>>,
}

/// Sees the messages of a reply, the response included, as they come.
pub(crate) trait Observer: Send {
    /// Sees one, as bytes and by its parts. Returns whether it shows that work goes on, so that the idle time
    /// begins anew.
    fn see(&mut self, raw: &Bytes, message: &Message<'_>) -> bool;
}

/// Reads replies: what all of those to one endpoint have in common.
pub(crate) struct Receiver<'a> {
    pub(crate) limits: &'a Limits,
    /// Where the reply comes from, for messages.
    pub(crate) url: &'a (dyn Fn() -> String + Send + Sync),
    pub(crate) deadline: &'a mut Deadline,
    pub(crate) observer: &'a mut dyn Observer,
}

impl Receiver<'_> {
    /// Reads the reply to the request `id`: a stream up to its end, so that its connection can be used again.
    ///
    /// # Errors
    /// When the server refused or the response is an error; when there is none, or another one.
    pub(crate) async fn answer(mut self, reply: Reply, id: &RequestId) -> Result<Answer, Error> {
        let response = match reply {
            Reply::Http(response) => response,
            Reply::Lines(messages) => {
                let found = self.read_messages(messages, id).await?;
                return Ok(Answer { head: None, found, is_cached: false });
            }
        };
        let (head, body) = response.into_parts();
        let found = if head.status.is_success() {
            self.read(&head, body, id).await
        } else {
            Err(self.refusal(&head, body, Some(id)).await)
        };
        match found {
            Ok(found) => {
                let Parts { status, headers, .. } = head;
                Ok(Answer { head: Some(Head { status, headers }), found, is_cached: false })
            }
            Err(error) => Err(error.with_head(head.status, head.headers)),
        }
    }

    /// Reads the reply to a notification, of which only the status counts: servers say more than they
    /// should.
    ///
    /// # Errors
    /// When the server refused.
    pub(crate) async fn acceptance(mut self, response: Response<ReplyBody>) -> Result<(), Error> {
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            skip(body).await;
            return Ok(());
        }
        let error = self.refusal(&head, body, None).await;
        Err(error.with_head(head.status, head.headers))
    }

    async fn read(
        &mut self,
        head: &Parts,
        body: ReplyBody,
        id: &RequestId,
    ) -> Result<Found, Error> {
        if matches!(head.status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Err(Error::protocol(Fault::NoAnswer));
        }
        if body.is_end_stream() {
            return Err(Error::protocol(Fault::EmptyBody));
        }
        match media::body_kind(&head.headers) {
            BodyKind::Json => self.read_json(body, id).await,
            BodyKind::Sse => {
                self.read_messages(Messages::of_events(body, self.limits.event), id).await
            }
            BodyKind::Other => {
                let found = head.headers.get(CONTENT_TYPE);
                let found = found.map(|found| excerpt(found.as_bytes()));
                Err(Error::protocol(Fault::MediaType(found)))
            }
        }
    }

    async fn read_json(&mut self, mut body: ReplyBody, id: &RequestId) -> Result<Found, Error> {
        let limit = self.limits.body;
        let too_large = || Error::new(Kind::TooLarge { what: "the reply", limit });
        if usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced > limit) {
            return Err(too_large());
        }
        let collected = self.deadline.race(collect(&mut body, limit)).await?;
        let Collected { bytes: body, is_whole } = collected.map_err(broke_off)?;
        if !is_whole {
            return Err(too_large());
        }
        if body.trim_ascii().is_empty() {
            return Err(Error::protocol(Fault::EmptyBody));
        }
        let message = scan(&body).map_err(not_a_message)?;
        self.observer.see(&body, &message);
        match message {
            Message::Response(response) => find(&body, &response, id),
            Message::Request(_) | Message::Notification(_) => {
                Err(Error::protocol(Fault::NotAResponse))
            }
        }
    }

    async fn read_messages(
        &mut self,
        mut messages: Messages,
        id: &RequestId,
    ) -> Result<Found, Error> {
        loop {
            let raw = match self.deadline.race(messages.next()).await? {
                Some(message) => message?,
                None => return Err(Error::protocol(Fault::StreamEnded)),
            };
            let message = scan(&raw).map_err(not_a_message)?;
            if self.observer.see(&raw, &message) {
                self.deadline.extend();
            }
            match message {
                Message::Response(response) => {
                    let found = find(&raw, &response, id);
                    messages.settle().await;
                    return found;
                }
                Message::Notification(_) => {}
                Message::Request(request) => {
                    let method = excerpt(request.method.as_bytes());
                    tracing::debug!(method, "a server must not send requests");
                }
            }
        }
    }

    /// What a status that is no success means: the JSON-RPC error in the body where there is one.
    async fn refusal(&mut self, head: &Parts, body: ReplyBody, id: Option<&RequestId>) -> Error {
        let is_json = media::is_json(&head.headers);
        let limit = if is_json { self.limits.error_body } else { Limits::EXCERPT_BYTES };
        // The status is worth more than the news that the time is up.
        let text = self.deadline.race(begin(body, limit)).await.unwrap_or_default();
        if is_json
            && let Ok(message) = scan(&text)
            && let Message::Response(response) = &message
        {
            self.observer.see(&text, &message);
            if response.id.as_ref().is_none_or(|found| Some(found) == id)
                && let json::Outcome::Error(error) = response.outcome
                && let Ok(error) = serde_json::from_str::<ErrorObject>(error)
            {
                return Error::new(Kind::Rpc(error));
            }
        }
        Error::new(Kind::Status {
            url: (self.url)().into(),
            excerpt: excerpt(text.get(..Limits::EXCERPT_BYTES).unwrap_or(&text)),
        })
    }
}

/// As much of a body under an error status as arrives soon.
async fn begin(mut body: ReplyBody, limit: usize) -> Bytes {
    let collected = tokio::time::timeout(Limits::ERROR_BODY_TIME, collect(&mut body, limit));
    match collected.await {
        Ok(Ok(collected)) => collected.bytes,
        Ok(Err(_)) | Err(_) => Bytes::new(),
    }
}

/// The result in a response to the request `id`.
pub(crate) fn find(
    raw: &Bytes,
    response: &json::Response<'_>,
    id: &RequestId,
) -> Result<Found, Error> {
    let is_error = matches!(response.outcome, json::Outcome::Error(_));
    match &response.id {
        Some(found) if found == id => {}
        // The server could not read the id; nothing else was sent on this exchange.
        None if is_error => {}
        found => {
            let (sent, found) = (id.clone(), found.clone());
            return Err(Error::protocol(Fault::WrongId { sent, found }));
        }
    }
    match &response.outcome {
        json::Outcome::Result(result) => Ok(Found {
            result: raw.slice_ref(result.raw().as_bytes()),
            tag: result.get("resultType").map(|tag| raw.slice_ref(tag.as_bytes())),
            is_tool_error: result.get("isError") == Some("true"),
            promise: None,
        }),
        json::Outcome::Error(error) => Err(match serde_json::from_str(error) {
            Ok(error) => Error::new(Kind::Rpc(error)),
            Err(cause) => undecodable(&cause),
        }),
    }
}

pub(crate) fn not_a_message(error: ScanError) -> Error {
    Error::protocol(Fault::NotAMessage).caused_by(error)
}

fn broke_off(error: BoxError) -> Error {
    Error::new(Kind::Body).caused_by(error)
}
