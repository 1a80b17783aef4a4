//! Calls that become tasks. Extension `io.modelcontextprotocol/tasks`.

mod input;

use std::time::Duration;

use serde_json::{Value, json};

use super::asking::{call, with};
use super::{Answer, Cx, Played, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::http::encoded;
use crate::wire::json::{at, shown};

pub(super) use input::CHECKS as INPUT_CHECKS;

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-tasks-either-result", Both, either_result),
    client_check!("client-tasks-unsupported-request", Both, unsupported_request),
    client_check!("client-tasks-poll-interval", Both, poll_interval),
    client_check!("client-tasks-polls-to-end", Both, polls_to_end),
    client_check!("client-tasks-cancel", Both, cancel),
    client_check!("client-tasks-routing-header", Http, routing_header),
];

/// The extension, as a path in the capabilities.
const DECLARED: &str = "/extensions/io.modelcontextprotocol~1tasks";

/// A task in this state, with what belongs to that.
fn task(id: &str, status: &str, more: Value) -> Value {
    let task = json!({
        "resultType": "complete", "taskId": id, "status": status, "ttlMs": 60_000, "pollIntervalMs": 30,
        "createdAt": "2026-07-28T10:00:00Z", "lastUpdatedAt": "2026-07-28T10:00:00Z",
    });
    with(Some(task), more)
}

fn completed(id: &str) -> Value {
    let content = json!([{ "type": "text", "text": "the end" }]);
    task(id, "completed", json!({ "result": { "content": content, "isError": false } }))
}

