//! Ids of tasks: those that are none, those that can be guessed, and those of others.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{NO_TASK, SLOW, Task, able, created, id_of, needed};
use crate::server::listening::{Listening, listen};
use crate::server::{Cx, INVALID};
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

pub(super) async fn cancel_unknown(cx: Cx) -> Verdict {
    unknown(&cx, "tasks/cancel").await
}

pub(super) async fn update_unknown(cx: Cx) -> Verdict {
    unknown(&cx, "tasks/update").await
}

async fn unknown(cx: &Cx, method: &str) -> Verdict {
    needed(cx)?;
    cx.ask(&about(cx, method, NO_TASK)).await?.has_code(INVALID).map(drop)
}

fn about(cx: &Cx, method: &str, id: impl Into<Value>) -> Message {
    let request = able(cx.request(method).param("taskId", id));
    match method {
        "tasks/update" => request.param("inputResponses", json!({})),
        _ => request,
    }
}

pub(super) async fn get_unknown(cx: Cx) -> Verdict {
    needed(&cx)?;
    let mut session = cx.session();
    let none = about(&cx, "tasks/get", NO_TASK).without_param("taskId");
    let bad = [
        about(&cx, "tasks/get", NO_TASK),
        about(&cx, "tasks/get", ""),
        about(&cx, "tasks/get", 5),
        none,
    ];
    for request in bad {
        let reply = session.orderly(&request).await?;
        let error = reply.has_code(INVALID)?;
        let message = at(error, "/message").as_str().unwrap_or_default();
        let says_more = !message.is_empty() && !message.eq_ignore_ascii_case("invalid params");
        cx.warnings.unless(says_more, "a message that says what is wrong", reply.told());
    }
    Ok(())
}

/// A guess by what a few ids look like; so it only warns.
pub(super) async fn ids(cx: Cx) -> Verdict {
    let (mut session, mut ids) = (cx.session(), Vec::new());
    for _ in 0..16 {
        let created =
            created(&cx, &mut session, SLOW, json!({ "seconds": 1, "label": "a" })).await?;
        ids.push(id_of(&created)?);
    }
    let told = format!("{:?}", ids.iter().take(3).collect::<Vec<_>>());
    let distinct = ids.iter().collect::<HashSet<_>>().len();
    expect(distinct == ids.len(), "an id of its own for each task", &*told)?;
    let is_long = ids.iter().all(|id| id.len() >= 16);
    cx.warnings.unless(is_long, "ids of at least 16 characters", &*told);
    let parts = varying(&ids);
    let is_random = parts.iter().all(|part| part.len() >= 12) && !is_counter(&parts);
    cx.warnings.unless(is_random, "ids that cannot be guessed from others", told);
    Ok(())
}

/// The ids without what they all begin and end with.
fn varying(ids: &[String]) -> Vec<String> {
    let bytes = ids.iter().map(|id| id.as_bytes()).collect::<Vec<_>>();
    let Some(first) = bytes.first() else { return Vec::new() };
    let all_have = |at: &dyn Fn(&[u8]) -> Option<u8>| {
        bytes.iter().all(|id| at(id).is_some() && at(id) == at(first))
    };
    let start = (0..).take_while(|n| all_have(&|id| id.get(*n).copied())).count();
    let from_end = |id: &[u8], n: usize| id.get(id.len().checked_sub(n + 1)?).copied();
    let end = (0..).take_while(|n| all_have(&|id| from_end(id, *n))).count();
    let parts = bytes.iter().map(|id| id.get(start..id.len() - end).unwrap_or_default());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// Whether each follows from the one before by a small step.
fn is_counter(parts: &[String]) -> bool {
    [10, 16, 36].into_iter().any(|radix| {
        let numbers = parts.iter().map(|part| i128::from_str_radix(part, radix).ok());
        let numbers = numbers.collect::<Option<Vec<_>>>().unwrap_or_default();
        let mut pairs = numbers.iter().zip(numbers.iter().skip(1));
        numbers.len() > 1 && pairs.all(|(one, next)| next.abs_diff(*one) < 1_000_000)
    })
}

pub(super) async fn other_user(cx: Cx) -> Verdict {
    let other = cx.as_other()?;
    let mut task = Task::slow(&cx, 60).await?;
    let before = task.get(&cx).await?;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let reply = other.ask(&about(&other, method, &*task.id)).await?;
        is_refused(&reply).map_err(|stop| stop.of(method))?;
    }
    let request = able(listen(&other, json!({ "taskIds": [&*task.id] })));
    if let Ok(listening) = Listening::open(&other, &request).await {
        let granted =
            at(&listening.granted, "/taskIds").as_array().is_some_and(|ids| !ids.is_empty());
        expect(!granted, "no task of another user granted", shown(&listening.granted))?;
    }
    let after = task.get(&cx).await?;
    let is_same = at(&after, "/status") == at(&before, "/status");
    expect(is_same, format!("the task as it was, {}", shown(&before)), shown(&after))
}

fn is_refused(reply: &Reply) -> Verdict {
    let is_barred = matches!(reply.status(), Some(401 | 403));
    let is_unknown = *at(reply.messages.last().unwrap_or(&Value::Null), "/error/code") == INVALID;
    expect(is_barred || is_unknown, "error -32602, or status 401 or 403", reply.told())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_seen() {
        let ids = |all: &[&str]| all.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(varying(&ids(&["task-0017-x", "task-0018-x"])), ["7", "8"]);
        assert!(is_counter(&ids(&["17", "18", "19"])));
        assert!(!is_counter(&ids(&["0f3b8a7c22d1", "b81e44a0c9f3"])));
    }
}
