//! Notifications about tasks.

use serde_json::{Value, json};

use super::{SLOW, able, id_of, needed};
use crate::server::Cx;
use crate::server::listening::{Listening, listen, tag};
use crate::shape::has_shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_LOG_LEVEL;
use crate::wire::{Below, Message};

/// A notification has the whole task, as `tasks/get` would, and the stream has nothing else of it.
pub(super) async fn whole(cx: Cx) -> Verdict {
    needed(&cx)?;
    cx.tool(SLOW)?;
    let call = able(cx.call(SLOW, json!({ "seconds": 2, "label": "a" })));
    let call = call.meta("progressToken", "progress-7f3a").meta(META_LOG_LEVEL, "debug");
    let (id, mut listening, request) = listening_to(&cx, &call).await?;
    let granted = at(&listening.granted, "/taskIds").as_array().cloned().unwrap_or_default();
    if granted.is_empty() {
        return Err(Stop::skip("no notifications about tasks are granted"));
    }
    let is_asked = granted.iter().all(|granted| *granted == *id);
    expect(is_asked, format!("only {id} granted"), shown(&listening.granted))?;
    loop {
        let message = listening.open.expect_next("the end of the task").await?;
        if at(&message, "/method").is_null() {
            continue;
        }
        let method = at(&message, "/method").as_str().unwrap_or_default();
        let is_quiet = !matches!(method, "notifications/progress" | "notifications/message");
        expect(is_quiet, "no progress and no log messages of a task", shown(&message))?;
        if method != "notifications/tasks" {
            continue;
        }
        let task = at(&message, "/params");
        has_shape(task, "notifications/tasks").map_err(|stop| stop.of(shown(task)))?;
        expect(tag(&message) == request.id(), "the id of the subscription", shown(&message))?;
        expect(*at(task, "/taskId") == *id, format!("the task {id}"), shown(&message))?;
        let status = at(task, "/status").as_str().unwrap_or_default();
        let needed = match status {
            "completed" => "result",
            "failed" => "error",
            "input_required" => "inputRequests",
            _ => "status",
        };
        expect(task.get(needed).is_some(), format!("{needed} in it"), shown(&message))?;
        if matches!(status, "completed" | "failed" | "cancelled") {
            return is_as_got(&cx, &mut listening, task).await;
        }
    }
}

/// Creates a task, and listens to it on another stream, or on the same one over lines.
async fn listening_to(cx: &Cx, call: &Message) -> Verdict<(String, Listening, Message)> {
    let mut open = cx.open(call).await?;
    let reply = open.read_out().await?;
    let result = reply.result()?;
    if *at(result, "/resultType") != "task" {
        return Err(Stop::skip(format!("{SLOW} creates no task")));
    }
    let id = id_of(result)?;
    let request = able(listen(cx, json!({ "taskIds": [&*id] })));
    let listening = match open.into_below() {
        Some(Below::Process(process)) => Listening::on(cx, *process, &request).await?,
        _ => Listening::open(cx, &request).await?,
    };
    Ok((id, listening, request))
}

/// What was said of an ended task is what is said of it still.
async fn is_as_got(cx: &Cx, listening: &mut Listening, task: &Value) -> Verdict {
    let get = able(cx.request("tasks/get").param("taskId", at(task, "/taskId").clone()));
    let got = match listening.open.process() {
        Some(process) => {
            process.send_line(&get.text()).await?;
            listening.until("a result", |message| at(message, "/id") == get.id()).await?
        }
        None => cx.ask(&get).await?.response()?.clone(),
    };
    for member in ["status", "result", "error", "createdAt"] {
        let (said, is) = (task.get(member), at(&got, "/result").get(member));
        expect(said == is, format!("{member} as tasks/get has it"), shown(task))?;
    }
    Ok(())
}
