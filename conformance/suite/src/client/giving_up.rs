//! Calls that are given up, by either side.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Part;
use super::asking::call;
use super::script::{Tried, after, notification, right, try_steps};
use super::{Answer, Cx, Played, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-timeout-gives-up", Both, gives_up),
    client_check!("client-http-timeout-closes", Http, closes),
    client_check!("client-stdio-timeout-cancels", Stdio, cancels),
    client_check!("client-timeout-despite-progress", Both, despite_progress),
    client_check!("client-cancel-references", Both, references),
    client_check!("client-stdio-late-response", Stdio, late_response),
    client_check!("client-cancelled-unknown", Both, cancelled_unknown),
];

/// What a client is told to wait, in milliseconds: first the first, and more where that was over before it had sent what it
/// was to wait for, as may be on a machine that has much else to do.
const TIMEOUTS: [u64; 3] = [300, 3_000, 20_000];
/// How much later it may have noticed.
const LATE: Duration = Duration::from_secs(20);

/// Tools that never answer: one says nothing, the other opens a stream.
const NEVER: [&str; 2] = ["silence", "an open stream"];

/// What a call of one of these gets.
fn no_answer(seen: &Seen) -> Option<Answer> {
    match seen.case() {
        "silence" => Some(Answer::silence()),
        "an open stream" => Some(Answer::stream([Part::Hold])),
        _ => None,
    }
}

/// Has the client call tools, each of which it gives up after a while; what came of it, and the milliseconds that it had.
async fn given_up<P: Fn(&Seen) -> Answer + Send + Sync + 'static>(
    cx: &Cx,
    cases: &[&str],
    step: impl Fn(&str, u64) -> Value,
    part: impl Fn() -> P,
) -> Verdict<(Tried, u64)> {
    let [first, more @ ..] = TIMEOUTS;
    let mut had = first;
    let mut tried = try_steps(cx, cases, |tool| step(tool, first), part()).await?;
    for ms in more {
        if cases.iter().all(|case| tried.requests(case).next().is_some()) {
            break;
        }
        had = ms;
        tried = try_steps(cx, cases, |tool| step(tool, ms), part()).await?;
    }
    tried.played.first("tools/call")?;
    Ok((tried, had))
}

async fn never(cx: &Cx) -> Verdict<(Tried, u64)> {
    let part = || |seen: &Seen| no_answer(seen).unwrap_or_else(|| good(seen));
    given_up(cx, &NEVER, impatient, part).await
}

/// A server with these tools that over HTTP answers what is asked behind a call of one once the client has left that call,
/// for which the client needs no answer, or when the check's patience is over.
pub(super) fn waits_to_be_left() -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    let held = Mutex::new(None);
    move |seen| {
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = no_answer(seen) {
            *held = Some(seen.number);
            return answer;
        }
        if seen.head.is_none() || seen.id().is_null() {
            return good(seen);
        }
        let left = held.take().map(Part::Left);
        Answer::stream(left.into_iter().chain([Part::Message(right(seen))]))
    }
}

fn impatient(tool: &str, ms: u64) -> Value {
    let mut step = call(tool);
    step["timeout_ms"] = ms.into();
    step
}

/// The call of a case, and the one behind it.
fn pair<'t>(played: &'t Played, case: &str) -> Verdict<(&'t Seen, &'t Seen)> {
    let mut calls = played.of("tools/call").skip_while(|seen| seen.case() != case);
    let first = calls.next().ok_or_else(|| Stop::fail(format!("a call of {case}"), "none"))?;
    let next = calls.find(|seen| seen.case() == "fine");
    Ok((first, next.ok_or_else(|| Stop::fail(format!("a call after {case}"), "none"))?))
}

async fn gives_up(cx: Cx) -> Verdict {
    let (tried, ms) = never(&cx).await?;
    for case in NEVER {
        tried.error(case)?;
        let (first, next) = pair(&tried.played, case)?;
        let took = next.at - first.at;
        let is_soon = took <= Duration::from_millis(ms) + LATE;
        expect(is_soon, format!("an end after {ms} ms, with {case}"), format!("{took:?}"))?;
    }
    tried.goes_on()
}

async fn closes(cx: Cx) -> Verdict {
    let (tried, _) = given_up(&cx, &NEVER, impatient, waits_to_be_left).await?;
    let played = &tried.played;
    for case in NEVER {
        let (first, _) = pair(played, case)?;
        let is_left = played.left.contains(&first.number);
        expect(is_left, format!("its stream closed, with {case}"), "it stayed open")?;
    }
    let posted = played.of("notifications/cancelled").next().map(|seen| shown(&seen.message));
    let expected = "a stream closed, and no notifications/cancelled over HTTP";
    cx.warnings.unless(posted.is_none(), expected, posted.unwrap_or_default());
    tried.goes_on()
}

async fn cancels(cx: Cx) -> Verdict {
    let (tried, _) = never(&cx).await?;
    for case in NEVER {
        tried.error(case)?;
        let (first, next) = pair(&tried.played, case)?;
        let told = cancellations(&tried.played)
            .filter(|seen| seen.param("requestId") == first.id())
            .map(|seen| seen.number)
            .collect::<Vec<_>>();
        // Nothing orders it against other requests.
        let is_early = told.iter().all(|told| *told < next.number);
        cx.warnings.unless(
            is_early,
            "notifications/cancelled before the next call",
            "it came later",
        );
        let is_right = matches!(*told, [told] if first.number < told);
        let expected = format!("one notifications/cancelled for {}", first.id());
        expect(is_right, expected, format!("{} of them", told.len()))?;
    }
    tried.goes_on()
}

