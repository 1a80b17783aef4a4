//! Cancellation over stdio, and what servers themselves may cancel.

use serde_json::{Value, json};

use super::Cx;
use super::listen::{asked, listen};
use super::progress::{is_progress, reporting};
use super::talk::{Came, Talk, cancelled};
use crate::check::{Check, server_check};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-cancelled-only-listen", Both, only_listen).last(),
    server_check!("server-stdio-cancel", Stdio, cancel),
    server_check!("server-stdio-cancel-listen", Stdio, cancel_listen),
    server_check!("server-stdio-cancel-many", Stdio, many),
    server_check!("server-stdio-cancel-race", Stdio, race),
    server_check!("server-stdio-cancel-unknown", Stdio, unknown),
    server_check!("server-stdio-cancel-malformed", Stdio, malformed),
];

async fn only_listen(cx: Cx) -> Verdict {
    if let Ok(call) = reporting(&cx) {
        cx.ask(&call.meta("progressToken", "p")).await?;
    }
    let all = cx.record.all();
    let of = |method: &str| {
        let method = json!(method);
        all.iter().filter(move |noted| *at(&noted.message, "/method") == method)
    };
    let ids = of("notifications/subscriptions/acknowledged")
        .map(|noted| at(&noted.message, "/params/_meta/io.modelcontextprotocol~1subscriptionId"));
    let ids = ids.collect::<Vec<_>>();
    let mut cancelled = of("notifications/cancelled").peekable();
    if cancelled.peek().is_none() {
        return Err(Stop::skip("the server has cancelled nothing"));
    }
    for noted in cancelled {
        let names_listen = ids.contains(&at(&noted.message, "/params/requestId"));
        expect(names_listen, "the id of a subscription", shown(&noted.message))?;
        let is_on_listen = matches!(&*noted.method, "" | "subscriptions/listen");
        expect(is_on_listen, "no cancellation on other streams", shown(&noted.message))?;
    }
    Ok(())
}

/// A call that takes a minute or more.
pub(super) fn slow(cx: &Cx) -> Verdict<Message> {
    if cx.tool("test_slow").is_ok() {
        return Ok(cx.call("test_slow", json!({ "ms": 600_000 })));
    }
    cx.tool("slow_compute")?;
    Ok(cx.call("slow_compute", json!({ "seconds": 60, "label": "x" })))
}

async fn cancel(cx: Cx) -> Verdict {
    let mut talk = Talk::open(&cx)?;
    let call = reporting(&cx)?.meta("progressToken", "p");
    talk.send(&call).await?;
    let begun = talk.until("progress", |came| is_progress(came) || came.answers(call.id())).await?;
    if begun.iter().any(|came| came.answers(call.id())) {
        return Err(Stop::skip("the server sends no progress"));
    }
    is_silent_once_cancelled(&cx, &mut talk, &call).await?;
    if cx.tool("test_slow").is_err() {
        let Ok(call) = slow(&cx) else { return Ok(()) };
        talk.send(&call).await?;
        return is_silent_once_cancelled(&cx, &mut talk, &call).await.of("a slow call");
    }
    for ms in [300, 3_000, 20_000] {
        if is_stopped(&cx, &mut talk, ms).await.of("a slow call")? {
            break;
        }
    }
    Ok(())
}

/// Nothing comes of a call of so many milliseconds that was cancelled, until another one of that length which was begun
/// behind it has been answered. False if its own answer was there before the cancellation, which says nothing.
async fn is_stopped(cx: &Cx, talk: &mut Talk, ms: u64) -> Verdict<bool> {
    let begin = || cx.call("test_slow", json!({ "ms": ms }));
    let call = begin();
    talk.send(&call).await?;
    let mut came = talk.ask(&cx.request("server/discover")).await?;
    talk.leave(call.id()).await?;
    came.extend(talk.ask(&cx.request("server/discover")).await?);
    if came.iter().any(|came| came.answers(call.id())) {
        return Ok(false);
    }
    let late = talk.ask(&begin()).await?;
    let seen = late.iter().find(|came| came.answers(call.id()));
    let seen = seen.map(|came| shown(&came.message));
    let expected = "nothing of a call that was cancelled";
    expect(seen.is_none(), expected, seen.unwrap_or_default())?;
    Ok(true)
}

/// Nothing comes of a call that was cancelled once the server has answered what was sent after the cancellation; what
/// comes before may have been on its way.
async fn is_silent_once_cancelled(cx: &Cx, talk: &mut Talk, call: &Message) -> Verdict {
    talk.leave(call.id()).await?;
    let is_of_call = |came: &Came| is_progress(came) || came.answers(call.id());
    talk.ask(&cx.request("server/discover")).await?;
    let mut late = talk.settled().await?;
    late.retain(is_of_call);
    let seen = late.first().map(|came| shown(&came.message));
    expect(seen.is_none(), "nothing of a call that was cancelled", seen.unwrap_or_default())
}

