//! How subscriptions begin.

use serde_json::{Value, json};

use super::{TOOLS, asked, belongs, is_acknowledgement, listen, subscribe, trigger};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::talk::Talk;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-listen-acknowledged", Http, acknowledged),
    server_check!("server-stdio-listen-acknowledged", Stdio, acknowledged_on_stdio),
    server_check!("server-listen-nothing-before-ack", Both, nothing_before),
    server_check!("server-listen-subscription-id", Both, subscription_id),
];

async fn acknowledged(cx: Cx) -> Verdict {
    let declared = asked(&cx)?;
    for id in [json!(1), json!("sub")] {
        let request = listen(&cx, id.clone(), &everything(&declared));
        let mut open = cx.open(&request).await?;
        let head = open.head.clone().unwrap_or_default();
        expect(head.status() == 200, "status 200", &*head.line)?;
        let media_type = head.media_type();
        expect(media_type == "text/event-stream", "text/event-stream", media_type)?;
        let first = open.expect_next("an acknowledgement").await?;
        is_acknowledgement(&first, &id)?;
        grants_within(&first, &declared)?;
    }
    Ok(())
}

async fn acknowledged_on_stdio(cx: Cx) -> Verdict {
    let declared = asked(&cx)?;
    let mut talk = Talk::open(&cx)?;
    let ids = [json!(1), json!("1")];
    let both = ids.clone().map(|id| listen(&cx, id, &everything(&declared)).text() + "\n");
    talk.process()?.send(both.concat().as_bytes()).await?;
    let mut left = ids.to_vec();
    while !left.is_empty() {
        let came = talk.next().await.of("an acknowledgement")?;
        let Some(at) = left.iter().position(|id| belongs(&came, id)) else { continue };
        is_acknowledgement(&came.message, &left.swap_remove(at))?;
        grants_within(&came.message, &declared)?;
    }
    Ok(())
}

/// A filter with more in it than a server may have.
fn everything(declared: &Value) -> Value {
    let mut filter = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
    });
    if let (Some(all), Some(uris)) = (filter.as_object_mut(), declared.get("resourceSubscriptions"))
    {
        all.insert("resourceSubscriptions".into(), uris.clone());
    }
    filter
}

/// What is granted was declared.
pub(super) fn grants_within(acknowledgement: &Value, declared: &Value) -> Verdict {
    let granted = at(acknowledgement, "/params/notifications").as_object();
    for (kind, value) in granted.into_iter().flatten() {
        let is_nothing = matches!(value, Value::Bool(false) | Value::Null) || *value == json!([]);
        let is_declared = match (value, declared.get(kind)) {
            (Value::Array(uris), Some(Value::Array(known))) => {
                uris.iter().all(|uri| known.contains(uri))
            }
            (value, known) => known == Some(value),
        };
        expect(is_nothing || is_declared, "a part of what is on offer", shown(acknowledgement))?;
    }
    Ok(())
}

async fn nothing_before(cx: Cx) -> Verdict {
    trigger(&cx, "tool")?;
    let mut talk = Talk::open(&cx)?;
    let mut left = Vec::new();
    for number in 0..20 {
        let id = json!(format!("sub {number}"));
        talk.send(&trigger(&cx, "tool")?).await?;
        talk.send(&listen(&cx, id.clone(), &json!({ "toolsListChanged": true }))).await?;
        talk.send(&trigger(&cx, "tool")?).await?;
        left.push(id);
    }
    while !left.is_empty() {
        let came = talk.next().await.of("an acknowledgement of each subscription")?;
        let Some(at) = left.iter().position(|id| belongs(&came, id)) else { continue };
        is_acknowledgement(&came.message, &left.swap_remove(at))?;
    }
    Ok(())
}

async fn subscription_id(cx: Cx) -> Verdict {
    let change = trigger(&cx, "tool")?;
    let mut talk = Talk::open(&cx)?;
    let ids = [json!(7), json!("7"), json!("sub-ü")];
    for id in &ids {
        subscribe(&mut talk, &listen(&cx, id.clone(), &json!({ "toolsListChanged": true })))
            .await?;
    }
    talk.send(&change).await?;
    let mut left = ids.to_vec();
    while !left.is_empty() {
        let came = talk.next().await.of("a change on each subscription")?;
        if came.method() != TOOLS {
            continue;
        }
        let tag = came.subscription();
        expect(ids.contains(tag), "the id of a subscription, type included", shown(&came.message))?;
        let is_own = came.on.is_null() || came.on == *tag;
        expect(is_own, format!("the id {}", came.on), shown(&came.message))?;
        left.retain(|id| id != tag);
    }
    Ok(())
}
