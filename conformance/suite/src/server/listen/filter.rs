//! What subscriptions carry.

use serde_json::{Value, json};

use super::begin::grants_within;
use super::{PROMPTS, TOOLS, asked, belongs, listen, subscribe, trigger};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::progress::reporting;
use crate::server::raw::{raw, refused};
use crate::server::talk::{Came, Talk};
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::shown;
use crate::wire::message::META_LOG_LEVEL;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-listen-filter", Both, only_requested),
    server_check!("server-listen-filter-empty", Both, empty),
    server_check!("server-listen-two-streams", Both, two_streams),
    server_check!("server-listen-no-request-notifications", Both, no_request_notifications),
];

/// No message of this method is among those of this subscription.
fn has_none(came: &[Came], id: &Value, method: &str) -> Verdict {
    let stray = came.iter().find(|came| belongs(came, id) && came.method() == method);
    let seen = stray.map(|came| shown(&came.message)).unwrap_or_default();
    expect(stray.is_none(), format!("no {method} on a subscription without it"), seen)
}

async fn only_requested(cx: Cx) -> Verdict {
    trigger(&cx, "tool")?;
    trigger(&cx, "prompt")?;
    let prompts = json!({ "promptsListChanged": true });
    for filter in [prompts, json!({ "promptsListChanged": true, "toolsListChanged": false })] {
        let mut talk = Talk::open(&cx)?;
        let request = listen(&cx, "sub", &filter);
        subscribe(&mut talk, &request).await?;
        let mut came = talk.ask(&trigger(&cx, "tool")?).await?;
        talk.send(&trigger(&cx, "prompt")?).await?;
        let is_change = |came: &Came| belongs(came, request.id()) && came.method() == PROMPTS;
        if !came.iter().any(is_change) {
            came.extend(talk.until(PROMPTS, is_change).await?);
        }
        came.extend(talk.settled().await?);
        has_none(&came, request.id(), TOOLS)?;
    }
    Ok(())
}

async fn empty(cx: Cx) -> Verdict {
    let change = trigger(&cx, "tool")?;
    let mut talk = Talk::open(&cx)?;
    let request = listen(&cx, "sub", &json!({}));
    talk.send(&request).await?;
    let came = talk.until("an acknowledgement", |came| belongs(came, request.id())).await?;
    for came in came.iter().filter(|came| belongs(came, request.id())) {
        expect(came.message.get("error").is_none(), "no error", shown(&came.message))?;
        grants_within(&came.message, &json!({}))?;
    }
    let mut came = talk.ask(&change).await?;
    came.extend(talk.settled().await?);
    has_none(&came, request.id(), TOOLS)?;
    let unknown = listen(&cx, "unknown", &json!({ "toolsListChanged": true, "x": true }));
    let granted = subscribe(&mut talk, &unknown).await.of("an unknown member")?;
    grants_within(&granted, &json!({ "toolsListChanged": true })).of("an unknown member")?;
    let wrong = [
        ("no notifications", listen(&cx, "a", &json!({})).without_param("notifications")),
        ("a number as URI", listen(&cx, "a", &json!({ "resourceSubscriptions": [1] }))),
    ];
    for (what, request) in wrong {
        let reply = raw(&cx, &request, request.text()).await.of(what)?;
        refused(&cx, &reply, &[-32602]).of(what)?;
    }
    list_for_filter(&cx).await
}

/// A list names no kind: it is best refused, but may be read as a filter without members.
async fn list_for_filter(cx: &Cx) -> Verdict {
    let request = listen(cx, "list", &json!([]));
    let mut talk = Talk::open(cx)?;
    talk.send(&request).await?;
    let came = talk.until("an answer", |came| belongs(came, request.id())).await?;
    let Some(first) = came.iter().find(|came| belongs(came, request.id())) else { return Ok(()) };
    let is_error = first.message.get("error").is_some();
    cx.warnings.unless(is_error, "a list of notifications: error -32602", shown(&first.message));
    if is_error {
        Ok(())
    } else {
        grants_within(&first.message, &json!({})).of("a list of notifications")
    }
}

async fn two_streams(cx: Cx) -> Verdict {
    trigger(&cx, "tool")?;
    trigger(&cx, "prompt")?;
    let mut talk = Talk::open(&cx)?;
    let [tools, prompts, again] = [json!("tools"), json!("prompts"), json!("again")];
    let of_tools = json!({ "toolsListChanged": true });
    subscribe(&mut talk, &listen(&cx, tools.clone(), &of_tools)).await?;
    let of_prompts = json!({ "promptsListChanged": true });
    subscribe(&mut talk, &listen(&cx, prompts.clone(), &of_prompts)).await?;
    subscribe(&mut talk, &listen(&cx, again.clone(), &of_tools)).await?;

    talk.send(&trigger(&cx, "tool")?).await?;
    talk.send(&trigger(&cx, "prompt")?).await?;
    let all = [(&tools, TOOLS), (&prompts, PROMPTS), (&again, TOOLS)];
    let mut came = get_changes(&mut talk, &all).await?;
    came.extend(talk.settled().await?);
    has_none(&came, &tools, PROMPTS)?;
    has_none(&came, &again, PROMPTS)?;
    has_none(&came, &prompts, TOOLS)?;

    talk.leave(&tools).await?;
    talk.ask(&cx.request("server/discover")).await?;
    talk.send(&trigger(&cx, "tool")?).await?;
    get_changes(&mut talk, &[(&again, TOOLS)]).await.of("after another was closed").map(drop)
}

/// Reads until each of these subscriptions has got its change.
async fn get_changes(talk: &mut Talk, all: &[(&Value, &str)]) -> Verdict<Vec<Came>> {
    let mut left = all.to_vec();
    let what = "a change on each subscription";
    talk.until(what, |came| {
        left.retain(|(id, method)| !(belongs(came, id) && came.method() == *method));
        left.is_empty()
    })
    .await
}

async fn no_request_notifications(cx: Cx) -> Verdict {
    let mut calls = vec![reporting(&cx)?];
    if cx.tool("test_logging_tool").is_ok() {
        calls.push(cx.call("test_logging_tool", json!({})));
    }
    let mut talk = Talk::open(&cx)?;
    let request = listen(&cx, "sub", &asked(&cx)?);
    subscribe(&mut talk, &request).await?;
    for call in calls {
        let call = call.meta("progressToken", "p").meta(META_LOG_LEVEL, "debug");
        let mut came = talk.ask(&call).await?;
        came.extend(talk.settled().await?);
        has_none(&came, request.id(), "notifications/progress")?;
        has_none(&came, request.id(), "notifications/message")?;
    }
    Ok(())
}
