//! `Exchange`: one message and its reply, for people with an HTTP stack, or a transport, of their own.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Response;
use mcp_transport::json::{self, Message, Outcome};
use mcp_transport::media::Accepts;
use mcp_types::{ErrorCode, ErrorObject, ProgressToken};

use crate::caller::RequestParts;
use crate::context::Context;
use crate::dispatch::{Begun, begin};
use crate::limits::FOR_EVER;
use crate::reply::{Answer, Body, Closed, Event, Plan, Responding, ResponseMode};
use crate::server::Server;
use crate::subscription::Subscriber;

/// The exchange of one message: the building block under [`Server::serve`], without sockets and without
/// the checks that only an HTTP server can make (host, origin, path, method, media types, body size).
///
/// Make one for each message, [connect](Self::connect) it to a server, and [handle](Self::handle) the message.
/// A clone refers to the same exchange, so that one task can await the response while another writes a comment
/// or closes it.
///
/// ```
/// use mcp_server::{Args, Exchange, ExchangeOptions, RequestParts, Server, Tool, scan};
///
/// # async fn example(body: &[u8], parts: http::request::Parts) -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder("greeter", "1.0.0").tool(Tool::new("hi", async || "Hi!")).build()?;
///
/// let exchange = Exchange::new(ExchangeOptions::default());
/// exchange.connect(&server)?;
/// let response = exchange.handle(scan(body)?, RequestParts::from(parts)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Exchange {
    options: ExchangeOptions,
    stage: Arc<Mutex<Stage>>,
}

/// How an [`Exchange`] replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeOptions {
    /// When the reply is a stream. Default is [`ResponseMode::Auto`].
    pub mode: ResponseMode,
    /// How long a stream may be silent before a comment keeps it open, and in [`ResponseMode::Auto`] how long
    /// a handler may be; zero is never. Default is
    /// [`ServerBuilder::KEEP_ALIVE`](crate::ServerBuilder::KEEP_ALIVE).
    pub keep_alive: Duration,
    /// Which replies the client takes. Default is both.
    pub accepts: Accepts,
    /// Whether the message came over HTTP, so that its headers have to say what it says. Default is `true`.
    pub http: bool,
}

impl Default for ExchangeOptions {
    fn default() -> Self {
        Self {
            mode: ResponseMode::default(),
            keep_alive: crate::ServerBuilder::KEEP_ALIVE,
            accepts: Accepts { json: true, sse: true },
            http: true,
        }
    }
}

/// Why an [`Exchange`] did not do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// It is not connected to a server.
    #[error("the exchange is not connected to a server")]
    NotConnected,
    /// It is connected to a server already.
    #[error("the exchange is connected already")]
    AlreadyConnected,
    /// It has handled a message already; it serves exactly one.
    #[error("the exchange has been used")]
    AlreadyUsed,
    /// It was closed, before or while it was used.
    #[error("the connection was closed")]
    ConnectionClosed,
    /// The message is not one that may be sent in a reply: not JSON-RPC, or a request.
    #[error("only notifications and the response can be sent in a reply")]
    NotSendable,
}

#[derive(Debug)]
enum Stage {
    Unconnected,
    Connected(Server),
    /// Handling or handled; what was not answered at once.
    Used(Option<UnderWay>),
    Closed,
}

#[derive(Clone, Debug)]
enum UnderWay {
    Call(Context),
    Listen(Arc<Subscriber>),
}

impl UnderWay {
    fn close(&self) {
        match self {
            Self::Call(context) => context.outbox().close(),
            Self::Listen(subscriber) => subscriber.lose(),
        }
    }
}

impl Exchange {
    /// An exchange that is not connected yet.
    pub fn new(options: ExchangeOptions) -> Self {
        Self { options, stage: Arc::new(Mutex::new(Stage::Unconnected)) }
    }

    /// Connects it to the server that is to handle its message.
    ///
    /// # Errors
    /// When it was connected, used or closed before.
    pub fn connect(&self, server: &Server) -> Result<(), ExchangeError> {
        let mut stage = self.stage();
        match *stage {
            Stage::Unconnected => {
                *stage = Stage::Connected(server.clone());
                Ok(())
            }
            Stage::Connected(_) => Err(ExchangeError::AlreadyConnected),
            Stage::Used(_) => Err(ExchangeError::AlreadyUsed),
            Stage::Closed => Err(ExchangeError::ConnectionClosed),
        }
    }

