//! Changes of single resources.

use serde_json::json;

use super::{belongs, listen, subscribe};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::resources::listed;
use crate::server::talk::{Came, Talk};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in crate::server) const CHECKS: &[Check] =
    &[server_check!("server-listen-resource-updates", Both, updates)];

const UPDATED: &str = "notifications/resources/updated";
const TRIGGER: &str = "test_trigger_resource_update";

/// Who watches a resource hears of it and of no other.
async fn updates(cx: Cx) -> Verdict {
    cx.needs("/resources/subscribe")?;
    cx.tool(TRIGGER)?;
    let mut uris = listed(&cx);
    let watched = uris.next().unwrap_or_default();
    // What is below a resource may count as a part of it.
    let Some(other) = uris.find(|uri| !uri.starts_with(watched) && !watched.starts_with(uri))
    else {
        return Err(Stop::skip("the server has no two resources apart"));
    };
    let mut talk = Talk::open(&cx)?;
    let request = listen(&cx, "watch", &json!({ "resourceSubscriptions": [watched] }));
    subscribe(&mut talk, &request).await?;
    let mut came = Vec::new();
    for uri in [other, watched] {
        came.extend(talk.ask(&cx.call(TRIGGER, json!({ "uri": uri }))).await?);
    }
    let is_update = |came: &Came| belongs(came, request.id()) && came.method() == UPDATED;
    let is_due = |came: &Came| {
        let uri = at(&came.message, "/params/uri").as_str().unwrap_or_default();
        is_update(came) && uri.starts_with(watched)
    };
    if !came.iter().any(is_due) {
        match talk.until(UPDATED, is_due).await {
            Ok(more) => came.extend(more),
            Err(_) => cx.warnings.unless(false, format!("{UPDATED} of {watched}"), "none"),
        }
    }
    came.extend(talk.settled().await?);
    for update in came.iter().filter(|came| is_update(came)) {
        let told = shown(&update.message);
        let is_stray = at(&update.message, "/params/uri") == other;
        expect(!is_stray, format!("nothing of {other}, which nobody watches"), &*told)?;
        expect(update.subscription() == request.id(), "the id of the subscription", told)?;
    }
    Ok(())
}
