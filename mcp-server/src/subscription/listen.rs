//! `Subscription`: one `subscriptions/listen` under way, as the reply reads it.

use std::fmt;
#[cfg(feature = "auth")]
use std::future::Future;
#[cfg(feature = "auth")]
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_transport::json::Object;
use mcp_types::notification::{
    Cancelled, PromptListChanged, ResourceListChanged, ResourceUpdated, SubscriptionsAcknowledged,
    ToolListChanged,
};
use mcp_types::{
    AcknowledgedParams, CancelledParams, EmptyNotificationParams, ListenResult, Notification,
    NotificationMessage, NotificationMeta, Outcome, RequestId, ResourceUpdatedParams,
    SubscriptionFilter,
};
#[cfg(feature = "auth")]
use tokio::time::Sleep;

use super::hub::{Note, Notes};
use super::{Group, Subscriber};
use crate::caller::RequestParts;
use crate::permit::Permit;
use crate::rejection::{Reason, Rejection};
use crate::reply::{Answer, Closed, Framing};
use crate::server::Shared;

/// What a client asks to hear of: the last checks of a `subscriptions/listen`. The reply has to be a stream, and
/// `sse` says whether the client takes one.
pub(crate) fn wanted(
    shared: &Shared,
    sse: bool,
    params: &Object<'_>,
) -> Result<SubscriptionFilter, Reason> {
    if !sse {
        return Err(Reason::NeedsSse);
    }
    // An array would do for serde.
    let filter = params.get("notifications").filter(|filter| filter.starts_with('{'));
    let Some(Ok(filter)) = filter.map(serde_json::from_str::<SubscriptionFilter>) else {
        return Err(Reason::Params(
            "the notifications must be an object of booleans, and of strings for resources",
        ));
    };
    let uris = filter.resource_subscriptions.iter().flatten();
    if uris.map(String::len).sum::<usize>() > shared.limits.listen_uris {
        return Err(Reason::Params("the URIs of the resources are too long taken together"));
    }
    Ok(filter)
}

/// Opens the subscription that the request `id` asks for: from here on no change is missed. Nothing of the
/// request is kept but its id and what it is granted. The `permit` of the exchange is traded for one of its own.
pub(crate) fn open(
    shared: &Arc<Shared>,
    id: RequestId,
    wanted: SubscriptionFilter,
    parts: &RequestParts,
    permit: &mut Option<Permit>,
    group: Option<&Group>,
) -> Result<Subscription, Rejection> {
    let subscriptions = &shared.subscriptions;
    let permit = match subscriptions.gate.enter(parts, None) {
        Ok(own) => own.replacing(permit.take()),
        Err(busy) => {
            let of_caller = matches!(busy, Reason::CallerBusy);
            return Err(Rejection::of(id, "", Reason::TooManyListens { of_caller }));
        }
    };
    let granted = subscriptions.announces.grant(wanted);
    let acknowledged = acknowledgment(&id, &granted);
    let (key, subscriber) = subscriptions.hub.subscribe(granted, group.cloned());
    Ok(Subscription {
        shared: Arc::clone(shared),
        id,
        acknowledgment: Some(acknowledged),
        key,
        subscriber,
        #[cfg(feature = "auth")]
        expiry: expiry(shared, parts),
        _permit: permit,
    })
}

/// The frames of a subscription: the acknowledgment, what has changed, and at an end in good order the result.
/// Dropping it unsubscribes.
pub(crate) struct Subscription {
    shared: Arc<Shared>,
    id: RequestId,
    /// The message, until it was handed out.
    acknowledgment: Option<Vec<u8>>,
    key: u64,
    subscriber: Arc<Subscriber>,
    /// When the token that it was opened with is taken no more.
    #[cfg(feature = "auth")]
    expiry: Option<Pin<Box<Sleep>>>,
    _permit: Permit,
}

impl Subscription {
    /// The other end, to break it off from elsewhere.
    pub(crate) const fn subscriber(&self) -> &Arc<Subscriber> {
        &self.subscriber
    }