async fn cancel_listen(cx: Cx) -> Verdict {
    let mut talk = Talk::open(&cx)?;
    let request = listen(&cx, cx.request("").id().clone(), &asked(&cx)?);
    talk.send(&request).await?;
    let is_tagged = |came: &Came| came.subscription() == request.id();
    talk.until("an acknowledgement", is_tagged).await?;
    talk.leave(request.id()).await?;
    // What was under way may still come, until a later request is answered.
    let mut late = talk.ask(&cx.request("server/discover")).await?;
    late.retain(|came| came.answers(request.id()));
    if cx.tool("test_trigger_tool_change").is_ok() {
        late.extend(talk.ask(&cx.call("test_trigger_tool_change", json!({}))).await?);
    }
    late.extend(talk.settled().await?);
    // One text has a result at the end of every subscription, another none for what was cancelled.
    let (results, others) = late
        .into_iter()
        .filter(|came| is_tagged(came) || came.answers(request.id()))
        .partition::<Vec<_>, _>(|came| came.answers(request.id()));
    cx.warnings.unless(results.is_empty(), "no result of what was cancelled", "a result");
    let seen = others.first().map(|came| shown(&came.message)).unwrap_or_default();
    expect(others.is_empty(), "nothing of a subscription that was cancelled", seen)
}

async fn many(cx: Cx) -> Verdict {
    let begin = || match slow(&cx) {
        Ok(call) => Ok(call),
        Err(_) => Ok(listen(&cx, cx.request("").id().clone(), &asked(&cx)?)),
    };
    let mut talk = Talk::open(&cx)?;
    for _ in 0..MANY {
        let request = begin()?;
        talk.send(&request).await?;
        talk.leave(request.id()).await?;
        // What is not read would fill the pipe.
        talk.ask(&cx.request("server/discover")).await?;
    }
    if let Ok(filter) = asked(&cx) {
        let last = listen(&cx, "last", &filter);
        talk.send(&last).await?;
        let of_last = |came: &Came| came.subscription() == "last" || came.answers(last.id());
        let came = talk.until("an acknowledgement", of_last).await?;
        let is_granted = came.last().is_some_and(|came| came.message.get("error").is_none());
        expect(is_granted, "a subscription after many that were cancelled", "an error")?;
    }
    Ok(())
}

/// Requests that are begun and cancelled at once.
const MANY: usize = 500;

async fn race(cx: Cx) -> Verdict {
    let tool = cx.simple_tool()?;
    let mut talk = Talk::open(&cx)?;
    let mut came = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..100 {
        let call = cx.call(&tool, json!({}));
        let both = format!("{}\n{}\n", call.text(), cancelled(call.id()).text());
        talk.process()?.send(both.as_bytes()).await?;
        ids.push(call.id().clone());
        came.extend(talk.ask(&cx.request("server/discover")).await?);
    }
    let call = cx.call(&tool, json!({}));
    came.extend(talk.ask(&call).await?);
    ids.push(call.id().clone());
    talk.leave(call.id()).await?;
    talk.leave(call.id()).await?;
    came.extend(talk.ask(&cx.request("server/discover")).await?);
    came.extend(talk.settled().await?);
    for id in ids {
        let answers = came.iter().filter(|came| came.answers(&id)).count();
        expect(answers < 2, format!("one response under the id {id}"), format!("{answers}"))?;
    }
    let stray = came.iter().find(|came| came.message.get("id").is_none());
    let stray = stray.filter(|came| came.message.get("error").is_some());
    let seen = stray.map(|came| shown(&came.message)).unwrap_or_default();
    expect(stray.is_none(), "no answer to a cancellation", seen)
}

/// Nothing is written for these notifications, and the server goes on.
async fn is_passed_over(cx: &Cx, talk: &mut Talk, all: &[Message]) -> Verdict {
    for notification in all {
        talk.send(notification).await?;
        let mut came = talk.ask(&cx.request("server/discover")).await?;
        let is_result = came.pop().is_some_and(|came| came.message.get("result").is_some());
        expect(is_result, "a discover afterwards is served", "an error")?;
        let seen = came.first().map(|came| shown(&came.message)).unwrap_or_default();
        let expected = format!("nothing in answer to {}", shown(&Value::from(notification.text())));
        expect(came.is_empty(), expected, seen)?;
    }
    let late = talk.settled().await?;
    let seen = late.first().map(|came| shown(&came.message)).unwrap_or_default();
    expect(late.is_empty(), "nothing in answer to a notification", seen)
}

async fn unknown(cx: Cx) -> Verdict {
    let reason = "r".repeat(64 * 1024);
    let with = |id: Value| {
        let params = json!({ "requestId": id, "reason": reason });
        cancelled(&Value::Null).with("params", params)
    };
    let mut talk = Talk::open(&cx)?;
    is_passed_over(&cx, &mut talk, &[with(json!(424_242)), with(json!("none"))]).await
}

async fn malformed(cx: Cx) -> Verdict {
    let bent = |params: Value| cancelled(&Value::Null).with("params", params);
    let all = [
        cancelled(&Value::Null).without("params"),
        bent(json!({})),
        bent(json!({ "requestId": null })),
        bent(json!({ "requestId": {} })),
        bent(json!({ "requestId": 1.5 })),
        bent(json!({ "requestId": 424_242, "reason": 5 })),
        bent(json!([])),
    ];
    let mut talk = Talk::open(&cx)?;
    is_passed_over(&cx, &mut talk, &all).await?;
    if let Ok(call) = reporting(&cx) {
        talk.send(&call).await?;
        talk.leave(&json!(call.id().to_string())).await?;
        talk.response(call.id()).await.of("the string form of an id is another id")?;
    }
    Ok(())
}
