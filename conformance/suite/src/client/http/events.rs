//! Streams of events: their framing, their size, and their end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::answer::Part;
use super::super::asking::call;
use super::super::script::{
    Tried, endless, in_pieces, notification, raw, right, try_calls, try_lists, try_steps,
};
use super::super::{Answer, Cx, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-http-sse-framing", Http, framing),
    client_check!("client-http-sse-comments", Http, comments),
    client_check!("client-http-sse-split", Http, split),
    client_check!("client-http-sse-large", Http, large).alone(),
    client_check!("client-http-sse-lost-response", Http, lost_response),
];

/// Nobody asks for what came before. Specification: Streamable HTTP, which has no resumption.
fn no_resumption(tried: &Tried) -> Verdict {
    for seen in &tried.played.requests {
        let last = seen.header("Last-Event-ID");
        expect(last.is_none(), "no Last-Event-ID", last.unwrap_or_default())?;
        expect(seen.http_method() == "POST", "POST alone", seen.http_method())?;
    }
    Ok(())
}

const FRAMINGS: &[&str] = &[
    "LF",
    "CR",
    "CRLF",
    "all three",
    "a byte order mark",
    "no space",
    "several lines",
    "other fields",
    "an empty event first",
    "blank lines",
    "fields behind the data",
    "two spaces",
];

async fn framing(cx: Cx) -> Verdict {
    let tried = try_calls(&cx, FRAMINGS, |seen| {
        let json = right(seen).to_string();
        let pretty = serde_json::to_string_pretty(&right(seen)).unwrap_or_default();
        raw(match seen.case() {
            "LF" => format!("event: message\ndata: {json}\n\n"),
            "CR" => format!("event: message\rdata: {json}\r\r"),
            "CRLF" => format!("event: message\r\ndata: {json}\r\n\r\n"),
            "all three" => format!("event: message\rid: 1\r\ndata: {json}\n\r\n"),
            "a byte order mark" => format!("\u{feff}data: {json}\n\n"),
            "no space" => format!("data:{json}\n\n"),
            "several lines" => format!("data: {}\n\n", pretty.replace('\n', "\ndata: ")),
            "other fields" => {
                format!("event: message\nid: 1\nretry: 5\nunknown: x\nalone\ndata: {json}\n\n")
            }
            "an empty event first" => format!("id: 0\ndata:\n\ndata: {json}\n\n"),
            "blank lines" => format!("\n\n\ndata: {json}\n\n\n\n"),
            "fields behind the data" => format!("data: {json}\nid: 1\nevent: message\n\n"),
            "two spaces" => format!("data:  {json}\n\n"),
            _ => return good(seen),
        })
    });
    let tried = tried.await?;
    tried.all_give_results()?;
    no_resumption(&tried)
}

async fn comments(cx: Cx) -> Verdict {
    let cases = ["many comments", "comments within an event", "comments alone for a while"];
    let step = |case: &str| {
        let mut step = call(case);
        step["timeout_ms"] = 60_000.into();
        step
    };
    let tried = try_steps(&cx, &cases, step, |seen| {
        let json = right(seen).to_string();
        let event = format!("data: {json}\n\n");
        match seen.case() {
            "many comments" => {
                let many = ":\n: ping\n\n:\r\n\r\n".repeat(100);
                raw(format!("{many}{event}{many}"))
            }
            "comments within an event" => {
                raw(format!("event: message\n: ping\ndata: {json}\n:\n: ping\n\n"))
            }
            "comments alone for a while" => {
                let ping =
                    [Part::Raw(b": ping\n\n".to_vec()), Part::Pause(Duration::from_millis(100))];
                let pings = ping.into_iter().cycle().take(20);
                Answer::stream(pings.chain([Part::Raw(event.into_bytes())]))
            }
            _ => good(seen),
        }
    });
    tried.await?.all_give_results()
}

async fn split(cx: Cx) -> Verdict {
    let cases = ["pieces of 1", "pieces of 2", "pieces of 3", "pieces of 7", "one piece"];
    let tried = try_calls(&cx, &cases, |seen| {
        let size = match seen.case().strip_prefix("pieces of ") {
            Some(size) => size.parse().unwrap_or(1),
            None if seen.case() == "one piece" => usize::MAX,
            None => return good(seen),
        };
        let log =
            |n: i32| notification("notifications/message", json!({ "level": "info", "data": n }));
        let all = (0..50).map(log).chain([right(seen)]);
        let stream = all.map(|message| format!("data: {message}\r\n\r\n")).collect::<String>();
        Answer::stream(in_pieces(stream.as_bytes(), size))
    });
    tried.await?.all_give_results()
}