fn cancellations(played: &Played) -> impl Iterator<Item = &Seen> {
    played.of("notifications/cancelled")
}

async fn despite_progress(cx: Cx) -> Verdict {
    const MORE: u64 = 700;
    let step = |tool: &str, ms: u64| {
        let mut step = impatient(tool, ms);
        step["max_timeout_ms"] = (ms + MORE).into();
        step["progress"] = true.into();
        step
    };
    let part = || {
        |seen: &Seen| match seen.case() {
            "busy" => busy(seen),
            _ => good(seen),
        }
    };
    let (tried, ms) = given_up(&cx, &["busy"], step, part).await?;
    tried.error("busy")?;
    let (first, next) = pair(&tried.played, "busy")?;
    let (took, most) = (next.at - first.at, Duration::from_millis(ms + MORE));
    let expected = format!("an end after {most:?}, whatever progress there is");
    expect(took <= most + LATE, expected, format!("{took:?}"))?;
    tried.goes_on()
}

/// Progress without end.
fn busy(seen: &Seen) -> Answer {
    let progress = |n: i32| {
        let params = json!({ "progressToken": seen.meta("progressToken"), "progress": n });
        Part::Message(notification("notifications/progress", params))
    };
    let pause = Part::Pause(Duration::from_millis(50));
    Answer::stream((0..1_000).flat_map(|n| [progress(n), pause.clone()]))
}

async fn references(cx: Cx) -> Verdict {
    let mut played = Played::default();
    for ms in TIMEOUTS {
        played = some_given_up(&cx, ms).await?;
        if played.of("tools/call").filter(|seen| seen.case() == "silence").count() >= 2 {
            break;
        }
    }
    played.first("tools/call")?;
    for told in cancellations(&played) {
        let named = told.param("requestId");
        let mut earlier = played.requests.iter().take_while(|seen| seen.number < told.number);
        let request = earlier.find(|seen| seen.message.get("id") == Some(named));
        let expected = "the id of a request sent before";
        let request = request.ok_or_else(|| Stop::fail(expected, shown(&told.message)))?;
        let is_open = request.case() == "silence" || request.method() == "subscriptions/listen";
        expect(is_open, "nothing cancelled that was answered", shown(&told.message))?;
    }
    if !cx.is_http() && cancellations(&played).next().is_none() {
        return Err(Stop::skip("the client cancels nothing"));
    }
    Ok(())
}

/// Has the client cancel a call and have another time out, between some that come to their end.
async fn some_given_up(cx: &Cx, ms: u64) -> Verdict<Played> {
    let mut cancelled = call("silence");
    cancelled["cancel_ms"] = (ms / 6).into();
    let mut answered = call("echo");
    answered["timeout_ms"] = 60_000.into();
    let listen = json!({
        "do": "subscriptions/listen", "params": { "notifications": { "toolsListChanged": true } },
        "ms": 50,
    });
    let steps = json!([answered, cancelled, impatient("silence", ms), listen, call("echo")]);
    cx.play(steps, |seen| no_answer(seen).unwrap_or_else(|| good(seen))).await
}

async fn late_response(cx: Cx) -> Verdict {
    let (tried, _) = given_up(&cx, &["late"], impatient, late).await?;
    if cancellations(&tried.played).next().is_none() {
        return Err(Stop::skip("the client cancels nothing"));
    }
    tried.error("late")?;
    tried.goes_on()?;
    tried.asks_once()
}

/// A server that answers a call once it was cancelled.
fn late() -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    let last = Mutex::new(None::<Seen>);
    move |seen| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.method() {
            "notifications/cancelled" => match last.take() {
                Some(late) => {
                    let params =
                        json!({ "progressToken": late.meta("progressToken"), "progress": 1 });
                    after([notification("notifications/progress", params)], &late)
                }
                None => good(seen),
            },
            _ if seen.case() == "late" => {
                *last = Some(seen.clone());
                Answer::silence()
            }
            _ => good(seen),
        }
    }
}

async fn cancelled_unknown(cx: Cx) -> Verdict {
    let earlier = Mutex::new(Vec::<Value>::new());
    let part = move |seen: &Seen| {
        let mut earlier = earlier.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |id: &Value| notification("notifications/cancelled", json!({ "requestId": id }));
        let answer = match seen.method() {
            "tools/call" => {
                let malformed = [
                    notification("notifications/cancelled", Value::Null),
                    of(&json!({})),
                    of(&Value::Null),
                    of(&json!(424_242)),
                    of(&json!("never-used")),
                ];
                after(malformed.into_iter().chain(earlier.iter().map(of)), seen)
            }
            _ => good(seen),
        };
        earlier.push(seen.id().clone());
        answer
    };
    let listen = json!({
        "do": "subscriptions/listen", "params": { "notifications": { "toolsListChanged": true } },
        "ms": 50,
    });
    let steps = json!([listen, { "do": "tools/list" }, call("first"), call("second")]);
    let played = cx.play(steps, part).await?;
    played.result(2)?;
    played.result(3)?;
    for seen in &played.requests {
        expect(!seen.method().is_empty(), "nothing sent in answer", shown(&seen.message))?;
    }
    played.ended_well()
}
