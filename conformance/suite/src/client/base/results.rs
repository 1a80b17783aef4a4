//! Results and errors, and what stands in them beside.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::super::asking::{call, with};
use super::super::discover::does_the_same;
use super::super::script::{endless, no_initialize, try_steps};
use super::super::trap::Trap;
use super::super::{Answer, Cx, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;
use crate::wire::message::META_VERSION;

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-result-type-absent", Both, type_absent),
    client_check!("client-result-type-unknown", Both, type_unknown),
    client_check!("client-error-legacy-codes", Both, legacy_codes),
    client_check!("client-meta-foreign-keys", Both, foreign_keys),
    client_check!("client-meta-server-info-ignored", Both, server_info_ignored),
    client_check!("client-icon-fetch-guards", Both, icon_fetch_guards),
];

/// The step of a case: `list` is asked for as a list, all others are called.
fn list_or_call(case: &str) -> Value {
    match case {
        "list" => json!({ "do": "tools/list", "params": { "cursor": case } }),
        tool => call(tool),
    }
}

async fn type_absent(cx: Cx) -> Verdict {
    let tried = try_steps(&cx, &["list", "call"], list_or_call, |seen| match seen.case() {
        "list" | "call" => {
            Answer::result(seen, with(result_of(seen), json!({ "resultType": null })))
        }
        _ => good(seen),
    });
    let tried = tried.await?;
    tried.all_give_results()?;
    tried.asks_once()
}

async fn type_unknown(cx: Cx) -> Verdict {
    let cases = ["list", "surprise", "COMPLETE", "5"];
    let tried = try_steps(&cx, &cases, list_or_call, |seen| {
        let kind = match seen.case() {
            "list" => json!("surprise"),
            "5" => json!(5),
            kind @ ("surprise" | "COMPLETE") => json!(kind),
            _ => return good(seen),
        };
        Answer::result(seen, with(result_of(seen), json!({ "resultType": kind })))
    });
    let tried = tried.await?;
    for case in cases {
        tried.error(case)?;
    }
    tried.goes_on()?;
    tried.asks_once()
}

async fn legacy_codes(cx: Cx) -> Verdict {
    for code in [-32001, -32003, -32004, -32000, -32042, -32019] {
        let case = format!("error {code}");
        refused_with(&cx, code).await.map_err(|stop| stop.of(case))?;
    }
    Ok(())
}

/// Codes of today have other numbers; the data is that which those have.
async fn refused_with(cx: &Cx, code: i64) -> Verdict {
    const FUTURE: &str = "2099-01-01";
    let part = move |seen: &Seen| {
        let data = json!({
            "supported": [FUTURE], "requested": seen.meta(META_VERSION),
            "requiredCapabilities": { "sampling": {} }, "elicitations": [],
        });
        Answer::error(seen, code, "no", data).status(400)
    };
    let played = cx.play(json!([{ "do": "tools/list" }, call("fine")]), part).await?;
    if played.requests.is_empty() {
        return Err(Stop::fail("requests", "none"));
    }
    played.error(0)?;
    played.error(1)?;
    no_initialize(&played, false)?;
    let lured = played.requests.iter().find(|seen| seen.meta(META_VERSION) == FUTURE);
    let seen = lured.map(|seen| shown(&seen.message)).unwrap_or_default();
    expect(lured.is_none(), "no other version than before", seen)?;
    let called = played.of("tools/call").next().map_or(usize::MAX, |seen| seen.number);
    let again = played.of("tools/list").filter(|seen| seen.number > called).count();
    expect(again == 0, "no list after the call", again.to_string())?;
    played.ended_well()
}

async fn foreign_keys(cx: Cx) -> Verdict {
    let tried = try_steps(&cx, &["list", "call"], list_or_call, |seen| {
        let foreign = json!({
            "io.modelcontextprotocol/x-unknown": { "a": [null] }, "io.modelcontextprotocol/serverInfo": 5,
            "traceparent": 7, "tracestate": {}, "com.example/null": null, "plain": [],
        });
        let mut result = with(result_of(seen), json!({ "_meta": foreign }));
        for entries in ["tools", "content"] {
            if let Some(entry) = result.get_mut(entries).and_then(|all| all.get_mut(0)) {
                entry["_meta"] = foreign.clone();
            }
        }
        match seen.method() {
            "server/discover" | "tools/list" | "tools/call" => Answer::result(seen, result),
            _ => good(seen),
        }
    });
    tried.await?.all_give_results()
}

async fn server_info_ignored(cx: Cx) -> Verdict {
    let named = |name: &str| json!({ "name": name, "version": "1.0.0" });
    let infos = [named("x"), Value::Null, named("GitHub MCP Server"), named(&"x".repeat(1 << 16))];
    does_the_same(&cx, infos).await
}

async fn icon_fetch_guards(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    let elsewhere = trap.url("/icon.png");
    let (endless, taken) = endless(PNG);
    let part = move |seen: &Seen| {
        let own = |path: &str| format!("{}{path}", seen.origin);
        match seen.target() {
            "/redirect.png" => {
                return Answer::bytes("", "").status(302).header("Location", elsewhere.clone());
            }
            "/endless.png" => return Answer::wire(endless.clone()),
            _ => {}
        }
        let sources = [
            "file:///etc/passwd",
            "javascript:1",
            "ftp://127.0.0.1/x.png",
            "ws://127.0.0.1/x",
            &*elsewhere,
            &own("/redirect.png"),
            &own("/endless.png"),
        ]
        .map(|src| json!({ "src": src, "mimeType": "image/png" }));
        let Some(mut result) = result_of(seen) else { return good(seen) };
        let info = json!({ "name": "icons", "version": "1", "icons": sources });
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": info });
        if let Some(tool) = result.get_mut("tools").and_then(|tools| tools.get_mut(0)) {
            tool["icons"] = json!(sources);
        }
        Answer::result(seen, result)
    };
    let steps = json!([
        { "do": "server/discover" }, { "do": "tools/list" }, call("echo"), { "do": "sleep", "ms": 100 },
    ]);
    let played = cx.play(steps, part).await?;
    played.result(2)?;
    trap.is_untouched("another origin").await?;
    for seen in played.requests.iter().filter(|seen| seen.target().ends_with(".png")) {
        cx.warnings.unless(false, "no icon from an address that is not https", seen.target());
        let secret = seen.header("Authorization").or_else(|| seen.header("Cookie"));
        expect(secret.is_none(), "no credentials for an icon", secret.unwrap_or_default())?;
    }
    let taken = taken.load(Ordering::SeqCst);
    expect(!taken, "an endless icon given up", "half a gigabyte of it read")
}

const PNG: &str = "HTTP/1.1 200 X\r\nContent-Type: image/png\r\n\r\n";
