//! `HttpTransport`: messages as they are, to and fro.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_transport::header::StandardHeaders;
use mcp_transport::json::{Message, Object, decode_string, scan};
use mcp_types::{Method, ProtocolVersion, RequestId};
use tokio::sync::watch;

use crate::deadline::{Deadline, Timeouts};
use crate::endpoint::Endpoint;
use crate::error::{Error, Kind};
use crate::future::BoxFuture;
use crate::headers::ExtraHeaders;
use crate::limits::Limits;
use crate::link::Reply;
use crate::receive::{Observer, Receiver};

/// The HTTP transport by itself, for messages that are made elsewhere: gateways, bridges, tools that test.
/// A cheap clone.
///
/// It posts messages without changing a byte, derives the standard headers from them, and hands every message
/// of the replies to those who [subscribe](Self::subscribe), with the same checks, limits and timeouts as a
/// [`Client`](crate::Client). Make one with
/// [`build_transport`](crate::ClientBuilder::build_transport).
///
/// ```
/// # async fn example() -> Result<(), mcp_client::Error> {
/// let transport = mcp_client::Client::builder("http://127.0.0.1:8080/mcp").build_transport()?;
/// transport.start()?;
/// let _subscription = transport.subscribe(|message| println!("{message:?}"));
/// let message = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// transport.send(message).header("x-tenant", "t1").await?;
/// transport.stop();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    timeouts: Timeouts,
    limits: Limits,
    version: Mutex<ProtocolVersion>,
    /// Counts starts and stops: running while it is odd.
    turns: watch::Sender<u64>,
    subscribers: Arc<Mutex<Subscribers>>,
}

impl HttpTransport {
    pub(crate) fn new(
        endpoint: Endpoint,
        timeouts: Timeouts,
        limits: Limits,
        version: ProtocolVersion,
    ) -> Self {
        let shared = Shared {
            endpoint,
            timeouts,
            limits,
            version: Mutex::new(version),
            turns: watch::Sender::new(0),
            subscribers: Arc::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Lets messages be sent. Nothing is connected yet.
    ///
    /// # Errors
    /// When it is running already.
    pub fn start(&self) -> Result<(), Error> {
        if self.shared.turn(false) {
            Ok(())
        } else {
            Err(Error::usage("the transport is running already"))
        }
    }

    /// Ends what is being sent, which fails with an error, and lets nothing more be sent until it is started
    /// again. Stopping it again does nothing.
    pub fn stop(&self) {
        self.shared.turn(true);
    }

    /// Whether messages can be sent.
    pub fn is_running(&self) -> bool {
        is_running(*self.shared.turns.borrow())
    }

    /// The version that the header names for messages that name none themselves. Default is
    /// the builder's.
    pub fn protocol_version(&self) -> ProtocolVersion {
        lock(&self.shared.version).clone()
    }

    /// Sets [`protocol_version`](Self::protocol_version), once it has been negotiated.
    pub fn set_protocol_version(&self, version: impl Into<ProtocolVersion>) {
        *lock(&self.shared.version) = version.into();
    }

    /// Has `callback` called with every message of the replies, as it came, until what this returns is
    /// dropped. It runs where [`send`](Self::send) is awaited, in the order of arrival in each reply, so it
    /// must not block.
    pub fn subscribe(&self, callback: impl Fn(&Bytes) + Send + Sync + 'static) -> Subscription {
        let mut subscribers = lock(&self.shared.subscribers);
        let number = subscribers.next;
        subscribers.next += 1;
        subscribers.callbacks.push((number, Arc::new(callback)));
        let subscribers = Arc::downgrade(&self.shared.subscribers);
        Subscription { subscribers, number }
    }

    /// Posts one message: a request or a notification in JSON-RPC. Await what this returns.
    pub fn send(&self, message: impl Into<Bytes>) -> SendMessage {
        SendMessage {
            shared: Arc::clone(&self.shared),
            message: message.into(),
            headers: Ok(ExtraHeaders::default()),
            on_message: None,
        }
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("endpoint", &self.shared.endpoint)
            .field("is_running", &self.is_running())
            .finish_non_exhaustive()
    }
}

/// A message about to be posted. Await it to post it.
///
/// It resolves when the reply has been read to its end: for a request when its response has been handed to the
/// subscribers, whatever that says, for a notification when it was accepted. Dropping the future cancels the
/// request.
///
/// # Errors
/// When the message is neither request nor notification, the transport does not run or is stopped, the reply
/// is lost or wrong, or its status is no success. A JSON-RPC error under such a status is in the
/// [`Error`] and handed to the subscribers, too.
#[must_use = "a message is posted when it is awaited"]
pub struct SendMessage {
    shared: Arc<Shared>,
    message: Bytes,
    headers: Result<ExtraHeaders, Error>,
    on_message: Option<ReplyCallback>,
}

impl SendMessage {
    /// Has `callback` called with every message of this reply, as it came: notifications first, the response
    /// last. Those who [subscribed](HttpTransport::subscribe) get them as well.
    pub fn on_message(mut self, callback: impl FnMut(&Bytes) + Send + 'static) -> Self {
        self.on_message = Some(Box::new(callback));
        self
    }

    /// Sends a header, in place of the transport's own of that name. `Mcp-Param-*` may be set, with values
    /// from [`encode_value`](crate::encode_value); what else is the protocol's own is refused.
    pub fn header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        if let Ok(headers) = &mut self.headers
            && let Err(error) = headers.set_any_param(name, value)
        {
            self.headers = Err(error);
        }
        self
    }
}

impl IntoFuture for SendMessage {
    type Output = Result<(), Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut turns = self.shared.turns.subscribe();
            let turn = *turns.borrow_and_update();
            if !is_running(turn) {
                return Err(Error::new(Kind::Stopped));
            }
            let headers = self.headers?;
            let listeners = Listeners { everyone: &self.shared.subscribers, own: self.on_message };
            let mut posted = pin!(self.shared.post(&self.message, &headers, listeners));
            // The sender lives in `shared`, so this ends only by a stop.
            let mut stopped = pin!(turns.wait_for(|now| *now != turn));
            poll_fn(|cx| match stopped.as_mut().poll(cx) {
                Poll::Ready(_) => Poll::Ready(Err(Error::new(Kind::Stopped))),
                Poll::Pending => posted.as_mut().poll(cx),
            })
            .await
        })
    }
}

