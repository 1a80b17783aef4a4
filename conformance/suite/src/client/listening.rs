//! Subscriptions: what they are granted, and whose a change is.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::answer::{Part, granted, listening, subscribed};
use super::asking::call;
use super::script::notification;
use super::{Answer, Cx, Played, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-listen-partial-ack", Both, partial_ack),
    client_check!("client-stdio-listen-demultiplexed", Stdio, demultiplexed),
    client_check!("client-stdio-listen-after-restart", Stdio, after_restart),
];

fn listen(notifications: &Value, ms: u64) -> Value {
    let params = json!({ "notifications": notifications });
    json!({ "do": "subscriptions/listen", "params": params, "events": 1, "ms": ms })
}

/// Milliseconds in which a change that was sent has arrived.
const LONG: u64 = 30_000;
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

fn changed(method: &str) -> Value {
    notification(method, json!({}))
}

fn updated() -> Value {
    notification(UPDATED, json!({ "uri": "test://a" }))
}

/// The methods of the changes that a step told of.
fn heard(played: &Played, step: usize) -> Verdict<Vec<&str>> {
    let told = played.step(step)?;
    let events = at(told, "/events").as_array().into_iter().flatten();
    Ok(events.filter_map(|event| at(event, "/method").as_str()).collect())
}

/// Skips for clients that have no subscriptions.
fn listens(played: &Played) -> Verdict<usize> {
    match played.of("subscriptions/listen").count() {
        0 => Err(Stop::skip("the client does not listen")),
        count => Ok(count),
    }
}

async fn partial_ack(cx: Cx) -> Verdict {
    let all = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
    });
    // What was granted comes, be it late; of the rest a client may think what it likes.
    for (case, grant, ms) in [
        ("tools alone granted", json!({ "toolsListChanged": true }), LONG),
        ("nothing granted", json!({}), 200),
        ("more granted than was asked for", all, 200),
    ] {
        let part = move |seen: &Seen| match seen.method() {
            "subscriptions/listen" => Answer::stream([
                granted(seen, &grant),
                Part::Message(subscribed(seen, changed(TOOLS))),
                Part::Hold,
            ]),
            _ => good(seen),
        };
        let asked = json!({ "toolsListChanged": true, "promptsListChanged": true });
        let played = cx.play(json!([listen(&asked, ms), call("fine")]), part).await?;
        listens(&played)?;
        let judged = heard(&played, 0).and_then(|heard| {
            let told = heard.join(", ");
            expect(heard == [TOOLS] || ms != LONG, TOOLS, told)?;
            played.result(1).map(drop)
        });
        judged.map_err(|stop| stop.of(case))?;
    }
    Ok(())
}

async fn demultiplexed(cx: Cx) -> Verdict {
    let first = Mutex::new(None::<Seen>);
    let part = move |seen: &Seen| {
        if seen.method() != "subscriptions/listen" {
            return good(seen);
        }
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        match first.take() {
            None => {
                *first = Some(seen.clone());
                Answer::silence()
            }
            Some(first) => both_at_once(&first, seen),
        }
    };
    let steps = [
        json!({ "toolsListChanged": true, "promptsListChanged": true }),
        json!({ "resourceSubscriptions": ["test://a"], "promptsListChanged": true }),
    ];
    let [tools, resources] = steps.map(|asked| {
        let mut step = listen(&asked, LONG);
        step["beside"] = true.into();
        step
    });
    let played = cx.play(json!([tools, resources, { "do": "wait" }, call("fine")]), part).await?;
    if listens(&played)? < 2 {
        return Err(Stop::skip("the client does not open a second subscription beside the first"));
    }
    for (step, right) in [(0, TOOLS), (1, UPDATED)] {
        let heard = heard(&played, step)?;
        expect(heard == [right], format!("{right} alone in step {step}"), heard.join(", "))?;
    }
    played.result(3).map(drop)
}

/// Both are acknowledged in reverse order; what belongs to neither comes before what belongs to each.
fn both_at_once(first: &Seen, second: &Seen) -> Answer {
    let own = |seen: &Seen| {
        let is_tools = !seen.param("notifications")["toolsListChanged"].is_null();
        Part::Message(subscribed(seen, if is_tools { changed(TOOLS) } else { updated() }))
    };
    let mut unknown = second.clone();
    unknown.message["id"] = "never-used".into();
    // The same digits as a text, or the same text as a number, are another id.
    let mut alike = second.clone();
    alike.message["id"] = match second.id() {
        Value::String(text) => text.parse::<i64>().map_or(Value::Null, Value::from),
        number => number.to_string().into(),
    };
    Answer::stream([
        granted(second, second.param("notifications")),
        granted(first, first.param("notifications")),
        Part::Message(subscribed(&unknown, changed(PROMPTS))),
        Part::Message(subscribed(&alike, changed(PROMPTS))),
        Part::Message(changed(PROMPTS)),
        own(first),
        own(second),
    ])
}

async fn after_restart(cx: Cx) -> Verdict {
    for (case, options) in
        [("exit code 0", ""), ("exit code 1", "--exit 1"), ("an end by a signal", "--abort")]
    {
        let first = Mutex::new(None::<Seen>);
        let part = move |seen: &Seen| match (seen.method(), seen.connection) {
            ("subscriptions/listen", 0) => {
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                match first.take() {
                    None => {
                        *first = Some(seen.clone());
                        Answer::silence()
                    }
                    // The first process ends once both are acknowledged.
                    Some(first) => {
                        let both = [&first, seen].map(|it| granted(it, it.param("notifications")));
                        Answer::stream(both.into_iter().chain([Part::Break]))
                    }
                }
            }
            ("subscriptions/listen", _) => {
                let is_tools = !seen.param("notifications")["toolsListChanged"].is_null();
                listening(seen, vec![if is_tools { changed(TOOLS) } else { updated() }])
            }
            _ => good(seen),
        };
        let steps =
            [json!({ "toolsListChanged": true }), json!({ "resourceSubscriptions": ["test://a"] })];
        let [tools, resources] = steps.map(|asked| {
            let mut step = listen(&asked, LONG);
            step["beside"] = true.into();
            step["again"] = true.into();
            step
        });
        // The call is for clients that start their server again once they need it.
        let pause = json!({ "do": "sleep", "ms": 300 });
        let steps = json!([tools, resources, pause, call("fine")]);
        let played = cx.bridged(options).play(steps, part).await?;
        if listens(&played)? < 2 {
            return Err(Stop::skip(
                "the client does not open a second subscription beside the first",
            ));
        }
        let anew = played.requests.iter().filter(|seen| seen.connection > 0).collect::<Vec<_>>();
        if anew.is_empty() {
            return Err(Stop::skip("the client does not start its server again"));
        }
        let judged = [(0, TOOLS), (1, UPDATED)].into_iter().try_for_each(|(step, right)| {
            let heard = heard(&played, step)?;
            expect(heard == [right], format!("{right} in step {step}"), heard.join(", "))
        });
        judged.map_err(|stop| stop.of(case))?;
        let owed = anew.iter().find(|seen| seen.method().is_empty());
        let seen = owed.map(|seen| shown(&seen.message)).unwrap_or_default();
        expect(owed.is_none(), "nothing for the new process that the old one is owed", seen)?;
    }
    Ok(())
}
