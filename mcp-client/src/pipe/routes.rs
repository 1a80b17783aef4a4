//! `Routes`: which message is for which request. Specification: stdio, Receiving Messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use mcp_transport::json::{Message, Notification, Object, Response, scan};
use mcp_transport::line::LineTooLong;
use mcp_types::{NotificationMethod, ProgressToken, RequestId};
use tokio::time::Instant;

use super::inbox::{End, Inbox};
use crate::error::{Error, excerpt};
use crate::limits::Limits;

/// Where messages for one request go.
pub(super) struct Route {
    pub(super) inbox: Arc<Inbox>,
    pub(super) wants: Wants,
}

/// What a request gets besides its response.
pub(crate) struct Wants {
    /// Progress that carries this token.
    pub(crate) token: Option<ProgressToken>,
    /// Log messages, which do not say whose they are.
    pub(crate) logs: bool,
    /// Changes, until the server cancels the subscription.
    pub(crate) changes: bool,
}

/// The requests that wait for their response.
pub(super) struct Routes {
    open: Mutex<Table>,
    /// What those are told who wait when the connection ends.
    end: End,
}

#[derive(Default)]
struct Table {
    routes: HashMap<RequestId, Route>,
    ended_at: Option<Instant>,
}

impl Routes {
    pub(super) fn new(end: End) -> Self {
        Self { open: Mutex::default(), end }
    }

    pub(super) const fn end(&self) -> End {
        self.end
    }

    /// When the connection ended; `None` while it has not.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.table().ended_at
    }

    /// # Errors
    /// When the connection has ended.
    pub(super) fn open(&self, id: RequestId, route: Route) -> Result<(), Error> {
        let mut table = self.table();
        if table.ended_at.is_some() {
            return Err(self.end.error());
        }
        table.routes.insert(id, route);
        Ok(())
    }

    /// Returns whether the request was still waiting.
    pub(super) fn forget(&self, id: &RequestId) -> bool {
        self.table().routes.remove(id).is_some()
    }

    /// Ends all that wait, and lets nothing be opened any more.
    pub(super) fn close(&self) {
        let mut table = self.table();
        table.ended_at.get_or_insert_with(Instant::now);
        for (_, route) in table.routes.drain() {
            route.inbox.close(self.end);
        }
    }

    /// Hands a line to whom it is for. Lines that are no messages are passed over, such as banners and logs
    /// that strayed onto stdout; `junk` counts them, and the first are warned of.
    pub(super) fn take(&self, line: Result<Bytes, LineTooLong>, junk: &mut usize) {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                tracing::warn!(%error, "a line of the server is passed over");
                // Most likely a response. Of several requests nobody knows whose.
                let table = self.table();
                if let (Some(route), 1) = (table.routes.values().next(), table.routes.len()) {
                    route.inbox.close(End::TooLong(error.limit));
                }
                return;
            }
        };
        match scan(&line) {
            Ok(Message::Response(response)) => self.respond(&response, &line),
            Ok(Message::Notification(notification)) => self.notify(&notification, &line),
            Ok(Message::Request(request)) => {
                let method = excerpt(request.method.as_bytes());
                tracing::debug!(method, "a server must not send requests");
            }
            Err(error) => {
                *junk += 1;
                if *junk <= Limits::JUNK_WARNINGS {
                    let line = excerpt(line.get(..Limits::EXCERPT_BYTES).unwrap_or(&line));
                    tracing::warn!(%error, line, "the server wrote a line that is no message");
                }
            }
        }
    }

    fn respond(&self, response: &Response<'_>, raw: &Bytes) {
        let route = response.id.as_ref().and_then(|id| self.table().routes.remove(id));
        match route {
            Some(route) => route.inbox.answer(raw.clone()),
            // One that was cancelled may be answered all the same.
            None => tracing::debug!(id = ?response.id, "a response that nobody waits for"),
        }
    }

    fn notify(&self, notification: &Notification<'_>, raw: &Bytes) {
        let params = &notification.params;
        let mut table = self.table();
        match NotificationMethod::from_name(&notification.method) {
            Some(NotificationMethod::Progress) => {
                let token = params.get("progressToken").and_then(decode::<ProgressToken>);
                let mut routes = table.routes.values();
                let route = routes.find(|route| token.is_some() && route.wants.token == token);
                if let Some(route) = route {
                    // The next one says more.
                    route.inbox.push(raw.clone());
                }
            }
            // It does not say which request it is about.
            Some(NotificationMethod::LogMessage) => {
                for route in table.routes.values().filter(|route| route.wants.logs) {
                    route.inbox.push(raw.clone());
                }
            }
            // The server has ended a subscription, which is no longer to be cancelled then. Nothing else is its to
            // cancel. Specification: Cancellation, Behavior Requirements, Error Handling.
            Some(NotificationMethod::Cancelled) => {
                let id = params.get("requestId").and_then(decode::<RequestId>);
                let id =
                    id.filter(|id| table.routes.get(id).is_some_and(|route| route.wants.changes));
                if let Some(route) = id.and_then(|id| table.routes.remove(&id)) {
                    route.inbox.answer(raw.clone());
                }
            }
            _ => {
                let id = params.get("_meta").and_then(subscription);
                let route = id.and_then(decode::<RequestId>).and_then(|id| table.routes.get(&id));
                if let Some(route) = route
                    && !route.inbox.push(raw.clone())
                {
                    route.inbox.close(End::Behind);
                }
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing here panics between two changes.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subscription that a notification belongs to. Specification: Subscriptions, Receiving Notifications.
fn subscription(meta: &str) -> Option<&str> {
    Object::parse(meta).ok()?.get("io.modelcontextprotocol/subscriptionId")
}

fn decode<T: serde::de::DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(json).ok()
}
