//! Progress of a call.

use serde_json::{Value, json};

use super::Cx;
use super::talk::{Came, Talk};
use crate::check::{Check, server_check};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-progress-delivered", Both, delivered),
    server_check!("server-progress-token-echo", Both, token_echo),
    server_check!("server-progress-without-token", Both, without_token),
    server_check!("server-progress-increases", Both, increases),
    server_check!("server-progress-stops", Both, stops),
    server_check!("server-progress-concurrent", Both, concurrent),
];

/// A call that reports three times while it runs.
pub(super) fn reporting(cx: &Cx) -> Verdict<Message> {
    let name = "test_tool_with_progress";
    cx.tool(name)?;
    Ok(cx.call(name, json!({})))
}

pub(super) fn is_progress(came: &Came) -> bool {
    came.method() == "notifications/progress"
}

fn token(came: &Came) -> &Value {
    at(&came.message, "/params/progressToken")
}

/// What came of a call with a token: its reports, and the response.
async fn reported(cx: &Cx, token: Value) -> Verdict<(Vec<Came>, Value)> {
    let call = reporting(cx)?.meta("progressToken", token);
    let mut came = Talk::open(cx)?.ask(&call).await?;
    let response = came.pop().map(|came| came.message).unwrap_or_default();
    came.retain(is_progress);
    Ok((came, response))
}

/// The reports of a call that succeeded; a server may send none.
async fn reports(cx: &Cx) -> Verdict<Vec<Came>> {
    let (reports, response) = reported(cx, json!("p")).await?;
    expect(response.get("result").is_some(), "a result", shown(&response))?;
    if reports.is_empty() {
        return Err(Stop::skip("the server sends no progress"));
    }
    Ok(reports)
}

async fn delivered(cx: Cx) -> Verdict {
    reports(&cx).await?;
    let reply = cx.ask(&reporting(&cx)?.meta("progressToken", "p")).await?;
    reply.result().of("the response as the last message of its stream")?;
    let first = reply.messages.first().map(|message| at(message, "/method"));
    expect(first.is_some_and(|it| *it == "notifications/progress"), "progress first", reply.told())
}

async fn token_echo(cx: Cx) -> Verdict {
    reports(&cx).await?;
    let tokens = [
        json!("7"),
        json!(7),
        json!(0),
        json!(-1),
        json!(""),
        json!("☃"),
        json!(9_007_199_254_740_991_i64),
    ];
    for given in tokens {
        let (reports, response) = reported(&cx, given.clone()).await.of(&given)?;
        expect(response.get("result").is_some(), "a result", shown(&response)).of(&given)?;
        expect(!reports.is_empty(), format!("progress for the token {given}"), "none")?;
        for report in reports {
            expect(*token(&report) == given, format!("the token {given}"), shown(&report.message))?;
        }
    }
    for given in [json!(1.5), json!(true), Value::Null, json!({})] {
        let (reports, response) = reported(&cx, given.clone()).await.of(&given)?;
        let is_refused = *at(&response, "/error/code") == -32602;
        let seen = reports.first().map(|report| shown(&report.message)).unwrap_or_default();
        let expected = format!("-32602, or no progress, for the token {given}");
        expect(is_refused || reports.is_empty(), expected, seen)?;
    }
    Ok(())
}

async fn without_token(cx: Cx) -> Verdict {
    let mut talk = Talk::open(&cx)?;
    let mut came = talk.ask(&reporting(&cx)?).await?;
    came.extend(talk.settled().await?);
    let seen = came.iter().find(|came| is_progress(came)).map(|came| shown(&came.message));
    expect(seen.is_none(), "no progress without a token", seen.unwrap_or_default())
}

async fn increases(cx: Cx) -> Verdict {
    let mut last = None;
    for report in reports(&cx).await? {
        let seen = shown(&report.message);
        let progress = at(&report.message, "/params/progress").as_f64();
        let progress = progress.ok_or_else(|| Stop::fail("progress, a number", &*seen))?;
        let is_more = last.is_none_or(|last| progress > last);
        expect(is_more, format!("progress above {}", last.unwrap_or_default()), &*seen)?;
        let total = report.message.pointer("/params/total");
        expect(total.is_none_or(Value::is_number), "total, a number if there", seen)?;
        last = Some(progress);
    }
    Ok(())
}

async fn stops(cx: Cx) -> Verdict {
    reports(&cx).await?;
    let mut talk = Talk::open(&cx)?;
    talk.ask(&reporting(&cx)?.meta("progressToken", "p")).await?;
    let mut late = talk.ask(&cx.request("server/discover")).await?;
    late.extend(talk.settled().await?);
    let seen = late.iter().find(|came| is_progress(came)).map(|came| shown(&came.message));
    expect(seen.is_none(), "no progress behind the response", seen.unwrap_or_default())
}

async fn concurrent(cx: Cx) -> Verdict {
    reports(&cx).await?;
    let mut talk = Talk::open(&cx)?;
    let mut calls = Vec::new();
    for token in [json!(1), json!("1"), json!(2)] {
        let call = reporting(&cx)?.meta("progressToken", token.clone());
        talk.send(&call).await?;
        calls.push((call.id().clone(), token));
    }
    let mut left = calls.len();
    let came = talk.until("a response to each call", |came| {
        left -= usize::from(calls.iter().any(|(id, _)| came.answers(id)));
        left == 0
    });
    let came = came.await?;
    for (id, own) in &calls {
        let reports = came.iter().filter(|came| is_progress(came) && token(came) == own);
        let reports = reports.collect::<Vec<_>>();
        let steps = reports.iter().filter_map(|it| at(&it.message, "/params/progress").as_f64());
        let rises = steps.is_sorted_by(|one, next| one < next);
        expect(!reports.is_empty() && rises, format!("progress that rises for {own}"), "none")?;
        let strays = reports.iter().find(|came| !came.on.is_null() && came.on != *id);
        let seen = strays.map(|came| shown(&came.message)).unwrap_or_default();
        expect(strays.is_none(), format!("progress of {own} on its own stream"), seen)?;
        let response = came.iter().find(|came| came.answers(id));
        let is_result = response.is_some_and(|came| came.message.get("result").is_some());
        expect(is_result, format!("a result of the call with {own}"), "an error")?;
    }
    Ok(())
}
