//! What creates a task.

use serde_json::json;

use super::{SLOW, Task, created, id_of, lacks, needed};
use crate::server::{Cx, schema};
use crate::shape::has_shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) async fn shape(cx: Cx) -> Verdict {
    let created = Task::slow(&cx, 2).await?.created;
    has_shape(&created, "created-task")?;
    let others = ["task", "result", "error", "inputRequests", "requestState", "content"];
    lacks(&created, &others)
}

/// Runs last: it looks at every result so far.
pub(super) async fn result_types(cx: Cx) -> Verdict {
    schema::tour(&cx).await?;
    let task = Task::slow(&cx, 2).await;
    let mut seen = task.is_ok();
    for noted in cx.record.all() {
        if at(&noted.message, "/result/resultType") != "task" || noted.method.is_empty() {
            continue;
        }
        seen = true;
        let is_right = noted.method == "tools/call";
        expect(is_right, format!("no task for {}", noted.method), shown(&noted.message))?;
    }
    if seen { Ok(()) } else { Err(Stop::skip("there were no tasks")) }
}

pub(super) async fn immediate_get(cx: Cx) -> Verdict {
    needed(&cx)?;
    let mut session = cx.session();
    for turn in 0..8 {
        let created =
            created(&cx, &mut session, SLOW, json!({ "seconds": 2, "label": "a" })).await?;
        let mut task = Task { session, id: id_of(&created)?, created };
        if turn % 2 == 1 && cx.is_http() {
            task.session = cx.session();
        }
        task.get(&cx).await?;
        session = task.session;
    }
    Ok(())
}
