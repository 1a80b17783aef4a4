//! Versions, and servers of other revisions.

use serde_json::{Value, json};

use super::super::asking::call;
use super::super::schema::unsupported;
use super::super::script::{legacy, no_initialize, right, speaks_legacy};
use super::super::{Answer, Cx, Played, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;
use crate::wire::message::{META_VERSION, VERSION};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-version-retry", Both, retry),
    client_check!("client-version-no-common", Both, no_common),
    client_check!("client-version-era-remembered", Both, era_remembered),
    client_check!("client-http-modern-error", Http, http_modern_error),
    client_check!("client-http-legacy-fallback", Http, http_legacy_fallback),
    client_check!("client-stdio-discover-first", Stdio, stdio_discover_first),
    client_check!("client-stdio-modern-error", Stdio, stdio_modern_error),
    client_check!("client-stdio-legacy-fallback", Stdio, stdio_legacy_fallback),
];

fn steps() -> Value {
    json!([{ "do": "tools/list" }, call("echo")])
}

/// A server that answers the first request as `first` does, and all others as it should.
fn at_first(
    first: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    move |seen| if seen.number == 0 { first(seen) } else { good(seen) }
}

async fn retry(cx: Cx) -> Verdict {
    for supported in [json!([VERSION]), json!(["2099-01-01", VERSION])] {
        let list = supported.clone();
        let part = at_first(move |seen| unsupported(seen, &list));
        let played = cx.play(steps(), part).await?;
        let case = format!("{supported} supported");
        retried(&played).map_err(|stop| stop.of(case))?;
    }
    Ok(())
}

/// The first request came again, in the version that is supported. A probe has told what it was sent for, and need not.
fn retried(played: &Played) -> Verdict {
    let first = played.requests.first().ok_or_else(|| Stop::fail("a request", "none"))?;
    let is_probe = first.method() == "server/discover";
    let is_again = |seen: &&Seen| is_probe || seen.method() == first.method();
    let mut later = played.requests.iter().filter(|seen| seen.number > 0).filter(is_again);
    let again = later.next().ok_or_else(|| Stop::fail("the request again", "nothing"))?;
    let told = || shown(&again.message);
    expect(again.meta(META_VERSION) == VERSION, format!("{VERSION} in _meta"), told())?;
    if let Some(header) = again.head.as_ref().map(|_| again.header("MCP-Protocol-Version")) {
        let expected = format!("MCP-Protocol-Version: {VERSION}");
        expect(header == Some(VERSION), expected, format!("{header:?}"))?;
    }
    let params = |seen: &Seen| {
        let mut params = seen.message.get("params").cloned().unwrap_or_default();
        params["_meta"] = Value::Null;
        params
    };
    expect(is_probe || params(first) == params(again), "the same params", told())?;
    played.result(0)?;
    played.result(1).map(drop)
}

async fn no_common(cx: Cx) -> Verdict {
    for supported in [json!(["1900-01-01"]), json!([]), Value::Null, json!("x")] {
        let list = supported.clone();
        let part = move |seen: &Seen| unsupported(seen, &list);
        let played = cx.play(json!([{ "do": "tools/list" }]), part).await?;
        let case = format!("{supported} supported");
        played.error(0).map_err(|stop| stop.of(&case))?;
        let sent = played.requests.iter().map(Seen::method).collect::<Vec<_>>();
        // The probe and the request itself, each twice at the most.
        let most = sent.iter().map(|it| sent.iter().filter(|other| it == *other).count()).max();
        let seen = sent.join(", ");
        expect(most <= Some(2), format!("no loop, with {case}"), seen)?;
        played.ended_well()?;
    }
    Ok(())
}

/// Goes on if the client has shown that it speaks an earlier revision with those that know no other.
async fn in_legacy(cx: &Cx) -> Verdict<Played> {
    let played = cx.play(steps(), legacy).await?;
    if !speaks_legacy(&played) {
        return Err(Stop::skip("the client speaks no earlier revision"));
    }
    Ok(played)
}

async fn era_remembered(cx: Cx) -> Verdict {
    let played = in_legacy(&cx).await?;
    let fallen = played.first("initialize")?.number;
    let mut later = played.requests.iter().filter(|seen| seen.number > fallen);
    let probe = later.find(|seen| seen.is_modern());
    let seen = probe.map(|seen| shown(&seen.message)).unwrap_or_default();
    expect(probe.is_none(), "no request of the new revision after the first fall-back", seen)
}

async fn http_modern_error(cx: Cx) -> Verdict {
    for code in [-32022, -32021, -32020] {
        for form in ["application/json", "application/json; charset=utf-8", "text/event-stream"] {
            let part = at_first(move |seen| modern_error(seen, code, form));
            let played = cx.play(steps(), part).await?;
            let judged = no_initialize(&played, true).and_then(|()| {
                let get = played.requests.iter().find(|seen| seen.http_method() == "GET");
                expect(get.is_none(), "no GET", get.map(Seen::target).unwrap_or_default())?;
                played.ended_well()
            });
            judged.map_err(|stop| stop.of(format!("error {code} as {form}")))?;
        }
    }
    Ok(())
}

