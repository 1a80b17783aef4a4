//! Answers to what the server asked, right and wrong ones.

use serde_json::{Value, json};

use super::{answers, asks, first, is_complete, is_refused, retry};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::answered;
use crate::server::talk::Lane;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::at;
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-mrtr-malformed-responses", Both, malformed),
    server_check!("server-mrtr-extra-responses", Both, extra),
    server_check!("server-mrtr-missing-response", Both, missing),
];

/// The first round of a fixture, and what it asked for.
async fn begin(cx: &Cx, lane: &mut Lane, name: &str) -> Verdict<(Message, Value)> {
    let call = first(cx, name)?;
    let reply = lane.ask(&call).await?;
    let result = asks(&reply)?.clone();
    Ok((call, result))
}

fn keys(result: &Value) -> Vec<String> {
    let asked = at(result, "/inputRequests").as_object();
    asked.map(|asked| asked.keys().cloned().collect()).unwrap_or_default()
}

fn first_key(result: &Value) -> Verdict<String> {
    let key = keys(result).into_iter().next();
    key.ok_or_else(|| Stop::fail("an input request", result.to_string()))
}

async fn malformed(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let (call, asked) = begin(&cx, &mut lane, "elicitation").await?;
    let key = first_key(&asked)?;
    let right = answers(&asked).get(&key).cloned().unwrap_or_default();
    let wrong = [
        json!(12345),
        Value::Null,
        json!([]),
        json!({}),
        json!({ "action": "nope" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "name": 5 } }),
        json!({ "method": "elicitation/create", "result": right }),
    ];
    let shapes = [Value::Null, json!([]), json!("x"), json!(5)];
    for given in wrong.map(|wrong| json!({ &*key: wrong })).into_iter().chain(shapes) {
        let what = format!("inputResponses {given}");
        let reply = lane.ask(&retry(&cx, &call, &asked, given)).await.of(&what)?;
        is_refused_or_asked_again(&cx, &reply).of(what)?;
    }
    for action in ["decline", "cancel"] {
        let given = json!({ &*key: { "action": action } });
        let reply = lane.ask(&retry(&cx, &call, &asked, given)).await.of(action)?;
        answered(&reply).of(action)?;
    }
    Ok(())
}

fn is_refused_or_asked_again(cx: &Cx, reply: &Reply) -> Verdict {
    if asks(reply).is_ok() { Ok(()) } else { is_refused(cx, reply) }
}

async fn extra(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let (call, asked) = begin(&cx, &mut lane, "elicitation").await?;
    let mut given = answers(&asked);
    if let Some(members) = given.as_object_mut() {
        members.insert("nobody-asked".into(), json!({ "action": "decline" }));
        members.insert("k".repeat(64 * 1024), json!({ "roots": [] }));
    }
    is_complete(&lane.ask(&retry(&cx, &call, &asked, given)).await?)
}

async fn missing(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let (call, asked) = begin(&cx, &mut lane, "elicitation").await?;
    let key = first_key(&asked)?;
    for given in [json!({}), json!({ "nobody-asked": { "action": "cancel" } })] {
        let what = format!("inputResponses {given}");
        let reply = lane.ask(&retry(&cx, &call, &asked, given)).await.of(&what)?;
        asks_for(&reply, &[&key]).of(what)?;
    }
    let Ok((call, asked)) = begin(&cx, &mut lane, "multiple_inputs").await else { return Ok(()) };
    let all = keys(&asked);
    let good = answers(&asked);
    for key in &all {
        let given = json!({ &**key: good.get(key) });
        let lacking = all.iter().filter(|other| *other != key).map(|it| &**it).collect::<Vec<_>>();
        let reply = lane.ask(&retry(&cx, &call, &asked, given)).await.of(key)?;
        asks_for(&reply, &lacking).of(format!("{key} alone"))?;
    }
    Ok(())
}

fn asks_for(reply: &Reply, lacking: &[&str]) -> Verdict {
    let again = keys(asks(reply)?);
    let are_there = lacking.iter().all(|key| again.iter().any(|it| it == key));
    expect(are_there, format!("a question for {lacking:?} again"), reply.told())
}
