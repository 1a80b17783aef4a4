//! What clients remember, and for how long.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::asking::{asks, call, tick, with};
use super::pagination::names;
use super::{Answer, Cx, Played, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-caching-fresh", Both, fresh),
    client_check!("client-caching-ttl-zero", Both, ttl_zero),
    client_check!("client-caching-ttl-absent", Both, ttl_absent),
    client_check!("client-caching-ttl-negative", Both, ttl_negative),
    client_check!("client-caching-expired", Both, expired),
    client_check!("client-caching-no-polling", Both, no_polling),
    client_check!("client-caching-key", Both, key),
    client_check!("client-caching-after-input", Both, after_input),
    client_check!("client-caching-private", Http, private),
    client_check!("client-caching-invalidated", Both, invalidated),
    client_check!("client-caching-page", Both, page),
    client_check!("client-caching-cursor-invalid", Both, cursor_invalid),
];

/// Milliseconds that outlast any check, that end within it, and that pass the latter by.
const LONG: i64 = 600_000;
const SHORT: i64 = 300;
const LATER: i64 = 600;

/// The list of one tool of this name, which stays fresh as `hint` says.
fn one_tool(seen: &Seen, name: &str, hint: Value) -> Answer {
    let tools = json!([{ "name": name, "inputSchema": { "type": "object" } }]);
    let result = with(result_of(seen), json!({ "tools": tools }));
    Answer::result(seen, with(Some(result), hint))
}

/// A server whose only tool is named for how often it was listed.
fn renaming(hint: Value) -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    move |seen| match seen.method() {
        "tools/list" => one_tool(seen, &format!("tool-{}", seen.turn), hint.clone()),
        _ => good(seen),
    }
}

/// The step told of exactly these tools.
fn told(played: &Played, step: usize, tools: &[&str]) -> Verdict {
    let listed = names(played.result(step)?, "tools");
    let expected = format!("{} in step {step}", tools.join(", "));
    expect(listed == tools, expected, listed.join(", "))
}

/// There were so many requests of this method.
fn sent(played: &Played, method: &str, count: usize) -> Verdict {
    let seen = played.of(method).count();
    expect(seen == count, format!("{count} requests {method}"), seen.to_string())
}

fn list() -> Value {
    json!({ "do": "tools/list" })
}

fn sleep(ms: i64) -> Value {
    json!({ "do": "sleep", "ms": ms })
}

async fn fresh(cx: Cx) -> Verdict {
    let hint = json!({ "ttlMs": LONG, "cacheScope": "private" });
    let played = cx.play(json!([list(), list()]), renaming(hint)).await?;
    sent(&played, "tools/list", 1)?;
    told(&played, 0, &["tool-0"])?;
    told(&played, 1, &["tool-0"])
}

/// The second list is a new one.
async fn listed_anew(cx: &Cx, hint: Value) -> Verdict {
    let played = cx.play(json!([list(), list()]), renaming(hint)).await?;
    sent(&played, "tools/list", 2)?;
    told(&played, 0, &["tool-0"])?;
    told(&played, 1, &["tool-1"])
}

async fn ttl_zero(cx: Cx) -> Verdict {
    listed_anew(&cx, json!({ "ttlMs": 0 })).await
}

async fn ttl_absent(cx: Cx) -> Verdict {
    listed_anew(&cx, json!({ "ttlMs": null, "cacheScope": null })).await
}

async fn ttl_negative(cx: Cx) -> Verdict {
    listed_anew(&cx, json!({ "ttlMs": -5 })).await
}

async fn expired(cx: Cx) -> Verdict {
    let steps = json!([list(), sleep(LATER), list()]);
    let played = cx.play(steps, renaming(json!({ "ttlMs": SHORT }))).await?;
    sent(&played, "tools/list", 2)?;
    told(&played, 2, &["tool-1"])
}

async fn no_polling(cx: Cx) -> Verdict {
    let steps = json!([list(), sleep(2 * LATER)]);
    let played = cx.play(steps, renaming(json!({ "ttlMs": SHORT / 3 }))).await?;
    played.first("tools/list")?;
    let times = played.of("tools/list").map(|seen| seen.at).collect::<Vec<_>>();
    let pauses = times.windows(2).filter_map(|pair| Some(*pair.get(1)? - *pair.first()?));
    let pauses = pauses.collect::<Vec<Duration>>();
    let seen = format!("{} more, after {pauses:?}", pauses.len());
    cx.warnings.unless(pauses.is_empty(), "one request, since nobody asked for more", &seen);
    let (least, most) = (pauses.iter().min(), pauses.iter().max());
    // Two pauses may be alike by chance.
    let vary = least.zip(most).is_none_or(|(least, most)| *most > least.mul_f64(1.05));
    expect(pauses.len() < 3 || vary, "polling with jitter and backoff", seen)
}

