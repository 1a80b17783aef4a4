//! Notifications to the server, and what it writes of its own accord.

use serde_json::json;

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::progress::reporting;
use crate::server::raw::has_no_id;
use crate::server::talk::{Talk, cancelled};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::shown;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-notification-unanswered", Both, unanswered),
    server_check!("server-no-requests", Both, no_requests).last(),
    server_check!("server-notification-shape", Both, shape).last(),
];

async fn unanswered(cx: Cx) -> Verdict {
    let unknown = Message::notification("notifications/x-unknown");
    let all = [
        unknown.clone(),
        unknown.clone().without("params"),
        unknown.with("params", json!({})),
        cancelled(&json!(424_242)),
    ];
    if !cx.is_http() {
        let mut talk = Talk::open(&cx)?;
        for notification in &all {
            talk.send(notification).await?;
        }
        let mut came = talk.ask(&cx.request("server/discover")).await?;
        came.pop();
        came.extend(talk.settled().await?);
        let seen = came.first().map(|came| shown(&came.message)).unwrap_or_default();
        return expect(came.is_empty(), "no answer to a notification", seen);
    }
    for notification in all {
        let reply = cx.send(&cx.post(&notification)?).await.of(notification.text())?;
        let is_quiet = reply
            .messages
            .iter()
            .all(|message| message.get("result").is_none() && has_no_id(&cx, message));
        expect(is_quiet, "no answer, or an error without id", reply.told())
            .of(notification.text())?;
        let is_well = reply.status().is_some_and(|status| status < 500);
        expect(is_well, "a status below 500", reply.told()).of(notification.text())?;
    }
    Ok(())
}

/// The notifications of the whole run, with some of a call that reports progress.
async fn shape(cx: Cx) -> Verdict {
    if let Ok(call) = reporting(&cx) {
        cx.ask(&call.meta("progressToken", "p")).await?;
    }
    let all = cx.record.all();
    let mut some = all.iter().filter(|it| it.message.get("method").is_some()).peekable();
    if some.peek().is_none() {
        return Err(Stop::skip("no notification was seen"));
    }
    for noted in some {
        let message = &noted.message;
        expect(message.get("id").is_none(), "a notification without id", shown(message))?;
        let params = message.get("params");
        let is_object = params.is_none_or(serde_json::Value::is_object);
        expect(is_object, "params, an object if there", shown(message))?;
    }
    Ok(())
}

/// Has the server do what other revisions sent requests for.
async fn no_requests(cx: Cx) -> Verdict {
    let names = cx.offer().tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    let asking = names.filter(|name| {
        name.starts_with("test_input_required_result_") || *name == "test_tool_with_progress"
    });
    for name in asking {
        cx.ask(&cx.call(name, json!({})).meta("progressToken", "p")).await.of(name)?;
    }
    for noted in cx.record.all() {
        let is_request = noted.message.get("method").is_some() && noted.message.get("id").is_some();
        expect(!is_request, "no request from the server", shown(&noted.message))?;
    }
    Ok(())
}
