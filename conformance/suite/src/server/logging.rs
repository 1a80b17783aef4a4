//! Log messages, which a request has to ask for.

use serde_json::{Value, json};

use super::Cx;
use super::listening::{Listening, WINDOW, listen, tag};
use super::lists::{INVALID, List};
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_LOG_LEVEL;
use crate::wire::{Message, Reply};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-logging-declared", Both, declared).last(),
    server_check!("server-logging-opt-in", Both, opt_in),
    server_check!("server-logging-own-stream", Both, own_stream),
    server_check!("server-logging-level", Both, level),
    server_check!("server-logging-invalid-level", Both, invalid_level),
    server_check!("server-logging-no-credentials", Http, no_credentials),
];

/// Runs last: a message in the whole run is enough.
async fn declared(cx: Cx) -> Verdict {
    if cx.tool(LOGS).is_ok() {
        cx.ask(&call(&cx, Some("debug"))).await?;
    }
    let all = cx.record.all();
    let Some(noted) = all.iter().find(|noted| is_log(&noted.message)) else {
        return Err(Stop::skip("the server logged nothing"));
    };
    let declared = at(&cx.offer().discover, "/capabilities/logging");
    expect(declared.is_object(), "the capability logging, since it logs", shown(&noted.message))
}

async fn opt_in(cx: Cx) -> Verdict {
    cx.tool(LOGS)?;
    let mut session = cx.session();
    for level in [Some("debug"), None, Some("debug"), None] {
        let reply = session.ask(&call(&cx, level)).await?;
        reply.result()?;
        let logged = level.is_none() && reply.notifications().any(is_log);
        expect(!logged, "no messages for a request that asks for none", told(&reply))?;
    }
    for call in cx.calls() {
        let reply = session.ask(&call).await?;
        let logged = reply.notifications().any(is_log);
        expect(!logged, "no messages for a request that asks for none", told(&reply))?;
    }
    Ok(())
}

async fn own_stream(cx: Cx) -> Verdict {
    cx.tool(LOGS)?;
    let probe = cx.ask(&call(&cx, Some("debug"))).await?;
    if !probe.notifications().any(is_log) {
        return Err(Stop::skip("the tool logs nothing"));
    }
    let filter = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
    let mut listening = Listening::open(&cx, &listen(&cx, filter)).await?;
    let (logging, silent) = (call(&cx, Some("debug")), call(&cx, None));
    if let Some(process) = listening.open.process() {
        process.send_line(&logging.text()).await?;
        process.send_line(&silent.text()).await?;
        return lines(&mut listening, &logging).await;
    }
    let (logged, other) = tokio::join!(cx.ask(&logging), cx.ask(&silent));
    let (logged, other) = (logged?, other?);
    expect(logged.notifications().any(is_log), "the message on its own stream", told(&logged))?;
    let is_last = logged.messages.last().is_some_and(|last| !is_log(last));
    expect(is_last, "no messages after the response", told(&logged))?;
    expect(!other.notifications().any(is_log), "no message of another request", told(&other))?;
    let strays = listening.open.within(WINDOW).await?;
    let stray = strays.iter().find(|message| is_log(message));
    expect(stray.is_none(), "no message on a subscription", shown(&strays.clone().into()))
}

/// All on one stream: before the response of the request that asked for it, and of no subscription.
async fn lines(listening: &mut Listening, logging: &Message) -> Verdict {
    let mut logs = 0;
    loop {
        let message = listening.open.expect_next("the response").await?;
        if at(&message, "/id") == logging.id() {
            break;
        }
        if is_log(&message) {
            logs += 1;
            expect(tag(&message).is_null(), "no message on a subscription", shown(&message))?;
        }
    }
    expect(logs > 0, "messages before the response", "none")?;
    let strays = listening.open.within(WINDOW).await?;
    let stray = strays.iter().find(|message| is_log(message));
    expect(stray.is_none(), "no message after the response", shown(&strays.clone().into()))
}

async fn level(cx: Cx) -> Verdict {
    cx.tool(LOGS)?;
    let (mut session, mut seen) = (cx.session(), false);
    for (asked, level) in LEVELS.iter().enumerate() {
        let reply = session.ask(&call(&cx, Some(level))).await?;
        for message in reply.notifications().filter(|message| is_log(message)) {
            seen = true;
            let params = at(message, "/params");
            let at_level = LEVELS.iter().position(|level| *at(params, "/level") == **level);
            let is_right = at_level.is_some_and(|at_level| at_level >= asked);
            expect(is_right, format!("a level from {level} on"), shown(message))?;
            expect(params.get("data").is_some(), "data", shown(message))?;
        }
    }
    if seen { Ok(()) } else { Err(Stop::skip("the tool logs nothing")) }
}

async fn invalid_level(cx: Cx) -> Verdict {
    let list = List::offered(&cx).into_iter().next();
    let method = list.map_or("server/discover", |list| list.method);
    let mut session = cx.session();
    for level in [json!("verbose"), json!("ERROR"), json!(3), Value::Null] {
        let request = cx.request(method).meta(META_LOG_LEVEL, level.clone());
        let reply = session.ask(&request).await?;
        reply.has_code(INVALID).map_err(|stop| stop.of(format!("log level {level}")))?;
    }
    Ok(())
}

async fn no_credentials(cx: Cx) -> Verdict {
    cx.tool(LOGS)?;
    let post = cx.post(&call(&cx, Some("debug")))?;
    let token = post.get("Authorization").and_then(|value| value.split(' ').nth(1));
    let mut secrets = vec![CANARY.to_owned()];
    secrets.extend(token.map(str::to_owned));
    let reply = cx.send(&post.set("Cookie", format!("session={CANARY}"))).await?;
    let logs = reply.notifications().filter(|message| is_log(message)).collect::<Vec<_>>();
    if logs.is_empty() {
        return Err(Stop::skip("the tool logs nothing"));
    }
    for message in logs {
        let text = message.to_string();
        let is_clean = !secrets.iter().any(|secret| text.contains(&**secret));
        expect(is_clean, "nothing of the request's credentials in messages", shown(message))?;
    }
    Ok(())
}

fn call(cx: &Cx, level: Option<&str>) -> Message {
    let call = cx.call(LOGS, json!({}));
    match level {
        Some(level) => call.meta(META_LOG_LEVEL, level),
        None => call,
    }
}

fn is_log(message: &Value) -> bool {
    *at(message, "/method") == "notifications/message"
}

/// All that came, which is what a message that should not be there is among.
fn told(reply: &Reply) -> String {
    shown(&Value::Array(reply.messages.clone()))
}

const LOGS: &str = "test_logging_tool";
const CANARY: &str = "suite-canary-5b1e";
/// From the least to the most severe.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
