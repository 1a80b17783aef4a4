//! Clients that do not declare the extension.

use serde_json::{Value, json};

use super::{NO_TASK, SLOW, Task, created, lacks_extension, needed};
use crate::server::listening::listen;
use crate::server::{Cx, LACKING};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::at;

pub(super) async fn tools(cx: Cx) -> Verdict {
    let mut session = cx.session();
    // What was declared before on the same connection does not count.
    created(&cx, &mut session, SLOW, json!({ "seconds": 2, "label": "a" })).await?;
    // Long enough to be worth a task.
    let call = || cx.call(SLOW, json!({ "seconds": 1, "label": "x" })).capabilities(json!({}));
    let old = json!({ "tasks": { "requests": { "tools": { "call": {} } } } });
    let calls = [
        call(),
        call().capabilities(old),
        call().param("task", json!({ "ttl": 60_000, "pollInterval": 100 })),
    ];
    for call in calls {
        let reply = session.ask(&call).await?;
        let response = reply.response()?;
        let is_plain = *at(response, "/result/resultType") == "complete"
            || *at(response, "/error/code") == LACKING;
        expect(is_plain, "a complete result or error -32021, no task", reply.told())?;
    }
    Ok(())
}

pub(super) async fn required(cx: Cx) -> Verdict {
    cx.tool("failing_job")?;
    let reply = cx.ask(&cx.call("failing_job", json!({})).capabilities(json!({}))).await?;
    if reply.result().is_ok_and(|result| *at(result, "/resultType") == "complete") {
        return Err(Stop::skip("failing_job needs no task"));
    }
    lacks_extension(&reply)
}

pub(super) async fn methods(cx: Cx) -> Verdict {
    needed(&cx)?;
    let mut live = Task::slow(&cx, 2).await.ok();
    let id = live.as_ref().map(|task| task.id.clone());
    for id in id.iter().map(|id| &**id).chain([NO_TASK]) {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let request = cx.request(method).param("taskId", id).capabilities(json!({}));
            let request = match method {
                "tasks/update" => request.param("inputResponses", json!({})),
                _ => request,
            };
            let reply = match &mut live {
                Some(task) => task.session.ask(&request).await?,
                None => cx.ask(&request).await?,
            };
            lacks_extension(&reply).map_err(|stop| stop.of(method))?;
        }
    }
    Ok(())
}

pub(super) async fn listening(cx: Cx) -> Verdict {
    needed(&cx)?;
    let task = Task::slow(&cx, 2).await;
    let id = task.as_ref().map_or(NO_TASK, |task| &*task.id);
    let request = listen(&cx, json!({ "taskIds": [id] })).capabilities(json!({}));
    let mut open = cx.open(&request).await?;
    if open.head.as_ref().is_some_and(|head| head.media_type() != "text/event-stream") {
        return lacks_extension(&open.finish().await?);
    }
    let first = open.expect_next("error -32021").await?;
    let needed = first.pointer("/error/data/requiredCapabilities/extensions");
    let is_right = *at(&first, "/error/code") == LACKING && needed.is_some_and(Value::is_object);
    expect(is_right, "error -32021 with the extension, no stream", first.to_string())
}