impl fmt::Debug for SendMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendMessage").field("bytes", &self.message.len()).finish_non_exhaustive()
    }
}

impl Shared {
    /// Starts or stops, whether or not it is running; returns whether that changed anything.
    fn turn(&self, from_running: bool) -> bool {
        self.turns.send_if_modified(|turns| {
            let changes = is_running(*turns) == from_running;
            *turns += u64::from(changes);
            changes
        })
    }

    async fn post(
        &self,
        message: &Bytes,
        extra: &ExtraHeaders,
        mut listeners: Listeners<'_>,
    ) -> Result<(), Error> {
        let (id, standard) = self.read(message)?;
        let headers = || {
            let mut headers = self.endpoint.headers();
            extra.apply(&mut headers);
            headers.extend(standard.clone());
            Ok(headers)
        };
        let mut deadline = Deadline::start(self.timeouts);
        let response = self.endpoint.post(&headers, message, &mut deadline).await?;
        let receiver = Receiver {
            limits: &self.limits,
            url: &|| self.endpoint.shown(),
            deadline: &mut deadline,
            observer: &mut listeners,
        };
        match id {
            None => receiver.acceptance(response).await,
            Some(id) => match receiver.answer(Reply::Http(response), &id).await {
                Err(error) if is_answer(&error) => Ok(()),
                answer => answer.map(drop),
            },
        }
    }

    /// The id of a message and the headers that repeat it. Specification: Streamable HTTP, Request Metadata.
    fn read(&self, message: &[u8]) -> Result<(Option<RequestId>, HeaderMap), Error> {
        let message = scan(message)
            .map_err(|error| Error::usage("this is no JSON-RPC message").caused_by(error))?;
        let (id, method, params) = match message {
            Message::Request(request) => (Some(request.id), request.method, request.params),
            Message::Notification(notification) => (None, notification.method, notification.params),
            Message::Response(_) => return Err(Error::usage("a client must not send responses")),
        };
        let member = Method::from_name(&method).and_then(Method::name_member);
        let name = member.and_then(|member| decode_string(params.get(member)?));
        let version = version(&params).unwrap_or_else(|| lock(&self.version).clone());
        let mut headers = HeaderMap::new();
        let standard =
            StandardHeaders { version: version.as_str(), method: &method, name: name.as_deref() };
        standard.apply(&mut headers).map_err(|error| {
            Error::usage("the message cannot be sent over HTTP").caused_by(error)
        })?;
        Ok((id, headers))
    }
}

/// Whether the error is what the response says, under a status that does not say so as well.
fn is_answer(error: &Error) -> bool {
    error.rpc().is_some() && error.status().is_some_and(|status| status.is_success())
}

/// The version that the message itself names.
fn version(params: &Object<'_>) -> Option<ProtocolVersion> {
    let meta = Object::parse(params.get("_meta")?).ok()?;
    let version = decode_string(meta.get("io.modelcontextprotocol/protocolVersion")?)?;
    Some(ProtocolVersion::from(&*version))
}

/// Keeps a callback of [`HttpTransport::subscribe`] subscribed until it is dropped.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    subscribers: Weak<Mutex<Subscribers>>,
    number: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(subscribers) = self.subscribers.upgrade() {
            lock(&subscribers).callbacks.retain(|(number, _)| *number != self.number);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

type ReplyCallback = Box<dyn FnMut(&Bytes) + Send>;
type Callback = Arc<dyn Fn(&Bytes) + Send + Sync>;

#[derive(Default)]
struct Subscribers {
    callbacks: Vec<(u64, Callback)>,
    next: u64,
}

/// Hands messages to all subscribers, and to the one of this reply alone.
struct Listeners<'a> {
    everyone: &'a Mutex<Subscribers>,
    own: Option<ReplyCallback>,
}

impl Observer for Listeners<'_> {
    fn see(&mut self, raw: &Bytes, _message: &Message<'_>) -> bool {
        if let Some(callback) = &mut self.own {
            callback(raw);
        }
        // A copy, so that callbacks may subscribe and unsubscribe.
        let callbacks = lock(self.everyone).callbacks.clone();
        for (_, callback) in callbacks {
            callback(raw);
        }
        false
    }
}

const fn is_running(turns: u64) -> bool {
    turns % 2 == 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here panics between two changes.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