    /// Handles `message`, which [`scan`](crate::scan) has classified, and resolves to the response: a
    /// rejection, an answer, a stream, or 202 for a notification.
    ///
    /// `parts` reach the handler as they are; in particular the caller is the one given there. On a server that asks for
    /// tokens, with the feature `auth`, that has to be one who was authenticated, by `Server::authenticate` or by
    /// whoever drives this, and a header `Authorization` is left out.
    ///
    /// The message is checked, and the handler called, before this returns; the future has it do its work. Only where
    /// states are good for one use does the future call the handler, of a request that brings one.
    /// Dropping the future or the response's body cancels the call.
    ///
    /// # Errors
    /// The future fails when the exchange is not connected, was used before, or is closed before there is a
    /// response.
    pub fn handle(
        &self,
        message: Message<'_>,
        #[cfg_attr(
            not(feature = "auth"),
            expect(unused_mut, reason = "only tokens are taken out")
        )]
        mut parts: RequestParts,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Body>, ExchangeError>> + Send>> {
        let begun = self.take_server().map(|server| {
            let shared = server.shared;
            #[cfg(feature = "auth")]
            if shared.auth.is_some() {
                parts.headers.remove(http::header::AUTHORIZATION);
            }
            let plan = Plan {
                mode: self.options.mode.limited_to(self.options.accepts),
                keep_alive: self.options.keep_alive.min(FOR_EVER),
                call_time: shared.limits.call_time,
                http: self.options.http,
                sse: self.options.accepts.sse,
            };
            (plan, begin(&shared, message, parts, plan, &mut None, None))
        });
        let under_way = match &begun {
            Ok((_, Ok(Begun::Working(context, _)))) => Some(UnderWay::Call(context.clone())),
            Ok((_, Ok(Begun::Listening(listen)))) => {
                Some(UnderWay::Listen(Arc::clone(listen.subscriber())))
            }
            Ok((_, Ok(Begun::Noted | Begun::Answered(_)) | Err(_))) | Err(_) => None,
        };
        if let Some(under_way) = under_way {
            let mut stage = self.stage();
            if matches!(*stage, Stage::Used(_)) {
                *stage = Stage::Used(Some(under_way));
            } else {
                // Closed while the handler was being called, which nobody could hear yet.
                under_way.close();
            }
        }
        let responding = begun.map(|(plan, begun)| Responding::new(begun, plan));
        Box::pin(async move {
            match responding? {
                Responding::Ready(response) => Ok(response),
                Responding::Working(respond) => {
                    respond.await.map_err(|Closed| ExchangeError::ConnectionClosed)
                }
            }
        })
    }

    /// Sends one JSON-RPC message in the reply: a notification of this request, or its response, which ends the
    /// exchange in the handler's place. Returns whether it goes out.
    ///
    /// A message that belongs to another request, by its id or by its progress token, is dropped; so are
    /// notifications when the reply is JSON, and everything after the response.
    ///
    /// # Errors
    /// When nothing is being handled, or the message is none that a reply may carry.
    pub fn send(&self, message: &str) -> Result<bool, ExchangeError> {
        let Some(context) = self.context()? else { return Ok(false) };
        match json::scan(message.as_bytes()) {
            Ok(Message::Notification(notification)) => {
                let token = notification.params.get("progressToken");
                let token = token.and_then(|token| ProgressToken::from_json(token).ok());
                let own = token.is_some() && token == context.metadata().progress_token;
                if notification.method == "notifications/progress" && !own {
                    tracing::debug!("progress of another request was dropped");
                    return Ok(false);
                }
                Ok(context.outbox().emit(Event::Message(message.to_owned())))
            }
            Ok(Message::Response(response)) => {
                if response.id.as_ref() != Some(context.request_id()) {
                    tracing::debug!(id = ?response.id, "the response to another request was dropped");
                    return Ok(false);
                }
                let error = match response.outcome {
                    Outcome::Result(_) => None,
                    Outcome::Error(error) => Some(code(error)?),
                };
                Ok(context.outbox().finish(Answer::new(message.into(), error)))
            }
            Ok(Message::Request(_)) | Err(_) => Err(ExchangeError::NotSendable),
        }
    }

    /// Writes a comment, which clients ignore, if the reply is an open stream; line ends in `text` make
    /// several. Returns whether it goes out.
    ///
    /// # Errors
    /// When nothing is being handled.
    pub fn comment(&self, text: &str) -> Result<bool, ExchangeError> {
        let context = self.context()?.filter(|context| context.outbox().is_streaming());
        Ok(context.is_some_and(|context| context.outbox().emit(Event::Comment(text.to_owned()))))
    }

    /// Closes it, whatever it is doing: what is awaited fails with [`ExchangeError::ConnectionClosed`], an open
    /// stream breaks off, the handler is dropped. Closing it again does nothing.
    pub fn close(&self) {
        let stage = std::mem::replace(&mut *self.stage(), Stage::Closed);
        if let Stage::Used(Some(under_way)) = stage {
            under_way.close();
        }
    }

    fn take_server(&self) -> Result<Server, ExchangeError> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Used(None)) {
            Stage::Connected(server) => Ok(server),
            Stage::Unconnected => {
                *stage = Stage::Unconnected;
                Err(ExchangeError::NotConnected)
            }
            used @ Stage::Used(_) => {
                *stage = used;
                Err(ExchangeError::AlreadyUsed)
            }
            Stage::Closed => {
                *stage = Stage::Closed;
                Err(ExchangeError::ConnectionClosed)
            }
        }
    }

    /// The call under way; `None` when it was answered at once, and for a subscription, on which nothing is
    /// sent but what it is for.
    fn context(&self) -> Result<Option<Context>, ExchangeError> {
        match &*self.stage() {
            Stage::Unconnected | Stage::Connected(_) => Err(ExchangeError::NotConnected),
            Stage::Used(Some(UnderWay::Call(context))) => Ok(Some(context.clone())),
            Stage::Used(_) => Ok(None),
            Stage::Closed => Err(ExchangeError::ConnectionClosed),
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        // Every change leaves a whole stage behind.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The code of an error object, which has to be one.
fn code(error: &str) -> Result<ErrorCode, ExchangeError> {
    match serde_json::from_str::<ErrorObject>(error) {
        Ok(error) => Ok(error.code),
        Err(_) => Err(ExchangeError::NotSendable),
    }
}
