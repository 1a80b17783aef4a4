//! Tasks that need input.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{PATIENCE, Task, able, is_ack, lacks};
use crate::server::rounds::Round;
use crate::server::{Cx, asks};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

const CONFIRMS: &str = "confirm_delete";

pub(super) async fn get(cx: Cx) -> Verdict {
    let mut task = confirming(&cx).await?;
    let waiting = waiting(&cx, &mut task).await?;
    lacks(&waiting, &["result", "error", "requestState"])?;
    let again = task.get(&cx).await?;
    let is_same = at(&again, "/inputRequests") == at(&waiting, "/inputRequests");
    expect(is_same, "the same questions as long as they are open", shown(&again))
}

pub(super) async fn update_ack(cx: Cx) -> Verdict {
    let mut task = confirming(&cx).await?;
    let keys = open(&waiting(&cx, &mut task).await?);
    is_ack(&task.update(&cx, answers(&keys)).await?)?;
    let ended = task.until(&cx, &ENDS, PATIENCE).await?;
    expect(*at(&ended, "/status") == "completed", "the status completed", shown(&ended))
}

pub(super) async fn other_keys(cx: Cx) -> Verdict {
    let mut task = confirming(&cx).await?;
    let before = waiting(&cx, &mut task).await?;
    let stranger = json!({ "never-issued": { "action": "accept", "content": {} } });
    is_ack(&task.update(&cx, stranger.clone()).await?)?;
    let after = task.get(&cx).await?;
    let is_same = open(&after) == open(&before);
    expect(is_same, "the same questions after an answer to none of them", shown(&after))?;
    let mut both = answers(&open(&before));
    if let (Some(both), Some(stranger)) = (both.as_object_mut(), stranger.as_object()) {
        both.extend(stranger.clone());
    }
    is_ack(&task.update(&cx, both.clone()).await?)?;
    let ended = task.until(&cx, &ENDS, PATIENCE).await?;
    expect(*at(&ended, "/status") == "completed", "the status completed", shown(&ended))?;
    is_ack(&task.update(&cx, both).await?)?;
    let later = task.get(&cx).await?;
    let is_same = at(&later, "/result") == at(&ended, "/result");
    expect(is_same, "the task as it ended", shown(&later))
}

pub(super) async fn partial(cx: Cx) -> Verdict {
    let mut task = Task::create(&cx, "multi_input", json!({})).await?;
    let keys = open(&waiting(&cx, &mut task).await?);
    expect(keys.len() == 2, "both questions, since both are open", format!("{keys:?}"))?;
    let (first, rest) = keys.split_at(1);
    let reply = task.update(&cx, answers(first)).await?;
    let takes_none = || Stop::skip("the server takes no part of the answers, which it need not");
    if reply.error().is_ok() {
        return Err(takes_none());
    }
    is_ack(&reply)?;
    // The answer may take its time to show.
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now = task.until(&cx, &["input_required"], PATIENCE).await?;
        let keys = open(&now);
        if keys == rest {
            break;
        }
        let is_old = keys.len() == 2;
        expect(is_old, format!("only {rest:?}"), shown(&now))?;
        if tokio::time::Instant::now() > end {
            return Err(takes_none());
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    is_ack(&task.update(&cx, answers(rest)).await?)?;
    let ended = task.until(&cx, &ENDS, PATIENCE).await?;
    expect(*at(&ended, "/status") == "completed", "the status completed", shown(&ended))
}

pub(super) async fn keys(cx: Cx) -> Verdict {
    let mut seen = false;
    for (tool, arguments) in [("multi_input", json!({})), (CONFIRMS, json!({ "filename": "a" }))] {
        let mut task = match Task::create(&cx, tool, arguments).await {
            Err(Stop::Skip(_)) => continue,
            task => task?,
        };
        seen = true;
        keys_of(&cx, &mut task).await.map_err(|stop| stop.of(tool))?;
    }
    if seen { Ok(()) } else { Err(Stop::skip("no task asks for input")) }
}

/// Answers one question after the other, to the end of the task.
async fn keys_of(cx: &Cx, task: &mut Task) -> Verdict {
    let (mut meanings, mut answered, mut gone) = (HashMap::new(), HashSet::new(), HashSet::new());
    for _ in 0..20 {
        let now = task.until(cx, &["input_required", "completed", "failed"], PATIENCE).await?;
        let keys = open(&now);
        for key in &keys {
            let question = at(&now, "/inputRequests").get(key).cloned().unwrap_or_default();
            let meant = meanings.entry(key.clone()).or_insert_with(|| question.clone());
            expect(*meant == question, format!("{key} for one question"), shown(&question))?;
            expect(!gone.contains(key), format!("{key} once"), shown(&now))?;
        }
        gone.extend(answered.iter().filter(|key| !keys.contains(key)).cloned());
        if *at(&now, "/status") != "input_required" {
            return Ok(());
        }
        match keys.iter().find(|key| !answered.contains(*key)) {
            Some(key) => {
                is_ack(&task.update(cx, answers(std::slice::from_ref(key))).await?)?;
                answered.insert(key.clone());
            }
            None => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
    Ok(())
}

pub(super) async fn first(cx: Cx) -> Verdict {
    let tool = "test_tool_with_task";
    super::needed(&cx)?;
    cx.tool(tool)?;
    let (mut session, request) = (cx.session(), able(cx.call(tool, json!({}))));
    let reply = session.ask(&request).await?;
    let result = asks(&reply)?.clone();
    lacks(&result, &["taskId"])?;
    let mut round = Round { session, request, result };
    let good = json!({ "action": "accept", "content": { "name": "Alice" } });
    let reply = round.answer(&cx, round.all(&good)).await?;
    let created = reply.result()?.clone();
    expect(*at(&created, "/resultType") == "task", "a task after the answer", reply.told())?;
    lacks(&created, &["requestState", "inputRequests"])?;
    let mut task = Task { session: round.session, id: super::id_of(&created)?, created };
    let ended = task.until(&cx, &ENDS, PATIENCE).await?;
    let text = at(&ended, "/result/content/0/text").as_str().unwrap_or_default();
    expect(text.contains("Alice"), "a result that has the name Alice", shown(&ended))
}

async fn confirming(cx: &Cx) -> Verdict<Task> {
    Task::create(cx, CONFIRMS, json!({ "filename": "a" })).await
}

async fn waiting(cx: &Cx, task: &mut Task) -> Verdict<Value> {
    let now = task.until(cx, &["input_required"], PATIENCE).await?;
    expect(!open(&now).is_empty(), "inputRequests", shown(&now))?;
    Ok(now)
}

/// The keys of open questions.
fn open(task: &Value) -> Vec<String> {
    let requests = at(task, "/inputRequests").as_object();
    requests.map(|requests| requests.keys().cloned().collect()).unwrap_or_default()
}

/// Forms filled in with whatever the tools look for.
fn answers(keys: &[String]) -> Value {
    let content = json!({ "name": "Alice", "confirm": true, "confirmed": true, "ok": true });
    let answer = json!({ "action": "accept", "content": content });
    let answers = keys.iter().map(|key| (key.clone(), answer.clone()));
    Value::Object(answers.collect::<Map<_, _>>())
}

const ENDS: [&str; 3] = ["completed", "failed", "cancelled"];