async fn key(cx: Cx) -> Verdict {
    let part = |seen: &Seen| {
        let hint = json!({ "ttlMs": LONG, "cacheScope": "private" });
        match (seen.method(), seen.param("cursor").as_str()) {
            ("tools/list", None) => {
                one_tool(seen, "first", with(Some(hint), json!({ "nextCursor": "p2" })))
            }
            ("tools/list", Some(_)) => one_tool(seen, "second", hint),
            ("resources/read", _) => {
                let text = format!("this is {}", seen.param("uri"));
                let contents = json!([{ "uri": seen.param("uri"), "text": text }]);
                let result = with(result_of(seen), json!({ "contents": contents }));
                Answer::result(seen, with(Some(result), hint))
            }
            _ => {
                let result = result_of(seen).map(|result| with(Some(result), hint));
                result.map_or_else(|| good(seen), |result| Answer::result(seen, result))
            }
        }
    };
    let read = |uri: &str| json!({ "do": "resources/read", "params": { "uri": uri } });
    let steps = json!([
        read("test://a"), read("test://b"), list(),
        { "do": "tools/list", "params": { "cursor": "p2" } }, { "do": "prompts/list" }, read("test://a"),
    ]);
    let played = cx.play(steps, part).await?;
    for (step, uri) in [(0, "test://a"), (1, "test://b"), (5, "test://a")] {
        let result = played.result(step)?;
        let text = format!("this is \"{uri}\"");
        expect(*at(result, "/contents/0/text") == text, text, shown(result))?;
    }
    // A list that was asked for without a cursor may follow the pages by itself.
    told(&played, 2, &["first"]).or_else(|_| told(&played, 2, &["first", "second"]))?;
    told(&played, 3, &["second"])?;
    let prompts = names(played.result(4)?, "prompts");
    expect(prompts == ["greet"], "the prompt greet", prompts.join(", "))?;
    sent(&played, "prompts/list", 1)
}

async fn after_input(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "resources/read" if !seen.is_retry() => asks(seen, json!({ "form": tick() })),
        "resources/read" => {
            let text = format!("after {} requests", seen.turn);
            let contents = json!([{ "uri": seen.param("uri"), "text": text }]);
            let members = json!({ "contents": contents, "ttlMs": LONG });
            Answer::result(seen, with(result_of(seen), members))
        }
        _ => good(seen),
    };
    let read = json!({ "do": "resources/read", "params": { "uri": "test://ask" } });
    let played = cx.play(json!([read, read]), part).await?;
    if !played.requests.iter().any(Seen::is_retry) {
        return Err(Stop::skip("the client does not answer an elicitation"));
    }
    let asked = played.of("resources/read").filter(|seen| !seen.is_retry()).count();
    expect(asked == 2, "a second read without what was answered in the first", asked.to_string())?;
    let text = at(played.result(1)?, "/contents/0/text");
    expect(text == "after 3 requests", "what the second read gave", shown(text))
}

async fn private(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "tools/list" => {
            let whose = seen.header("Authorization").unwrap_or("nobody").replace(' ', "-");
            one_tool(seen, &whose, json!({ "ttlMs": LONG, "cacheScope": "private" }))
        }
        _ => good(seen),
    };
    let list = |token: &str| json!({ "do": "tools/list", "token": token });
    let played = cx.play(json!([list("A"), list("B"), list("A")]), part).await?;
    if played.of("tools/list").all(|seen| seen.header("Authorization").is_none()) {
        return Err(Stop::skip("the client sends no tokens"));
    }
    for (step, whose) in ["Bearer-A", "Bearer-B", "Bearer-A"].into_iter().enumerate() {
        told(&played, step, &[whose])?;
    }
    Ok(())
}

async fn invalidated(cx: Cx) -> Verdict {
    let changes = json!({ "toolsListChanged": true });
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let played = changing(&cx, changes, changed, list()).await?;
    told(&played, 1, &["tool-0"])?;
    told(&played, 4, &["tool-1"])?;
    let changes = json!({ "resourceSubscriptions": ["test://a"] });
    let changed = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "test://a" },
    });
    let read = json!({ "do": "resources/read", "params": { "uri": "test://a" } });
    let played = changing(&cx, changes, changed, read).await?;
    let text = at(played.result(4)?, "/contents/0/text");
    expect(text == "turn 1", "what changed, once the client heard of it", shown(text))
}

