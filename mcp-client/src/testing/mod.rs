//! For tests of what an application does with its client: a server that plays a script, without a socket, and a
//! record of what passes between a client and any server.
//!
//! ```
//! use mcp_client::testing::{Reply, Script};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let script = Script::new([
//!     Reply::result(&json!({ "content": [{ "type": "text", "text": "rain" }] })),
//!     Reply::stream().then_progress(0.5).then_break(),
//! ]);
//! let client = script.client();
//! client.call_tool("weather", json!({ "city": "Oslo" })).await.unwrap();
//! assert_eq!(script.requests()[0].json()["params"]["arguments"]["city"], "Oslo");
//! // What does the application do when the connection breaks off halfway?
//! assert!(client.call_tool("weather", ()).await.unwrap_err().is_transport());
//! # }
//! ```
//!
//! With Tokio's time paused, pauses in a script take none.

mod play;
mod record;
mod reply;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower_service::Service;

pub use play::ScriptBody;
pub use record::{RecordedBody, Recorder};
pub use reply::Reply;

use crate::builder::ClientBuilder;
use crate::client::Client;
use crate::error::BoxError;
use crate::future::BoxFuture;

/// A server that gives one reply after the other, whatever it is asked, and notes what it is asked. A tower
/// service; a cheap clone, clones play the same script.
///
/// A request that there is no reply for fails at once, as if the connection had broken off.
#[derive(Clone)]
pub struct Script {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Asked>>,
}

impl Script {
    /// A server that gives these replies in order.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        Self { state: Arc::new(State { replies, ..State::default() }) }
    }

    /// Adds a reply to the end.
    pub fn push(&self, reply: Reply) {
        lock(&self.state.replies).push_back(reply);
    }

    /// A client of this server.
    pub fn client(&self) -> Client {
        Client::in_process(self.clone())
    }

    /// A builder for a client of this server.
    pub fn builder(&self) -> ClientBuilder {
        ClientBuilder::in_process(self.clone())
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<Asked> {
        lock(&self.state.requests).clone()
    }

    /// How many replies are left.
    pub fn left(&self) -> usize {
        lock(&self.state.replies).len()
    }
}

impl<B> Service<Request<B>> for Script
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<ScriptBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<ScriptBody>, BoxError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            let asked = Asked { headers: head.headers, body };
            lock(&state.requests).push(asked.clone());
            let reply = lock(&state.replies).pop_front();
            let reply = reply.ok_or("the script has no reply for this request")?;
            play::play(reply, &asked)
        })
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("left", &self.left()).finish_non_exhaustive()
    }
}

/// A message that a client posted.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The headers beside it.
    pub headers: HeaderMap,
    /// The message, to the last byte.
    pub body: Bytes,
}

impl Asked {
    /// The message; `null` when it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Its method; empty when it has none.
    pub fn method(&self) -> String {
        self.json().get("method").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here panics between two changes.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A body that is there as a whole.
type Whole = Full<Bytes>;