/// A server whose tool `slow` becomes the task `id` where the client takes tasks, and whose states are given by `get`;
/// what else is asked of a task is acknowledged.
fn tasking(
    id: &'static str,
    get: impl Fn(&Seen) -> Value + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    move |seen| match (seen.method(), seen.name()) {
        ("server/discover", _) => {
            let mut result = result_of(seen).unwrap_or_default();
            result["capabilities"]["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
            Answer::result(seen, result)
        }
        ("tools/call", "slow") if seen.capability(DECLARED).is_object() => {
            Answer::result(seen, task(id, "working", json!({ "resultType": "task" })))
        }
        ("tasks/get", _) => Answer::result(seen, get(seen)),
        ("tasks/update" | "tasks/cancel", _) => Answer::result(seen, with(None, json!({}))),
        _ => good(seen),
    }
}

/// Has the client call `slow` and then stay for a while.
async fn slow(cx: &Cx, part: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Verdict<Played> {
    let steps = json!([call("slow"), { "do": "sleep", "ms": 200 }]);
    let played = cx.play(steps, part).await?;
    played.needs(DECLARED)?;
    Ok(played)
}

/// The caller got what the task came to.
fn got_the_end(played: &Played, step: usize) -> Verdict {
    let result = played.result(step)?;
    let text = at(result, "/content/0/text");
    expect(text == "the end", "the result of the task", shown(result))
}

async fn either_result(cx: Cx) -> Verdict {
    let part = tasking("task-1", |seen| match seen.turn {
        0 | 1 => task("task-1", "working", json!({})),
        _ => completed("task-1"),
    });
    let played = cx.play(json!([call("slow"), call("echo")]), part).await?;
    played.needs(DECLARED)?;
    got_the_end(&played, 0)?;
    played.result(1)?;
    Ok(())
}

async fn unsupported_request(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "server/discover" => good(seen),
        _ => Answer::result(seen, task("task-1", "working", json!({ "resultType": "task" }))),
    };
    let completion = json!({
        "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "who", "value": "a" },
    });
    let steps = json!([
        { "do": "tools/list" }, { "do": "prompts/list" },
        { "do": "prompts/get", "params": { "name": "greet" } },
        { "do": "resources/read", "params": { "uri": "test://one" } },
        { "do": "completion/complete", "params": completion },
    ]);
    let count = steps.as_array().map_or(0, Vec::len);
    let played = cx.play(steps, part).await?;
    for step in 0..count {
        played.error(step)?;
    }
    let asked = played.requests.iter().find(|seen| seen.method().starts_with("tasks/"));
    expect(asked.is_none(), "no tasks/ request", asked.map(Seen::method).unwrap_or_default())
}

/// A poll may be held up on its way, so that the next seems to come early; but not every time.
async fn poll_interval(cx: Cx) -> Verdict {
    let mut judged = Ok(());
    for first in [150, 500, 2_000] {
        judged = polls_at(&cx, first).await;
        if !matches!(judged, Err(Stop::Fail { .. })) {
            break;
        }
    }
    judged
}

/// The client leaves this time between polls, in milliseconds, and twice that when it is told to.
async fn polls_at(cx: &Cx, first: u64) -> Verdict {
    let part = tasking("task-1", move |seen| match seen.turn {
        0 | 1 => task("task-1", "working", json!({ "pollIntervalMs": first })),
        2 | 3 => task("task-1", "working", json!({ "pollIntervalMs": 2 * first })),
        _ => completed("task-1"),
    });
    let played = slow(cx, part).await?;
    played.first("tasks/get")?;
    let times = played.of("tasks/get").map(|seen| seen.at).collect::<Vec<_>>();
    let due = [first, first, 2 * first, 2 * first].map(Duration::from_millis);
    for (pair, due) in times.windows(2).zip(due) {
        let [one, next] = pair else { continue };
        let pause = *next - *one;
        // Less by what a request may take longer on its way than the one after it.
        let expected = format!("{due:?} between polls");
        expect(pause >= due.mul_f64(0.8), expected, format!("{pause:?}"))?;
    }
    Ok(())
}

async fn polls_to_end(cx: Cx) -> Verdict {
    let error = json!({ "error": { "code": -32603, "message": "it broke" } });
    let ends = [
        ("completed", completed("task-1")),
        ("failed", task("task-1", "failed", error)),
        ("cancelled", task("task-1", "cancelled", json!({}))),
    ];
    for (status, end) in ends {
        let part = tasking("task-1", move |seen| match seen.turn {
            0..=3 => task("task-1", "working", json!({})),
            _ => end.clone(),
        });
        let played = slow(&cx, part).await?;
        let polls = played.of("tasks/get").count();
        let expected = format!("5 polls, the last of which says {status}");
        expect(polls == 5, expected, polls.to_string())?;
        match status {
            "completed" => got_the_end(&played, 0)?,
            "failed" => {
                let told = played.error(0)?;
                expect(at(told, "/code") == -32603, "the error of the task", shown(told))?;
            }
            _ => drop(played.error(0)?),
        }
    }
    Ok(())
}

/// Has the client give up a task that never ends. It is one to the client once it asks for it; a client that takes tasks gets
/// more time where it did not come to that.
async fn cancelled(cx: &Cx, id: &'static str) -> Verdict<Played> {
    let mut played = Played::default();
    for ms in [150, 3_000, 20_000] {
        let part = tasking(id, move |_| task(id, "working", json!({})));
        let step = json!({ "do": "tools/call", "params": { "name": "slow" }, "cancel_ms": ms });
        played = cx.play(json!([step, { "do": "sleep", "ms": 200 }]), part).await?;
        let call = played.of("tools/call").next();
        let takes_tasks = call.map(|call| call.capability(DECLARED).is_object());
        if takes_tasks == Some(false) || played.of("tasks/get").next().is_some() {
            break;
        }
    }
    played.needs(DECLARED)?;
    Ok(played)
}

async fn cancel(cx: Cx) -> Verdict {
    let played = cancelled(&cx, "task-1").await?;
    // The answer of `tools/call` was the task: nothing of it is left that could be called off.
    let call = played.first("tools/call")?.id();
    let wrong = played.of("notifications/cancelled").find(|seen| {
        let id = seen.param("requestId");
        id == call || id == "task-1"
    });
    let seen = wrong.map(|seen| shown(&seen.message)).unwrap_or_default();
    expect(wrong.is_none(), "no notifications/cancelled for a task", seen)?;
    match played.of("tasks/cancel").next() {
        Some(seen) => expect(
            seen.param("taskId") == "task-1",
            "tasks/cancel of the task",
            shown(&seen.message),
        ),
        None => Err(Stop::skip("the client does not call tasks off")),
    }
}

async fn routing_header(cx: Cx) -> Verdict {
    for id in ["task-1", "t\u{e4}sk/\u{2603} 1"] {
        let update = tasking(id, move |seen| match seen.turn {
            0 => task(id, "input_required", json!({ "inputRequests": { "name": input::name() } })),
            _ => completed(id),
        });
        let all = [slow(&cx, update).await?, cancelled(&cx, id).await?];
        let requests = all.iter().flat_map(|played| &played.requests);
        let of_tasks = requests.filter(|seen| seen.method().starts_with("tasks/"));
        let of_tasks = of_tasks.collect::<Vec<_>>();
        expect(!of_tasks.is_empty(), "requests tasks/get", "none")?;
        for seen in of_tasks {
            expect(seen.param("taskId") == id, format!("taskId {id}"), shown(&seen.message))?;
            for (header, value) in [("Mcp-Method", seen.method()), ("Mcp-Name", &encoded(id))] {
                let sent = seen.header(header).unwrap_or("no such header");
                expect(sent == value, format!("{header}: {value} of {}", seen.method()), sent)?;
            }
        }
    }
    Ok(())
}