/// Asks for the same before and after a change that the client hears of.
async fn changing(cx: &Cx, changes: Value, changed: Value, asked: Value) -> Verdict<Played> {
    let (is_called, method) = (Arc::new(Notify::new()), at(&asked, "/do").clone());
    let part = move |seen: &Seen| {
        let long = json!({ "ttlMs": LONG });
        match seen.method() {
            "subscriptions/listen" => {
                super::answer::listening_until(seen, Arc::clone(&is_called), changed.clone())
            }
            // The client has taken in what it asked for before, so that the change concerns it.
            "tools/call" => {
                is_called.notify_one();
                good(seen)
            }
            it if *it == method => {
                let text = json!([{ "uri": "test://a", "text": format!("turn {}", seen.turn) }]);
                match it {
                    "tools/list" => one_tool(seen, &format!("tool-{}", seen.turn), long),
                    _ => {
                        let result = with(result_of(seen), json!({ "contents": text }));
                        Answer::result(seen, with(Some(result), long))
                    }
                }
            }
            _ => good(seen),
        }
    };
    let listen = json!({
        "do": "subscriptions/listen", "params": { "notifications": changes },
        "events": 1, "ms": 30_000, "beside": true,
    });
    let played =
        cx.play(json!([listen, asked, call("echo"), { "do": "wait" }, asked]), part).await?;
    if played.of("subscriptions/listen").next().is_none() {
        return Err(Stop::skip("the client does not listen"));
    }
    let heard = played.step(0)?;
    let events = at(heard, "/events").as_array().map_or(0, Vec::len);
    expect(events == 1, "one change that the client hears of", shown(heard))?;
    Ok(played)
}

/// A list of two pages, the second of which is soon stale. `late` is what its cursor gets the second time.
fn two_pages(
    late: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    let cursors = std::sync::atomic::AtomicUsize::new(0);
    move |seen| match (seen.method(), seen.param("cursor").as_str()) {
        ("tools/list", None) => {
            let name = if seen.turn == 0 { "first" } else { "first-anew" };
            one_tool(seen, name, json!({ "ttlMs": LONG, "nextCursor": "p2" }))
        }
        ("tools/list", Some(_)) => {
            match cursors.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => one_tool(seen, "second", json!({ "ttlMs": SHORT })),
                _ => late(seen),
            }
        }
        _ => good(seen),
    }
}

async fn page(cx: Cx) -> Verdict {
    let late = |seen: &Seen| one_tool(seen, "second-anew", json!({ "ttlMs": LONG }));
    let all = json!({ "do": "tools/list", "all": true });
    let played = cx.play(json!([all, sleep(LATER), all]), two_pages(late)).await?;
    told(&played, 0, &["first", "second"])?;
    let with_cursor = played.of("tools/list").filter(|seen| seen.param("cursor") == "p2").count();
    expect(with_cursor == 2, "the stale page asked for again", format!("{with_cursor} requests"))?;
    // The first page may be remembered, or read again for a list of one piece.
    let listed = names(played.result(2)?, "tools");
    let is_new = matches!(listed.first().map(|name| &**name), Some("first" | "first-anew"))
        && listed.get(1).is_some_and(|name| name == "second-anew")
        && listed.len() == 2;
    expect(is_new, "both pages, the second anew", listed.join(", "))
}

async fn cursor_invalid(cx: Cx) -> Verdict {
    let late = |seen: &Seen| Answer::error(seen, -32602, "Invalid cursor", Value::Null);
    let second = json!({ "do": "tools/list", "params": { "cursor": "p2" } });
    let steps = json!([list(), second, sleep(LATER), second, list()]);
    let played = cx.play(steps, two_pages(late)).await?;
    told(&played, 0, &["first"])?;
    told(&played, 1, &["second"])?;
    let refused = played.of("tools/list").filter(|seen| seen.param("cursor") == "p2").nth(1);
    let refused = refused.ok_or_else(|| Stop::fail("the stale page asked for again", "nothing"))?;
    let anew = played
        .of("tools/list")
        .any(|seen| seen.number > refused.number && seen.param("cursor").is_null());
    expect(anew, "the list read from its beginning, once its cursor is refused", "not again")?;
    told(&played, 4, &["first-anew"])
}