    /// Takes everything that waits as the bytes of one write, the result last; then the end, `None`. An error
    /// when it was broken off.
    pub(crate) fn poll_frames(
        &mut self,
        cx: &Context<'_>,
        framing: Framing,
    ) -> Poll<Option<Result<Vec<u8>, Closed>>> {
        #[cfg(feature = "auth")]
        if let Some(expiry) = &mut self.expiry
            && expiry.as_mut().poll(&mut Context::from_waker(cx.waker())).is_ready()
        {
            // What waits is told before. Its client may listen again with another token.
            self.expiry = None;
            self.subscriber.end();
        }
        let polled = self.subscriber.poll(cx);
        let mut frames = Vec::new();
        if let Some(acknowledgment) = self.acknowledgment.take() {
            framing.write(&mut frames, &acknowledgment);
        }
        match polled {
            Poll::Pending if frames.is_empty() => return Poll::Pending,
            Poll::Pending => {}
            Poll::Ready(Some(Ok(notes))) => self.write(&notes, &mut frames, framing),
            Poll::Ready(Some(Err(closed))) => return Poll::Ready(Some(Err(closed))),
            Poll::Ready(None) => return Poll::Ready(None),
        }
        Poll::Ready(Some(Ok(frames)))
    }

    fn write(&self, notes: &Notes, out: &mut Vec<u8>, framing: Framing) {
        for note in &notes.notes {
            framing.write(out, &self.notification(*note));
        }
        if notes.last {
            self.result().write_frame(out, framing);
            // Behind the result: clients take whichever comes first for the end, and only the result for one in good
            // order.
            if framing == Framing::Lines {
                framing.write(out, &cancellation(&self.id));
            }
        }
    }

    fn notification(&self, note: Note) -> Vec<u8> {
        let meta = meta(&self.id);
        match note {
            Note::Tools => encode::<ToolListChanged>(EmptyNotificationParams { meta }),
            Note::Prompts => encode::<PromptListChanged>(EmptyNotificationParams { meta }),
            Note::Resources => encode::<ResourceListChanged>(EmptyNotificationParams { meta }),
            Note::Resource(place) => {
                let uri = self.subscriber.uri(place).unwrap_or_default().to_owned();
                encode::<ResourceUpdated>(ResourceUpdatedParams { meta, uri })
            }
        }
    }

    /// What tells the client that the end was meant. Specification: Subscriptions, Graceful Closure.
    fn result(&self) -> Answer {
        let mut result = ListenResult::new(self.id.clone());
        let identity = self.shared.identity.as_ref();
        result.meta.server_info = identity.map(|identity| identity.implementation.clone());
        // Holds strings and numbers, which always encode.
        let result = serde_json::to_string(&Outcome::Complete(result)).unwrap_or_default();
        Answer::encoded(&self.id, &result)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.subscriptions.hub.unsubscribe(self.key);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Runs out with the token. Specification: Authorization, Token Handling.
#[cfg(feature = "auth")]
fn expiry(shared: &Shared, parts: &RequestParts) -> Option<Pin<Box<Sleep>>> {
    let left = shared.auth.as_ref()?.left(parts.extensions.get()?)?;
    Some(Box::pin(tokio::time::sleep(left.min(crate::limits::FOR_EVER))))
}

/// What says that the subscription `id` is over, on streams that do not end with it. Specification: Cancellation; the
/// schema's `CancelledNotification` has it for stdio alone.
pub(crate) fn cancellation(id: &RequestId) -> Vec<u8> {
    encode::<Cancelled>(CancelledParams { meta: meta(id), ..CancelledParams::new(id.clone()) })
}

fn acknowledgment(id: &RequestId, granted: &SubscriptionFilter) -> Vec<u8> {
    encode::<SubscriptionsAcknowledged>(AcknowledgedParams {
        meta: meta(id),
        notifications: granted.clone(),
    })
}

fn meta(id: &RequestId) -> NotificationMeta {
    NotificationMeta { subscription_id: Some(id.clone()), ..NotificationMeta::default() }
}

fn encode<N: Notification>(params: N::Params) -> Vec<u8> {
    // Holds strings and numbers, which always encode.
    serde_json::to_vec(&NotificationMessage::new(N::METHOD, params)).unwrap_or_default()
}
