//! `Subscription`: one stream, from the acknowledgment to its end.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http_body_util::BodyExt;
use mcp_transport::json::{Message, Notification, scan};
use mcp_types::{
    AcknowledgedParams, CancelledParams, ListenParams, NotificationMethod, RawJson, RequestId,
    SubscriptionFilter, request,
};
use tracing::Instrument as _;

use super::watch::Watched;
use super::{Change, End};
use crate::call::Options;
use crate::client::Client;
use crate::deadline::{Deadline, Timeouts};
use crate::error::{Error, Fault, Head, excerpt, undecodable};
use crate::exchange::{Exchange, Opened};
use crate::headers::ExtraHeaders;
use crate::layer::Layering;
use crate::link::Reply;
use crate::messages::Messages;
use crate::outgoing::Typed;
use crate::receive::{find, not_a_message};
use crate::span;

/// What it takes to open a subscription, as often as it is lost.
#[derive(Clone)]
pub(super) struct Opening {
    pub(super) client: Client,
    pub(super) filter: SubscriptionFilter,
    pub(super) timeout: Option<Duration>,
    pub(super) headers: ExtraHeaders,
    /// How long the stream may be silent.
    pub(super) watch: Option<Duration>,
}

impl Opening {
    /// Opens the stream and awaits the acknowledgment, the first message on it.
    pub(super) async fn open(&self) -> Result<Subscription, Error> {
        let timeouts = Timeouts { idle: self.timeout, total: None };
        let mut options = Options::quiet(timeouts, self.headers.clone());
        let mut deadline = Deadline::start(timeouts);
        let params = ListenParams { notifications: self.filter.clone(), ..Default::default() };
        let mut request = Typed::<request::Listen>(params);
        let shared = self.client.shared();
        let opened = if let Some(layers) = &shared.layers {
            let layering = Layering { shared: &shared, layers, options, deadline: deadline.fork() };
            layering.open(Box::new(request)).await
        } else {
            let (options, deadline) = (&mut options, &mut deadline);
            Exchange { shared: &shared, options, deadline }.open(&mut request).await
        };
        let Opened { id, reply, span } = opened?;
        let (messages, head) = self.messages(reply, shared.limits.event);
        let mut subscription =
            Subscription { id, messages, acknowledged: SubscriptionFilter::new() };
        match subscription.acknowledge(&mut deadline).instrument(span.clone()).await {
            Ok(()) => Ok(subscription),
            Err(error) => {
                span::failed(&span, &error);
                Err(error.with_head_of(head))
            }
        }
    }

    fn messages(&self, reply: Reply, limit: usize) -> (Messages, Option<Head>) {
        let response = match reply {
            Reply::Http(response) => response,
            // A pipe that is silent is no sign of anything.
            Reply::Lines(messages) => return (messages, None),
        };
        let (Parts { status, headers, .. }, body) = response.into_parts();
        let body = match self.watch {
            Some(silence) => Watched::new(body, silence).boxed_unsync(),
            None => body,
        };
        (Messages::of_events(body, limit), Some(Head { status, headers }))
    }
}

/// An open stream.
pub(super) struct Subscription {
    id: RequestId,
    messages: Messages,
    pub(super) acknowledged: SubscriptionFilter,
}

/// What a message says of a subscription.
enum Said {
    Nothing,
    Change(Change),
    /// It has ended in good order.
    Over,
}

impl Subscription {
    async fn acknowledge(&mut self, deadline: &mut Deadline) -> Result<(), Error> {
        loop {
            let raw = match deadline.race(self.messages.next()).await? {
                Some(raw) => raw?,
                None => return Err(Error::protocol(Fault::NotAcknowledged)),
            };
            match scan(&raw).map_err(not_a_message)? {
                Message::Notification(notification) if is_acknowledgment(&notification) => {
                    let params: AcknowledgedParams =
                        serde_json::from_str(notification.params.raw())
                            .map_err(|error| undecodable(&error))?;
                    self.acknowledged = params.notifications;
                    return Ok(());
                }
                Message::Response(response) => {
                    find(&raw, &response, &self.id)?;
                    return Err(Error::protocol(Fault::NotAcknowledged));
                }
                Message::Notification(_) | Message::Request(_) => {
                    tracing::debug!("a message before a subscription was acknowledged");
                }
            }
        }
    }

    /// Waits for the next change, or the end. Cancel safe.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Change, End>> {
        for _ in 0..MESSAGES {
            let said = match ready!(self.messages.poll_next(cx)) {
                None => Err(Error::protocol(Fault::StreamEnded)),
                Some(raw) => raw.and_then(|raw| self.read(&raw)),
            };
            match said {
                Ok(Said::Nothing) => {}
                Ok(Said::Change(change)) => return Poll::Ready(Ok(change)),
                Ok(Said::Over) => return Poll::Ready(Err(End::Graceful)),
                Err(error) => return Poll::Ready(Err(End::Lost(error))),
            }
        }
        // A stream that always has more, and never a change, must not keep timers from being heard.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn read(&self, raw: &Bytes) -> Result<Said, Error> {
        match scan(raw).map_err(not_a_message)? {
            Message::Notification(notification) => Ok(self.read_notification(&notification)),
            Message::Response(response) => find(raw, &response, &self.id).map(|_| Said::Over),
            Message::Request(request) => {
                let method = excerpt(request.method.as_bytes());
                tracing::debug!(method, "a server must not send requests");
                Ok(Said::Nothing)
            }
        }
    }

    /// The stream belongs to this subscription alone, so that what is on it does, whatever id it carries.
    fn read_notification(&self, notification: &Notification<'_>) -> Said {
        let params = notification.params.raw();
        match NotificationMethod::from_name(&notification.method) {
            Some(NotificationMethod::ToolListChanged) => Said::Change(Change::Tools),
            Some(NotificationMethod::PromptListChanged) => Said::Change(Change::Prompts),
            Some(NotificationMethod::ResourceListChanged) => Said::Change(Change::Resources),
            Some(NotificationMethod::ResourceUpdated) => match serde_json::from_str(params) {
                Ok(updated) => Said::Change(Change::Resource(updated)),
                Err(error) => {
                    tracing::debug!(%error, "an update that cannot be read");
                    Said::Nothing
                }
            },
            Some(NotificationMethod::Cancelled) => {
                match serde_json::from_str::<CancelledParams>(params) {
                    Ok(cancelled) if cancelled.request_id == self.id => Said::Over,
                    _ => Said::Nothing,
                }
            }
            Some(_) => Said::Nothing,
            None => {
                let method = notification.method.clone().into_owned();
                // The scan has proved that it is JSON.
                let params = RawJson::from_text(params);
                params
                    .map_or(Said::Nothing, |params| Said::Change(Change::Other { method, params }))
            }
        }
    }
}

/// How many messages that are no changes one poll reads.
const MESSAGES: usize = 64;

fn is_acknowledgment(notification: &Notification<'_>) -> bool {
    NotificationMethod::from_name(&notification.method)
        == Some(NotificationMethod::SubscriptionsAcknowledged)
}
