//! Tasks that need input.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::super::asking::{call, form, sample, visit, weather};
use super::super::trap::Trap;
use super::super::{Answer, Cx, Played, Seen};
use super::{DECLARED, completed, got_the_end, slow, task, tasking};
use crate::check::{Check, client_check};
use crate::shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-tasks-answers-input", Both, answers_input),
    client_check!("client-tasks-input-once", Both, input_once),
    client_check!("client-tasks-input-rules", Both, input_rules),
];

/// A form that asks for a name.
pub(super) fn name() -> Value {
    form(json!({ "name": { "type": "string" } }))
}

fn needs(inputs: Value) -> Value {
    task("task-1", "input_required", json!({ "inputRequests": inputs }))
}

fn working() -> Value {
    task("task-1", "working", json!({}))
}

/// A server whose task is what `state` says of the count of updates, and of polls since the last of them. It ends
/// after many polls in any case.
fn updated(
    state: impl Fn(usize, usize) -> Value + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    let counts = Arc::new(Mutex::new((0, 0)));
    let counted = Arc::clone(&counts);
    let part = tasking("task-1", move |seen| {
        let mut counts = counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (updates, polls) = *counts;
        counts.1 += 1;
        if seen.turn < POLLS { state(updates, polls) } else { completed("task-1") }
    });
    move |seen| {
        if seen.method() == "tasks/update" {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            *counts = (counts.0 + 1, 0);
        }
        part(seen)
    }
}

const POLLS: usize = 20;

/// The updates, which have to be of this task.
fn updates(played: &Played) -> Verdict<Vec<&Seen>> {
    let updates = played.of("tasks/update").collect::<Vec<_>>();
    for seen in &updates {
        let is_right = seen.param("taskId") == "task-1";
        expect(is_right, "tasks/update of the task", shown(&seen.message))?;
    }
    Ok(updates)
}

async fn answers_input(cx: Cx) -> Verdict {
    let part = updated(|updates, polls| match (updates, polls) {
        (0, 0) | (1, 0 | 1) => working(),
        (0, _) => needs(json!({ "name": name() })),
        _ => completed("task-1"),
    });
    let played = slow(&cx, part).await?;
    played.needs("/elicitation/form")?;
    let updates = updates(&played)?;
    let update = updates.first().ok_or_else(|| Stop::fail("tasks/update with the name", "none"))?;
    let answer = at(update.param("inputResponses"), "/name");
    shape::input(answer, "elicitation/create")
        .map_err(|wrong| Stop::fail(format!("a bare answer: {wrong}"), shown(&update.message)))?;
    let calls = played.of("tools/call").count();
    expect(calls == 1, "one tools/call, and no retry", calls.to_string())?;
    let later = played.of("tasks/get").filter(|seen| seen.number > update.number).count();
    expect(later == 3, "three polls after the update", later.to_string())?;
    got_the_end(&played, 0)
}

async fn input_once(cx: Cx) -> Verdict {
    let part = updated(|updates, polls| match (updates, polls) {
        (0, 0) => working(),
        (0, _) | (1, 0..=2) => needs(json!({ "name": name() })),
        (1, _) => needs(json!({ "name": name(), "more": name() })),
        _ => completed("task-1"),
    });
    let played = slow(&cx, part).await?;
    played.needs("/elicitation/form")?;
    for seen in updates(&played)? {
        let keys = seen.param("inputResponses").as_object().into_iter().flat_map(|all| all.keys());
        let are_open = keys.into_iter().all(|key| key == "name" || key == "more");
        expect(are_open, "answers to what is open", shown(&seen.message))?;
    }
    for key in ["name", "more"] {
        let answers = played.answers(key).count();
        expect(answers > 0, format!("an answer to {key}"), "none")?;
        cx.warnings.unless(answers == 1, format!("one answer to {key}"), answers.to_string());
    }
    got_the_end(&played, 0)
}

/// Has the client called for input of a task, with other things that it is told.
async fn asked(cx: &Cx, told: Value, inputs: Value) -> Verdict<Played> {
    let part = updated(move |updates, _| match updates {
        0 => needs(inputs.clone()),
        _ => completed("task-1"),
    });
    let mut context = told;
    context["steps"] = json!([call("slow")]);
    let played = cx.play_with(context, part).await?;
    played.needs(DECLARED)?;
    played.first("tasks/get")?;
    Ok(played)
}

async fn input_rules(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    let told = json!({ "answers": { "elicitation": { "action": "decline" } } });
    let page = json!({ "page": visit(&trap.url("/visit")) });
    let played = asked(&cx, told, page).await?;
    trap.is_untouched("the page that only the user may open").await?;
    let answer = played.answer("page");
    let is_declined = answer.is_none_or(|answer| *answer == json!({ "action": "decline" }));
    expect(is_declined, "decline, without content", answer.map(shown).unwrap_or_default())?;

    let wrong = json!({ "action": "accept", "content": { "name": 7 } });
    let told = json!({ "answers": { "elicitation": wrong } });
    let played = asked(&cx, told, json!({ "name": name() })).await?;
    let accepted = played.answers("name").find(|answer| at(answer, "/action") == "accept");
    let seen = accepted.map(shown).unwrap_or_default();
    cx.warnings.unless(accepted.is_none(), "no content that breaks the form's schema", seen);

    let extension = json!({ "io.modelcontextprotocol/tasks": {} });
    let told = json!({ "capabilities": { "sampling": {}, "extensions": extension } });
    let tools = json!({ "message": sample(json!({ "tools": [weather()] })) });
    let played = asked(&cx, told, tools).await?;
    let answer = played.answer("message").filter(|_| !played.declares("/sampling/tools"));
    let expected = "no message: sampling.tools is not declared, and there are tools";
    expect(answer.is_none(), expected, answer.map(shown).unwrap_or_default())
}