async fn large(cx: Cx) -> Verdict {
    const MIB: usize = 1 << 20;
    let (endless, taken) = endless("data: {\"jsonrpc\":\"2.0\",\"pad\":\"");
    let cases = ["1 MiB", "10 MiB", "no end"];
    let tried = try_lists(&cx, &cases, move |seen| {
        let size = match seen.case() {
            "1 MiB" => MIB,
            "10 MiB" => 10 * MIB,
            "no end" => return Answer::stream(endless.clone()),
            _ => return good(seen),
        };
        let mut message = right(seen);
        if let Some(tool) = message.pointer_mut("/result/tools/0") {
            tool["description"] = "x".repeat(size).into();
        }
        Answer::messages([message])
    });
    let tried = tried.await?;
    // A client may have a limit; what it takes is whole.
    let one = tried.told("1 MiB")?;
    cx.warnings.unless(one.get("result").is_some(), "a list of 1 MiB", shown(one));
    let length = at(one, "/result/tools/0/description").as_str().map_or(0, str::len);
    expect(
        one.get("error").is_some() || length == MIB,
        "a description of 1 MiB",
        format!("{length} bytes"),
    )?;
    let ten = tried.told("10 MiB")?;
    cx.warnings.unless(ten.get("result").is_some(), "a list of 10 MiB", shown(ten));
    tried.error("no end")?;
    let taken = taken.load(Ordering::SeqCst);
    cx.warnings.unless(!taken, "a line without end given up", "half a gigabyte of it read");
    tried.goes_on()
}

const LOSSES: &[&str] = &[
    "an end behind the head",
    "an end behind a comment",
    "an end behind progress",
    "an end within an event",
    "an end of the body",
    "a reset",
    "a broken chunk",
    "a body cut short",
];

async fn lost_response(cx: Cx) -> Verdict {
    // A client that waits for more is not saved by its timeout.
    let step = |case: &str| {
        let mut step = call(case);
        step["timeout_ms"] = 600_000.into();
        step["progress"] = true.into();
        step
    };
    let tried = try_steps(&cx, LOSSES, step, |seen| {
        let json = right(seen).to_string();
        let half = json.split_at(json.len() / 2).0;
        let raw = |text: &str| Part::Raw(text.into());
        match seen.case() {
            "an end behind the head" => Answer::stream([Part::Break]),
            "an end behind a comment" => Answer::stream([raw(": x\n\n"), Part::Break]),
            "an end behind progress" => {
                let token = seen.meta("progressToken");
                let params = json!({ "progressToken": token, "progress": 1 });
                let progress = notification("notifications/progress", params);
                Answer::stream([Part::Message(progress), Part::Break])
            }
            "an end within an event" => {
                Answer::stream([raw(&format!("data: {half}")), Part::Break])
            }
            "an end of the body" => Answer::stream([raw(": x\n\n")]),
            "a reset" => Answer::stream([raw(&format!("data: {half}")), Part::Reset]),
            "a broken chunk" => {
                let head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
                Answer::wire([raw(head), raw("zz\r\nno chunk\r\n")])
            }
            "a body cut short" => {
                let head = format!(
                    "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    json.len(),
                );
                Answer::wire([raw(&head), raw(half)])
            }
            _ => good(seen),
        }
    });
    let tried = tried.await?;
    for case in LOSSES {
        tried.error(case)?;
        let ids = tried.requests(case).map(Seen::id).collect::<Vec<&Value>>();
        let again = ids.len().saturating_sub(1);
        expect(
            again <= 3,
            format!("no more than three tries more, with {case}"),
            again.to_string(),
        )?;
        let is_new = |(index, id): (usize, &&Value)| !ids.iter().take(index).any(|it| it == id);
        let told = format!("{ids:?}");
        expect(ids.iter().enumerate().all(is_new), "a new id for each try", told)?;
    }
    tried.goes_on()?;
    no_resumption(&tried)
}
