//! Bytes that may be wrong in any way, and what may come of them.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::Cx;
use super::progress::reporting;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::line::Process;
use crate::wire::{Message, Noted, Reply};

/// How long it is waited for what should not come, after something that would have caused it.
pub(super) const SETTLE: Duration = Duration::from_millis(300);
/// Sends a body as it is, with the headers that `like` would have, and a discover behind it, which has to be answered.
/// Each body has a connection or a process of its own. The reply has no messages where nothing was answered.
pub(super) async fn raw(cx: &Cx, like: &Message, body: impl Into<Vec<u8>>) -> Verdict<Reply> {
    let body = body.into();
    if cx.is_http() {
        let reply = cx.send(&cx.post(like)?.body(body)).await?;
        alive(cx).await?;
        return Ok(reply);
    }
    let mut process = cx.process()?;
    process.send(&[&*body, b"\n"].concat()).await?;
    let probe = Message::request("still alive?", "server/discover");
    let mut reply = Reply::default();
    gather(cx, &mut process, &mut reply, &probe).await?;
    if reply.body.is_empty() {
        // A server need not keep the order, but has had time for the body once it has done something that takes a moment.
        let last = reporting(cx).unwrap_or_else(|_| probe.clone()).with("id", "and now?");
        gather(cx, &mut process, &mut reply, &last).await?;
    }
    if reply.body.is_empty()
        && let Ok(line) = timeout(SETTLE, process.line()).await
    {
        take(cx, &mut reply, line?)?;
    }
    Ok(reply)
}

/// Sends a request, and puts all lines up to its answer into the reply.
async fn gather(cx: &Cx, process: &mut Process, reply: &mut Reply, probe: &Message) -> Verdict {
    process.send_line(&probe.text()).await?;
    while take(cx, reply, process.line().await?)? != *probe.id() {}
    Ok(())
}

/// Puts a line into the reply, unless it answers one of the requests behind the body; gives its id.
fn take(cx: &Cx, reply: &mut Reply, line: Option<String>) -> Verdict<Value> {
    let line = line.ok_or_else(|| Stop::fail("a process that lives on", "its end"))?;
    let parsed = serde_json::from_str::<Value>(&line).ok();
    let id = parsed.as_ref().map(|message| at(message, "/id").clone()).unwrap_or_default();
    if id != "still alive?" && id != "and now?" {
        reply.body.extend(line.bytes());
        if let Some(message) = parsed {
            cx.record.add(Noted { method: String::new(), head: None, message: message.clone() });
            reply.messages.push(message);
        }
    }
    Ok(id)
}

/// The server still answers.
pub(super) async fn alive(cx: &Cx) -> Verdict {
    let reply = cx.ask(&cx.request("server/discover")).await.of("a discover afterwards")?;
    reply.result().of("a discover afterwards").map(drop)
}

/// The request was refused by one of `codes`, or (with a warning) in another way; it was not served, and the server
/// has not broken down.
pub(super) fn refused(cx: &Cx, reply: &Reply, codes: &[i64]) -> Verdict {
    let expected = format!("a refusal with one of {codes:?}");
    let has_result = reply.messages.iter().any(|message| message.get("result").is_some());
    expect(!has_result, &*expected, reply.told())?;
    let error = reply.error().ok();
    if let Some(status) = reply.status() {
        let is_refusal = matches!(status, 400..500) || status == 200 && error.is_some();
        expect(is_refusal, &*expected, reply.told())?;
        cx.warnings.unless(matches!(status, 400..500), "a status of 4xx", reply.told());
    } else {
        expect(error.is_some(), &*expected, reply.told())?;
    }
    let code = error.and_then(|error| at(error, "/code").as_i64());
    cx.warnings.unless(code.is_none_or(|code| codes.contains(&code)), expected, reply.told());
    Ok(())
}

/// There was an answer, a result or a refusal, and the server has not broken down.
pub(super) fn answered(reply: &Reply) -> Verdict {
    let has_answer = reply.response().is_ok() || reply.status().is_some_and(|status| status >= 400);
    let is_well = reply.status().is_none_or(|status| status < 500 && status != 202);
    expect(has_answer && is_well, "a result or a refusal", reply.told())
}

/// The same where the id of what is refused cannot be read: over stdio a line that nobody waits for may be passed over.
pub(super) fn refused_unread(cx: &Cx, reply: &Reply, codes: &[i64]) -> Verdict {
    if cx.is_http() || !reply.messages.is_empty() {
        return refused(cx, reply, codes);
    }
    cx.warnings.unless(false, format!("a refusal with one of {codes:?}"), reply.told());
    Ok(())
}

/// No id, or null: JSON-RPC has a null where the id cannot be read, and the schema of this revision no member.
pub(super) fn has_no_id(cx: &Cx, message: &Value) -> bool {
    let is_null = message.get("id").is_some_and(Value::is_null);
    cx.warnings.unless(!is_null, "no id in place of null", shown(message));
    is_null || message.get("id").is_none()
}

/// The id of the answer is that of the request; a refusal may have none.
pub(super) fn has_id_or_none(cx: &Cx, reply: &Reply, id: &Value) -> Verdict {
    let unread = reply.messages.last().is_none_or(|message| has_no_id(cx, message));
    let found = reply.messages.last().and_then(|message| message.get("id")).filter(|_| !unread);
    let expected = format!("the id {}, or none", shown(id));
    expect(found.is_none_or(|found| found == id), expected, reply.told())
}
