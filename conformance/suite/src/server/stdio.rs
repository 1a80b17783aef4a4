//! Lines, and the process that writes them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Cx;
use super::cancel::slow;
use super::listen::{asked, listen};
use super::progress::reporting;
use super::raw::{has_no_id, raw};
use super::talk::Talk;
use crate::check::{Check, server_check};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, shown};
use crate::wire::line::Process;

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-stdio-framing", Stdio, framing),
    server_check!("server-stdio-discover-first", Stdio, discover_first),
    server_check!("server-stdio-out-of-order", Stdio, out_of_order),
    server_check!("server-stdio-duplicate-in-flight-id", Stdio, duplicate_id),
    server_check!("server-stdio-refuses-response", Stdio, refuses_response),
    server_check!("server-stdio-line-limit", Stdio, line_limit).alone(),
    server_check!("server-stdio-eof", Stdio, eof),
    server_check!("server-stdio-eof-drains", Stdio, eof_drains),
    server_check!("server-stdio-eof-busy", Stdio, eof_busy),
];

async fn framing(cx: Cx) -> Verdict {
    let mut requests = vec![cx.request("server/discover")];
    requests.extend(cx.simple_tool().ok().map(|tool| cx.call(&tool, json!({}))));
    requests.extend(reporting(&cx).ok().map(|call| call.meta("progressToken", "\r\n\u{2028}")));
    let mut process = cx.process()?;
    for request in requests {
        process.send_line(&request.text()).await?;
        loop {
            let line = process.line().await?;
            let line = line.ok_or_else(|| Stop::fail("a message", "the end of the output"))?;
            let message = serde_json::from_str::<Value>(&line).unwrap_or_default();
            let expected = "lines that are one message each";
            expect(message.is_object() && !line.contains('\r'), expected, format!("{line:?}"))?;
            if at(&message, "/id") == request.id() {
                break;
            }
        }
    }
    let discover = || cx.request("server/discover");
    takes(&mut process, &[discover()], |text| format!("{text}\r\n")).await.of("CR LF")?;
    takes(&mut process, &[discover()], |text| format!(" \t{text} \n")).await.of("white space")?;
    let many = (0..50).map(|_| discover()).collect::<Vec<_>>();
    takes(&mut process, &many, |text| format!("{text}\n")).await.of("50 messages at once")?;
    let slowly = discover();
    for byte in format!("{}\n", slowly.text()).bytes() {
        process.send(&[byte]).await?;
        tokio::task::yield_now().await;
    }
    is_answered(&mut process, &[slowly]).await.of("a message byte by byte")
}

/// Sends these messages in one write, and all are answered.
async fn takes(
    process: &mut Process,
    messages: &[Message],
    line: impl Fn(String) -> String,
) -> Verdict {
    let all = messages.iter().map(|message| line(message.text())).collect::<String>();
    process.send(all.as_bytes()).await?;
    is_answered(process, messages).await
}

async fn is_answered(process: &mut Process, messages: &[Message]) -> Verdict {
    let mut left = messages.iter().map(|message| message.id().clone()).collect::<Vec<_>>();
    while !left.is_empty() {
        let message = process.next().await?;
        let message = message.ok_or_else(|| Stop::fail("an answer", "the end of the output"))?;
        expect(message.get("result").is_some(), "a result", shown(&message))?;
        let found = left.iter().position(|id| at(&message, "/id") == id);
        let found = found.ok_or_else(|| Stop::fail("one answer for each", shown(&message)))?;
        left.swap_remove(found);
    }
    Ok(())
}

async fn discover_first(cx: Cx) -> Verdict {
    let mut process = cx.process()?;
    takes(&mut process, &[cx.request("server/discover")], |text| text + "\n").await?;
    let mut process = cx.process()?;
    sleep(LATER).await;
    takes(&mut process, &[cx.request("server/discover")], |text| text + "\n").await
}

/// A time in which a process has started up.
const LATER: Duration = Duration::from_millis(500);

async fn out_of_order(cx: Cx) -> Verdict {
    let call = reporting(&cx)?;
    let others = (0..10).map(|_| cx.request("server/discover")).collect::<Vec<_>>();
    let mut talk = Talk::open(&cx)?;
    let all = others.iter().fold(call.text(), |all, other| format!("{all}\n{}", other.text()));
    talk.process()?.send_line(&all).await?;
    let mut left = vec![&call];
    left.extend(&others);
    let mut was_first = false;
    while !left.is_empty() {
        let came = talk.next().await?;
        if !came.method().is_empty() {
            continue;
        }
        let found = left.iter().position(|request| came.answers(request.id()));
        let found =
            found.ok_or_else(|| Stop::fail("one answer for each id", shown(&came.message)))?;
        let answered = left.swap_remove(found);
        was_first |= answered.id() == call.id() && left.len() == others.len();
    }
    cx.warnings.unless(!was_first, "others do not wait for a slow call", "they all did");
    let late = talk.settled().await?;
    let again = late.iter().find(|came| came.message.get("id").is_some());
    let seen = again.map(|came| shown(&came.message)).unwrap_or_default();
    expect(again.is_none(), "one answer for each id", seen)
}

