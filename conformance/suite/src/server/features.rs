//! What holds of all features.

use serde_json::json;

use super::Cx;
use super::listening::{Listening, listen};
use super::lists::UNKNOWN_METHOD;
use super::resources::listed;
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] =
    &[server_check!("server-features-ack-matches-capabilities", Both, ack_matches_capabilities)];

/// What is granted is what was asked for, as far as the server declares that it has it.
async fn ack_matches_capabilities(cx: Cx) -> Verdict {
    let uri = listed(&cx).next().unwrap_or("test://none");
    let all = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": [uri],
    });
    let declares = |capability: &str| {
        *at(&cx.offer().discover, &format!("/capabilities/{capability}")) == true
    };
    let kinds = [
        ("toolsListChanged", declares("tools/listChanged")),
        ("promptsListChanged", declares("prompts/listChanged")),
        ("resourcesListChanged", declares("resources/listChanged")),
        ("resourceSubscriptions", declares("resources/subscribe")),
    ];
    let request = listen(&cx, all);
    let granted = match Listening::open(&cx, &request).await {
        Ok(listening) => listening.granted,
        Err(stop) => {
            let reply = cx.ask(&cx.again(&request)).await?;
            let is_unknown = *at(reply.response()?, "/error/code") == UNKNOWN_METHOD;
            let has_none = kinds.iter().all(|(_, declared)| !declared);
            return match is_unknown && has_none {
                true => Err(Stop::skip("the server has no subscriptions")),
                false => Err(stop),
            };
        }
    };
    for (kind, declared) in kinds {
        let value = at(&granted, &format!("/{kind}"));
        let is_granted = *value == true || value.as_array().is_some_and(|uris| !uris.is_empty());
        expect(
            declared || !is_granted,
            format!("no {kind}, which is not declared"),
            shown(&granted),
        )?;
    }
    let uris = at(&granted, "/resourceSubscriptions").as_array().into_iter().flatten();
    let strangers = uris.filter(|granted| **granted != *uri).count();
    expect(strangers == 0, format!("no other resource than {uri}"), shown(&granted))
}
