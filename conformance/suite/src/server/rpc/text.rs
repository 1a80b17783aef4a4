//! Texts of any alphabet, depth and length, and bytes that are no text.

use std::time::Duration;

use serde_json::json;

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::{alive, answered, raw, refused};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::message::META_INFO;
use crate::wire::{Message, Open, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-jsonrpc-unicode", Both, unicode),
    server_check!("server-jsonrpc-depth", Both, depth).alone(),
    server_check!("server-jsonrpc-large-message", Both, large).alone(),
    server_check!("server-utf8-invalid", Both, invalid),
];

fn named(cx: &Cx, name: &str) -> Message {
    cx.request("server/discover").meta(META_INFO, json!({ "name": name, "version": "1" }))
}

async fn unicode(cx: Cx) -> Verdict {
    let long = "ü".repeat(32 * 1024);
    for name in ["🦀👩‍👩‍👧", "e\u{301}\u{327}", "שלום العربية", "a\u{2028}b", "a\0b", &long]
    {
        let request = named(&cx, name);
        let reply = raw(&cx, &request, request.text()).await?;
        reply.result().of("a client with a name in Unicode")?;
    }
    let in_name = named(&cx, "MARK");
    let in_id = Message::request("MARK", "server/discover");
    for (what, request) in [("a name", in_name), ("an id", in_id)] {
        let body = request.text().replace("MARK", r"\ud800");
        let reply = raw(&cx, &request, body).await.of(what)?;
        let text = String::from_utf8_lossy(&reply.body).to_ascii_lowercase();
        let is_well = reply.status().is_none_or(|status| status < 500);
        expect(is_well, format!("{what} with a lone surrogate: no status of 5xx"), reply.told())?;
        let id = reply.messages.last().and_then(|message| message.get("id")?.as_str());
        let is_invented = what == "an id" && id.is_some();
        let is_served = reply.result().is_ok() || text.contains("\"result\"");
        let is_echoed = !is_served || what == "a name" || text.contains(r"\ud800");
        let expected = format!("{what} with a lone surrogate: a refusal, or the same escape back");
        expect(is_echoed && !is_invented, expected, reply.told())?;
    }
    Ok(())
}

async fn depth(cx: Cx) -> Verdict {
    for depth in [100, 1_000, 100_000, 1_000_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[", ""), ("{\"a\":", "")] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let what = format!("{depth} times {open}{close}");
            let request = cx.request("server/discover").param("x", "MARK");
            let body = request.text().replace("\"MARK\"", &nested);
            answered_or_cut(&cx, &request, body, !close.is_empty()).await.of(&what)?;
        }
    }
    Ok(())
}

/// What is refused for its length may be cut off before the refusal can be read.
async fn answered_or_cut(cx: &Cx, request: &Message, body: String, is_json: bool) -> Verdict {
    let length = body.len();
    match raw(cx, request, body).await {
        // JSON may be nested too deep or be too long for a parser; a line that it does not take has no id for an answer.
        Ok(reply) if !cx.is_http() && reply.messages.is_empty() => {
            cx.warnings.unless(!is_json, "a result or a refusal", reply.told());
            Ok(())
        }
        Ok(reply) => answered(&reply),
        Err(Stop::Fail { .. }) if length > LONG && cx.is_http() => alive(cx).await,
        Err(Stop::Fail { expected, seen }) if length > LONG => {
            cx.warnings.unless(false, expected, seen);
            Ok(())
        }
        Err(stop) => Err(stop),
    }
}

/// A length in bytes that a server need not take.
const LONG: usize = 512 * 1024;

async fn large(cx: Cx) -> Verdict {
    let mib = 1024 * 1024;
    let keys = (0..100_000).map(|at| format!("\"k{at}\":1")).collect::<Vec<_>>().join(",");
    let request = cx.request("server/discover").param("x", "MARK");
    let put = |value: &str| request.text().replace("\"MARK\"", value);
    let long_key = format!("{{\"{}\":1}}", "k".repeat(64 * 1024));
    let bodies = [
        ("a megabyte of text", request.clone().meta("com.example/pad", "p".repeat(mib)).text()),
        ("a number of a megabyte", put(&"1".repeat(mib))),
        ("100,000 keys", put(&format!("{{{keys}}}"))),
        ("a key of 64 KiB", put(&long_key)),
    ];
    for (what, body) in bodies {
        answered_or_cut(&cx, &request, body, true).await.of(what)?;
    }
    Ok(())
}

async fn invalid(cx: Cx) -> Verdict {
    let sequences: [&[u8]; 5] =
        [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x98"];
    let request = cx.request("server/discover");
    let places = [
        ("a known text", named(&cx, "MARK")),
        ("an unknown member", request.clone().param("x", "MARK")),
        ("a key", request.param("MARK", 1)),
    ];
    for (what, request) in places {
        for sequence in sequences {
            let body = request.text().into_bytes();
            let at = body.windows(4).position(|it| it == b"MARK").unwrap_or_default();
            let (before, after) = body.split_at(at);
            let after = after.split_at(4).1;
            let what = format!("{sequence:02x?} in {what}");
            let reply = raw(&cx, &request, [before, sequence, after].concat()).await.of(&what)?;
            // That messages are UTF-8 binds who sends them.
            if let Err(Stop::Fail { expected, seen }) =
                refused(&cx, &reply, &[-32700, -32600]).of(&what)
            {
                cx.warnings.unless(false, expected, seen);
            }
        }
    }
    if cx.is_http2() {
        // Its frames are cut by the library.
        return Ok(());
    }
    cut_within_a_character(&cx).await?.result().of("a body cut within a character").map(drop)
}

async fn cut_within_a_character(cx: &Cx) -> Verdict<Reply> {
    let request = named(cx, "snow ☃");
    let body = request.text().into_bytes();
    let at = body.windows(3).position(|it| it == "☃".as_bytes()).unwrap_or_default() + 1;
    let (before, after) = body.split_at(at);
    // The parts travel apart if there is some time between them.
    let pause = Duration::from_millis(30);
    if !cx.is_http() {
        let mut process = cx.process()?;
        process.send(before).await?;
        tokio::time::sleep(pause).await;
        process.send(&[after, b"\n"].concat()).await?;
        return Open::lines(process, request.id().clone()).finish().await;
    }
    let post = cx.post(&request)?.without_length().header("Transfer-Encoding", "chunked").body("");
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    let mut connection = cx.connect().await?;
    connection.send(&[post.encode(), chunk(before)].concat()).await?;
    tokio::time::sleep(pause).await;
    connection.send(&[chunk(after), b"0\r\n\r\n".to_vec()].concat()).await?;
    Reply::read(&mut connection).await
}
