//! A server without sockets, for tests in which time is paused.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use mcp_client::{Client, ClientBuilder};
use tokio::time::Sleep;
use tower_service::Service;

/// One step of a body.
#[derive(Clone)]
pub(crate) enum Piece {
    /// With `{id}` standing for the request's id.
    Data(String),
    Wait(Duration),
    /// The same data for ever, never with a wait.
    Flood(String),
    Fail,
    Hang,
}

impl Piece {
    pub(crate) fn event(message: &str) -> Self {
        Self::Data(format!("data: {message}\n\n"))
    }
}

/// Answers each request with the next of its replies, each a content type and a body in pieces.
#[derive(Clone)]
pub(crate) struct Memory(Arc<State>);

struct State {
    status: u16,
    replies: Mutex<VecDeque<(&'static str, Vec<Piece>)>>,
}

impl Memory {
    pub(crate) fn new(replies: impl IntoIterator<Item = (&'static str, Vec<Piece>)>) -> Self {
        Self(Arc::new(State { status: 200, replies: Mutex::new(replies.into_iter().collect()) }))
    }

    /// One reply under this status.
    pub(crate) fn refusing(status: u16, pieces: Vec<Piece>) -> Self {
        Self(Arc::new(State { status, replies: Mutex::new([("text/plain", pieces)].into()) }))
    }

    pub(crate) fn sse(pieces: Vec<Piece>) -> Self {
        Self::new([("text/event-stream", pieces)])
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder("http://memory/mcp").service(self.clone())
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }
}

impl Service<Request<Full<Bytes>>> for Memory {
    type Response = Response<Pieces>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let state = Arc::clone(&self.0);
        Box::pin(async move {
            let body = request.into_body().collect().await?.to_bytes();
            let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let id = message["id"].to_string();
            let reply = state.replies.lock().unwrap().pop_front();
            let Some((content_type, pieces)) = reply else {
                return std::future::pending().await;
            };
            let pieces = pieces.into_iter().collect();
            let response =
                Response::builder().status(state.status).header("content-type", content_type);
            Ok(response.body(Pieces { pieces, id, sleep: None }).unwrap())
        })
    }
}

pub(crate) struct Pieces {
    pieces: VecDeque<Piece>,
    id: String,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                std::task::ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            match self.pieces.pop_front() {
                None => return Poll::Ready(None),
                Some(Piece::Data(text)) => {
                    let text = text.replace("{id}", &self.id);
                    return Poll::Ready(Some(Ok(Frame::data(text.into()))));
                }
                Some(Piece::Flood(text)) => {
                    self.pieces.push_front(Piece::Flood(text.clone()));
                    return Poll::Ready(Some(Ok(Frame::data(text.into()))));
                }
                Some(Piece::Wait(time)) => {
                    self.sleep = Some(Box::pin(tokio::time::sleep(time)));
                }
                Some(Piece::Fail) => return Poll::Ready(Some(Err("reset"))),
                Some(Piece::Hang) => {
                    self.pieces.push_front(Piece::Hang);
                    return Poll::Pending;
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
