//! What tasks come to, and cancelling them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SLOW, Task, is_ack, lacks};
use crate::server::Cx;
use crate::shape::has_shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) async fn working(cx: Cx) -> Verdict {
    let mut task = Task::slow(&cx, 2).await?;
    let now = task.get(&cx).await?;
    let status = at(&now, "/status");
    if matches!(status.as_str(), Some("completed" | "failed" | "cancelled")) {
        return Err(Stop::skip("the task has ended already"));
    }
    expect(*status == "working", "the status working", shown(&now))?;
    lacks(&now, &["result", "error", "inputRequests", "requestState"])?;
    let created = at(&task.created, "/createdAt");
    expect(at(&now, "/createdAt") == created, format!("createdAt {created}"), shown(&now))
}

pub(super) async fn completed(cx: Cx) -> Verdict {
    let mut task = Task::slow(&cx, 1).await?;
    let ended = task.ended(&cx).await?;
    expect(*at(&ended, "/status") == "completed", "the status completed", shown(&ended))?;
    lacks(&ended, &["error", "inputRequests", "requestState"])?;
    let result = as_result(&ended)?;
    let call = cx.call(SLOW, json!({ "seconds": 0, "label": "a" })).capabilities(json!({}));
    let plain = task.session.ask(&call).await?;
    if let Ok(plain) = plain.result() {
        // The text may say how long it took.
        let kinds = |result: &Value| {
            let blocks = at(result, "/content").as_array().into_iter().flatten();
            blocks.map(|block| at(block, "/type").to_string()).collect::<Vec<_>>()
        };
        let expected = format!("content of the types {:?}", kinds(plain));
        expect(kinds(&result) == kinds(plain), expected, shown(&result))?;
    }
    for _ in 0..2 {
        let again = task.get(&cx).await?;
        let is_same = at(&again, "/result") == at(&ended, "/result");
        expect(is_same, "the same result on every get", shown(&again))?;
    }
    Ok(())
}

pub(super) async fn tool_error(cx: Cx) -> Verdict {
    let mut task = Task::create(&cx, "failing_job", json!({})).await?;
    let ended = task.ended(&cx).await?;
    expect(*at(&ended, "/status") == "completed", "the status completed", shown(&ended))?;
    let result = as_result(&ended)?;
    expect(*at(&result, "/isError") == true, "a result with isError", shown(&ended))
}

/// The result of a task, which has the shape of that of a call. It need not say that it is complete.
fn as_result(task: &Value) -> Verdict<Value> {
    let mut result = at(task, "/result").clone();
    if let Some(members) = result.as_object_mut() {
        members.entry("resultType").or_insert_with(|| "complete".into());
    }
    has_shape(&result, "tools/call").map_err(|stop| stop.of(shown(task)))?;
    Ok(result)
}

pub(super) async fn failed(cx: Cx) -> Verdict {
    let mut task = Task::create(&cx, "protocol_error_job", json!({})).await?;
    let ended = task.ended(&cx).await?;
    expect(*at(&ended, "/status") == "failed", "the status failed", shown(&ended))?;
    has_shape(at(&ended, "/error"), "error").map_err(|stop| stop.of(shown(&ended)))?;
    lacks(&ended, &["result", "inputRequests"])?;
    let again = task.get(&cx).await?;
    let is_same = at(&again, "/error") == at(&ended, "/error");
    expect(is_same, "the same error on every get", shown(&again))?;
    // Who declares no tasks gets the error at once, if the server does without them.
    let call = cx.call("protocol_error_job", json!({})).capabilities(json!({}));
    let plain = task.session.ask(&call).await?;
    let code = plain.error().map(|error| at(error, "/code").clone()).unwrap_or_default();
    let is_kept =
        code.is_null() || code == crate::server::LACKING || code == *at(&ended, "/error/code");
    expect(is_kept, format!("the error {code} of the call without a task"), shown(&ended))
}

pub(super) async fn failed_message(cx: Cx) -> Verdict {
    let mut task = Task::create(&cx, "protocol_error_job", json!({})).await?;
    let ended = task.ended(&cx).await?;
    let message = at(&ended, "/statusMessage").as_str().unwrap_or_default();
    expect(!message.is_empty(), "a statusMessage", shown(&ended))
}

pub(super) async fn cancelled(cx: Cx) -> Verdict {
    let mut task = Task::slow(&cx, 60).await?;
    is_ack(&task.session.ask(&task.request(&cx, "tasks/cancel")).await?)?;
    let time = Duration::from_secs(10);
    let Ok(ended) = task.until(&cx, &["cancelled", "completed", "failed"], time).await else {
        return Err(Stop::skip("the task goes on, which it may"));
    };
    if *at(&ended, "/status") != "cancelled" {
        return Err(Stop::skip("the task came to another end, which it may"));
    }
    lacks(&ended, &["result", "error", "inputRequests"])
}

pub(super) async fn cancel_ack(cx: Cx) -> Verdict {
    let mut task = Task::slow(&cx, 60).await?;
    is_ack(&task.session.ask(&task.request(&cx, "tasks/cancel")).await?)?;
    let mut over = Task::slow(&cx, 1).await?;
    over.ended(&cx).await?;
    // What has ended may be forgotten.
    for (what, mut task) in [("twice", task), ("of what has ended", over)] {
        let reply = task.session.ask(&task.request(&cx, "tasks/cancel")).await?;
        let expected = format!("an acknowledgement of a cancellation {what}");
        cx.warnings.unless(is_ack(&reply).is_ok(), expected, reply.told());
        expect(reply.response().is_ok(), "an answer", reply.told())?;
    }
    Ok(())
}
