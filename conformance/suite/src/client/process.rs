//! Servers that are processes of the client: what stands on their input, and how they are begun and ended.

use serde_json::json;

use super::answer::Part;
use super::asking::call;
use super::http::request;
use super::schema::everything;
use super::script::{after, framed, in_pieces, notification, raw, right, try_calls};
use super::{Answer, Cx, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{cut, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-stdio-framing", Stdio, framing),
    client_check!("client-stdio-no-responses", Stdio, no_responses),
    client_check!("client-stdio-stderr-noise", Stdio, stderr_noise),
    client_check!("client-stdio-shutdown", Stdio, shutdown),
    client_check!("client-stdio-shutdown-stuck", Stdio, shutdown_stuck),
    client_check!("client-stdio-restart", Stdio, restart),
];

async fn framing(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    played.first("tools/call")?;
    for seen in &played.requests {
        let line = cut(&String::from_utf8_lossy(&seen.body));
        expect(seen.message.is_object(), "lines of one JSON-RPC message each", &line)?;
        let is_bare = seen.body.starts_with(b"{") && seen.body.ends_with(b"}");
        expect(is_bare, "nothing before a message or behind it", line)?;
    }
    let cases = ["single bytes", "CRLF", "50 lines at once", "a line of 1 MiB"];
    let tried = try_calls(&cx, &cases, |seen| {
        let line = framed(seen, right(seen).to_string());
        match seen.case() {
            "single bytes" => Answer::stream(in_pieces(&line, 1)),
            "CRLF" => raw(format!("{}\r\n", right(seen))),
            "50 lines at once" => {
                let log =
                    notification("notifications/message", json!({ "level": "info", "data": 1 }));
                raw([format!("{log}\n").repeat(49).into_bytes(), line].concat())
            }
            "a line of 1 MiB" => {
                let mut message = right(seen);
                message["result"]["content"] =
                    json!([{ "type": "text", "text": "x".repeat(1 << 20) }]);
                Answer::json(message)
            }
            _ => good(seen),
        }
    });
    tried.await?.all_give_results()
}

async fn no_responses(cx: Cx) -> Verdict {
    let cases = ["roots/list", "ping", "elicitation/create"];
    let tried = try_calls(&cx, &cases, |seen| match seen.case() {
        "fine" | "" => good(seen),
        method => after([request(method)], seen),
    });
    let tried = tried.await?;
    tried.goes_on()?;
    for seen in &tried.played.requests {
        expect(!seen.method().is_empty(), "no response to the server", shown(&seen.message))?;
    }
    Ok(())
}

async fn stderr_noise(cx: Cx) -> Verdict {
    let steps = json!([{ "do": "tools/list" }, call("first"), call("second")]);
    let played = cx.bridged("--noisy").play(steps, good).await?;
    for step in 0..3 {
        played.result(step)?;
    }
    played.ended_well()
}

async fn shutdown(cx: Cx) -> Verdict {
    // The server may be held up in its second, but not every time.
    for _ in 0..3 {
        let played = cx.bridged("--busy").play(json!([call("echo")]), good).await?;
        played.result(0)?;
        if played.of(super::bridge::BYE).next().is_some() {
            return Ok(());
        }
    }
    let expected = "a second for the server to end by itself, once its input ended";
    Err(Stop::fail(expected, "an end before it was done, or by a signal"))
}

async fn shutdown_stuck(cx: Cx) -> Verdict {
    let played = cx.bridged("--stubborn").play(json!([call("echo")]), good).await?;
    played.result(0)?;
    expect(played.exit.is_some(), "an end of the client", "it waits for a server that is stuck")?;
    let left = played.survivors;
    expect(left == 0, "no process of the server left behind", format!("{left} of them"))
}

async fn restart(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match (seen.method(), seen.connection) {
        ("tools/call", 0) => Answer::stream([Part::Break]),
        _ => good(seen),
    };
    let played = cx.play(json!([call("echo"), call("echo")]), part).await?;
    played.first("tools/call")?;
    let seen = played.step(1).map(shown).unwrap_or_default();
    let anew = played.requests.iter().any(|seen| seen.connection > 0);
    expect(anew, "a new process for the call behind the one that the server died of", seen)?;
    played.result(1)?;
    let part = |seen: &Seen| match seen.method() {
        "tools/call" => Answer::stream([Part::Break]),
        _ => good(seen),
    };
    let played = cx.play(json!([call("echo"), call("echo")]), part).await?;
    played.error(0)?;
    played.error(1)?;
    let starts = played.requests.iter().map(|seen| seen.connection + 1).max().unwrap_or_default();
    expect(starts <= 10, "an end of it, if the server always dies", format!("{starts} starts"))?;
    match played.exit {
        Some(_) => Ok(()),
        None => Err(Stop::fail("an end of the client", "none")),
    }
}