async fn duplicate_id(cx: Cx) -> Verdict {
    let call = reporting(&cx)?;
    let mut talk = Talk::open(&cx)?;
    talk.send(&call).await?;
    talk.send(&cx.request("server/discover").with("id", call.id().clone())).await?;
    talk.response(call.id()).await?;
    let probe = talk.ask(&cx.request("server/discover")).await?;
    let is_result = probe.last().is_some_and(|came| came.message.get("result").is_some());
    expect(is_result, "a discover afterwards is served", "an error")
}

async fn refuses_response(cx: Cx) -> Verdict {
    let responses = [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "none" } }),
        json!({ "jsonrpc": "2.0", "id": "never used", "result": { "resultType": "complete" } }),
    ];
    for response in responses {
        // Clients must not send these; what becomes of them is open.
        let reply = match raw(&cx, &cx.request("server/discover"), response.to_string()).await {
            Ok(reply) => reply,
            Err(Stop::Fail { expected, seen }) => {
                cx.warnings.unless(false, expected, seen);
                continue;
            }
            Err(skip) => return Err(skip),
        };
        let is_quiet = reply
            .messages
            .iter()
            .all(|message| message.get("error").is_some() && has_no_id(&cx, message));
        let expected = format!("nothing, or an error without id, in answer to {response}");
        expect(is_quiet, expected, reply.told())?;
    }
    Ok(())
}

async fn line_limit(cx: Cx) -> Verdict {
    let mut process = cx.process()?;
    takes(&mut process, &[cx.request("server/discover")], |text| text + "\n").await?;
    let before = resident(&process);
    let piece = vec![b'x'; 1024 * 1024];
    process.send(b"{\"x\":\"").await?;
    for _ in 0..64 {
        process.send(&piece).await?;
    }
    process.send(b"\"}\n").await?;
    let probe = cx.request("server/discover");
    process.send_line(&probe.text()).await?;
    loop {
        let message = process.next().await?;
        let message = message.ok_or_else(|| Stop::fail("an answer", "the end of the output"))?;
        if at(&message, "/id") == probe.id() {
            break;
        }
        let is_refusal = message.get("error").is_some() && message.get("id").is_none();
        expect(is_refusal, "an error without id for a long line", shown(&message))?;
    }
    let grown = resident(&process).saturating_sub(before);
    let is_little = grown < 512 * 1024;
    cx.warnings.unless(is_little, "memory that does not grow by 512 MiB", format!("{grown} KiB"));
    Ok(())
}

/// Memory of the process in KiB, where that can be seen.
fn resident(process: &Process) -> u64 {
    let Some(shell) = process.id() else { return 0 };
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
    let children = children.unwrap_or_default();
    let id = children.split(' ').next().filter(|id| !id.is_empty());
    let id = id.map_or_else(|| shell.to_string(), str::to_owned);
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|it| it.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or_default()
}

/// The input ends: nothing comes but messages, and the process ends by itself.
async fn ends(cx: &Cx, process: &mut Process) -> Verdict<Vec<Value>> {
    process.close();
    let mut rest = Vec::new();
    while let Some(message) = process.next().await.of("the end of the output")? {
        rest.push(message);
    }
    let well = process.ended().await?;
    cx.warnings.unless(well, "exit code 0 at the end of the input", "another end");
    Ok(rest)
}

async fn eof(cx: Cx) -> Verdict {
    let mut process = cx.process()?;
    takes(&mut process, &[cx.request("server/discover")], |text| text + "\n").await?;
    ends(&cx, &mut process).await.of("after a discover")?;
    ends(&cx, &mut cx.process()?).await.of("before any line")?;
    let mut process = cx.process()?;
    process.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"met").await?;
    ends(&cx, &mut process).await.of("within a line").map(drop)
}

async fn eof_drains(cx: Cx) -> Verdict {
    let requests = (0..10).map(|_| cx.request("server/discover")).collect::<Vec<_>>();
    let mut process = cx.process()?;
    let all = requests.iter().map(|request| request.text() + "\n").collect::<String>();
    process.send(all.as_bytes()).await?;
    let rest = ends(&cx, &mut process).await?;
    for request in requests {
        let is_there = rest.iter().any(|message| at(message, "/id") == request.id());
        expect(is_there, "every answer before the end", format!("none for {}", request.id()))?;
    }
    Ok(())
}

async fn eof_busy(cx: Cx) -> Verdict {
    let subscription = asked(&cx).map(|filter| listen(&cx, "sub", &filter));
    let all = [
        ("with a call under way", reporting(&cx)),
        ("with a slow call under way", slow(&cx)),
        ("with a subscription open", subscription),
    ];
    let mut tasks = JoinSet::new();
    for (what, request) in all {
        let Ok(request) = request else { continue };
        let cx = cx.clone();
        tasks.spawn(async move { ends_while(&cx, &request).await.of(what) });
    }
    if tasks.is_empty() {
        return Err(Stop::skip("the server has nothing that takes time"));
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|error| Stop::lost(error.to_string()))??;
    }
    Ok(())
}

/// The process ends with its input while this request is under way.
async fn ends_while(cx: &Cx, request: &Message) -> Verdict {
    let mut process = cx.process()?.patient(BUSY);
    process.send_line(&request.text()).await?;
    // The answer to a later request tells that this one was begun.
    let probe = cx.request("server/discover");
    process.send_line(&probe.text()).await?;
    while process.next().await?.is_some_and(|it| at(&it, "/id") != probe.id()) {}
    ends(cx, &mut process).await.map(drop)
}

/// How long a server may go on for what is under way.
const BUSY: Duration = Duration::from_secs(20);