/// An error that only this revision has.
fn modern_error(seen: &Seen, code: i64, form: &str) -> Answer {
    let data = json!({
        "supported": [VERSION], "requested": seen.meta(META_VERSION),
        "requiredCapabilities": { "sampling": {} },
    });
    let error = json!({ "code": code, "message": "no", "data": data });
    let text = json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }).to_string();
    let text =
        if form.starts_with("text") { format!("data: {text}\n\n") } else { format!("{text}\n") };
    Answer::bytes(form, text).status(400)
}

async fn http_legacy_fallback(cx: Cx) -> Verdict {
    let speaks = speaks_legacy(&cx.play(steps(), legacy).await?);
    for (case, form, body) in [
        ("no body", "", ""),
        ("a text", "text/plain", "Bad Request"),
        ("JSON of its own", "application/json", r#"{"detail":"no"}"#),
        (
            "error -32000",
            "application/json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#,
        ),
    ] {
        let part = move |seen: &Seen| {
            if seen.is_modern() { Answer::bytes(form, body).status(400) } else { legacy(seen) }
        };
        let played = cx.play(steps(), part).await?;
        let judged = if speaks {
            fell_back(&played)
        } else {
            played.error(0).map(drop).and_then(|()| played.ended_well())
        };
        judged.map_err(|stop| stop.of(case))?;
    }
    for (status, challenge) in [(401, "Bearer"), (403, "Bearer error=\"insufficient_scope\"")] {
        let part = move |seen: &Seen| match seen.http_method() {
            "POST" => Answer::bytes("", "").status(status).header("WWW-Authenticate", challenge),
            _ => Answer::bytes("", "").status(404),
        };
        let played = cx.play(steps(), part).await?;
        no_initialize(&played, true).map_err(|stop| stop.of(format!("status {status}")))?;
    }
    Ok(())
}

/// The client has initialized, and then got along with the server.
fn fell_back(played: &Played) -> Verdict {
    let greeted = played.first("initialize")?;
    let version = greeted.param("protocolVersion");
    expect(version != VERSION && version.is_string(), "an earlier revision", shown(version))?;
    let mut later = played.requests.iter().filter(|seen| seen.number > greeted.number);
    let modern = later.find(|seen| seen.is_modern());
    let seen = modern.map(|seen| shown(&seen.message)).unwrap_or_default();
    expect(modern.is_none(), "requests of the earlier revision", seen)?;
    played.result(0)?;
    played.result(1).map(drop)
}

async fn stdio_discover_first(cx: Cx) -> Verdict {
    let played = cx.play(steps(), good).await?;
    let first = played.requests.first().ok_or_else(|| Stop::fail("a request", "none"))?;
    let told = shown(&first.message);
    expect(first.method() != "initialize", "no initialize", &told)?;
    let is_probe = first.method() == "server/discover" && first.meta(META_VERSION) == VERSION;
    expect(is_probe, format!("server/discover first, in {VERSION}"), told)
}

async fn stdio_modern_error(cx: Cx) -> Verdict {
    let steps = || json!([{ "do": "server/discover" }, { "do": "tools/list" }]);
    for code in [-32022, -32021] {
        let part = move |seen: &Seen| match (seen.method(), seen.turn) {
            ("server/discover", 0) => modern_error(seen, code, "application/json"),
            _ => good(seen),
        };
        let played = cx.play(steps(), part).await?;
        let judged = no_initialize(&played, true).and_then(|()| {
            let mut later = played.requests.iter().filter(|seen| seen.number > 0);
            let again = later.any(|seen| seen.meta(META_VERSION) == VERSION);
            expect(again || code != -32022, format!("a request in {VERSION}"), "none")
        });
        judged.map_err(|stop| stop.of(format!("error {code}")))?;
    }
    let part = |seen: &Seen| match seen.method() {
        "server/discover" => {
            let mut message = right(seen);
            message["result"]["supportedVersions"] = json!(["2099-01-01"]);
            Answer::json(message)
        }
        _ => unsupported(seen, &json!(["2099-01-01"])),
    };
    let played = cx.play(steps(), part).await?;
    no_initialize(&played, false).map_err(|stop| stop.of("other versions on offer"))?;
    played.ended_well()
}

async fn stdio_legacy_fallback(cx: Cx) -> Verdict {
    in_legacy(&cx).await?;
    for code in [-32601, -32602, -32600, -32000, -32603, 1] {
        let part = move |seen: &Seen| match seen.is_modern() {
            true => Answer::error(seen, code, "no", Value::Null),
            false => legacy(seen),
        };
        let played = cx.play(steps(), part).await?;
        fell_back(&played).map_err(|stop| stop.of(format!("error {code}")))?;
    }
    let part = |seen: &Seen| match seen.is_modern() {
        true => Answer::close(),
        false => legacy(seen),
    };
    let played = cx.play(steps(), part).await?;
    // It takes a new process, and clients should start one, but need not.
    if let Err(Stop::Fail { expected, seen }) = fell_back(&played) {
        cx.warnings.unless(false, format!("an end of the process: {expected}"), seen);
    }
    Ok(())
}
