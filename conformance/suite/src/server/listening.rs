//! Subscriptions, as far as checks of what changes need them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Cx;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::line::Process;
use crate::wire::message::META_SUBSCRIPTION;
use crate::wire::{Message, Open};

/// A subscription that was acknowledged. Over stdio other requests can be sent to its process as well.
pub(crate) struct Listening {
    pub(crate) open: Open,
    /// What was granted.
    pub(crate) granted: Value,
}

impl Listening {
    /// Opens a subscription and waits for its acknowledgement.
    pub(crate) async fn open(cx: &Cx, request: &Message) -> Verdict<Self> {
        Self::acknowledged(cx.open(request).await?).await
    }

    /// The same in a process that runs already.
    pub(crate) async fn on(cx: &Cx, mut process: Process, request: &Message) -> Verdict<Self> {
        process.send_line(&request.text()).await?;
        let open = Open::lines(process, request.id().clone());
        Self::acknowledged(open.recorded(request.method(), &cx.record)).await
    }

    async fn acknowledged(mut open: Open) -> Verdict<Self> {
        let first = open.expect_next("an acknowledgement").await?;
        let granted = acknowledged(&first)?;
        Ok(Self { open, granted })
    }

    /// Sends another request, which the same server gets.
    pub(crate) async fn beside(&mut self, cx: &Cx, message: &Message) -> Verdict {
        match self.open.process() {
            Some(process) => process.send_line(&message.text()).await,
            None => cx.ask(message).await?.result().map(drop),
        }
    }

    /// Waits for a message.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        is_it: impl Fn(&Value) -> bool,
    ) -> Verdict<Value> {
        loop {
            let message = self.open.expect_next(what).await.map_err(|stop| stop.of(what))?;
            if is_it(&message) {
                return Ok(message);
            }
        }
    }
}

fn acknowledged(message: &Value) -> Verdict<Value> {
    let is_it = *at(message, "/method") == "notifications/subscriptions/acknowledged";
    expect(is_it, "an acknowledgement before all else", shown(message))?;
    Ok(at(message, "/params/notifications").clone())
}

/// A request that listens to changes, `filter` such as `{"toolsListChanged": true}`.
pub(crate) fn listen(cx: &Cx, filter: Value) -> Message {
    cx.request("subscriptions/listen").param("notifications", filter)
}

/// Whoever listens to a list hears that it has changed, and nobody else does.
pub(crate) async fn list_changed(cx: &Cx, kind: &str, trigger: &str, list: &str) -> Verdict {
    cx.tool(trigger)?;
    let filter = |kind: &str| Value::Object(Map::from_iter([(kind.to_owned(), true.into())]));
    let request = listen(cx, filter(kind));
    let mut listening = Listening::open(cx, &request).await?;
    let granted = at(&listening.granted, &format!("/{kind}"));
    expect(*granted == true, format!("{kind} granted"), shown(&listening.granted))?;
    // One that hears of something else only.
    let other = listen(cx, json!({ "resourceSubscriptions": ["test://no-such-resource"] }));
    let mut quiet = match listening.open.process() {
        Some(process) => {
            process.send_line(&other.text()).await?;
            listening.until("an acknowledgement", |it| tag(it) == other.id()).await?;
            None
        }
        None => Some(Listening::open(cx, &other).await?),
    };
    let method = format!("notifications/{list}/list_changed");
    let is_it = |message: &Value| *at(message, "/method") == *method;
    listening.beside(cx, &cx.call(trigger, json!({}))).await?;
    let heard = listening.until(&method, is_it).await?;
    expect(tag(&heard) == request.id(), "the id of the subscription in _meta", shown(&heard))?;
    let open = quiet.as_mut().map_or(&mut listening.open, |it| &mut it.open);
    let strays = open.within(WINDOW).await?;
    let stray = strays.iter().find(|it| is_it(it) && tag(it) != request.id());
    match stray {
        Some(stray) => Err(Stop::fail("nothing for who did not ask for it", shown(stray))),
        None => Ok(()),
    }
}

/// The subscription that a notification belongs to.
pub(crate) fn tag(message: &Value) -> &Value {
    let meta = at(message, "/params/_meta");
    meta.get(META_SUBSCRIPTION).unwrap_or(&Value::Null)
}

/// How long nothing may come after something that would have caused it.
pub(crate) const WINDOW: Duration = Duration::from_millis(300);
