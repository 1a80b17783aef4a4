//! Subscriptions.

pub(super) mod begin;
pub(super) mod end;
pub(super) mod filter;
pub(super) mod updates;

use serde_json::{Map, Value, json};

use super::Cx;
use super::talk::{Came, Talk};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, shown};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// A request for what `filter` names.
pub(super) fn listen(cx: &Cx, id: impl Into<Value>, filter: &Value) -> Message {
    cx.request("subscriptions/listen").with("id", id).param("notifications", filter.clone())
}

/// A filter that asks for all that the server declares.
///
/// # Errors
/// The check is skipped if it declares nothing.
pub(super) fn asked(cx: &Cx) -> Verdict<Value> {
    let mut filter = Map::new();
    let lists = [
        ("/tools/listChanged", "toolsListChanged"),
        ("/prompts/listChanged", "promptsListChanged"),
        ("/resources/listChanged", "resourcesListChanged"),
    ];
    for (capability, member) in lists {
        if cx.needs(capability).is_ok() {
            filter.insert(member.into(), true.into());
        }
    }
    if let (Ok(()), Some(resource)) =
        (cx.needs("/resources/subscribe"), cx.offer().resources.first())
    {
        filter.insert("resourceSubscriptions".into(), json!([at(resource, "/uri")]));
    }
    if filter.is_empty() {
        return Err(Stop::skip("the server declares no changes to listen to"));
    }
    Ok(filter.into())
}

/// A tool that says that a list has changed; it is of no use where that cannot be listened to.
fn trigger(cx: &Cx, kind: &str) -> Verdict<Message> {
    cx.needs(&format!("/{kind}s/listChanged"))?;
    let name = format!("test_trigger_{kind}_change");
    cx.tool(&name)?;
    Ok(cx.call(&name, json!({})))
}

/// Opens a subscription and reads to its acknowledgement, which has to be its first message.
async fn subscribe(talk: &mut Talk, request: &Message) -> Verdict<Value> {
    talk.send(request).await?;
    let of_it = |came: &Came| belongs(came, request.id());
    let came = talk.until("an acknowledgement", of_it).await?;
    let first = came.into_iter().next_back().map(|came| came.message).unwrap_or_default();
    is_acknowledgement(&first, request.id())?;
    Ok(first)
}

/// Whether a message is of this subscription: by its stream, where that has one of its own, or by its tag.
fn belongs(came: &Came, id: &Value) -> bool {
    if came.on.is_null() { came.subscription() == id || came.answers(id) } else { came.on == *id }
}

fn is_acknowledgement(message: &Value, id: &Value) -> Verdict {
    expect(*at(message, "/method") == ACKNOWLEDGED, "the acknowledgement first", shown(message))?;
    let tag = at(message, "/params/_meta/io.modelcontextprotocol~1subscriptionId");
    expect(tag == id, format!("the subscription id {id}"), shown(message))?;
    expect(at(message, "/params/notifications").is_object(), "what is granted", shown(message))
}
