//! JSON-RPC, and the text that it is written in.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::answer::{Part, listening_until};
use super::super::asking::call;
use super::super::schema::everything;
use super::super::script::{
    after, framed, in_pieces, notification, raw, right, try_calls, try_steps,
};
use super::super::{Answer, Cx, Played, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, cut, shown};
use crate::wire::{Head, Noted, keys};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-jsonrpc-envelope", Both, envelope).last(),
    client_check!("client-jsonrpc-request-id", Both, request_id).last(),
    client_check!("client-jsonrpc-id-unique", Both, id_unique),
    client_check!("client-jsonrpc-hostile-response", Both, hostile_response),
    client_check!("client-notification-unanswered", Both, notification_unanswered),
    client_check!("client-notification-tolerated", Both, notification_tolerated),
    client_check!("client-notification-shape", Both, notification_shape),
    client_check!("client-utf8", Both, utf8),
    client_check!("client-utf8-split", Both, utf8_split),
];

/// Everything that the client has sent in this run, and a bit of all it can.
pub(super) async fn all_sent(cx: &Cx) -> Verdict<(Played, Vec<Value>)> {
    let played = everything(cx).await?;
    for seen in played.requests.iter().filter(|seen| !seen.body.is_empty()) {
        let text = cut(&String::from_utf8_lossy(&seen.body));
        expect(seen.message.is_object(), "one JSON object a message", text)?;
    }
    played.first("tools/call")?;
    let all = cx.record.all().into_iter().filter(is_message);
    Ok((played, all.map(|noted| noted.message).collect()))
}

/// Whether something was sent as a message, and not to ask for metadata, an icon or a token.
pub(in super::super) fn is_message(noted: &Noted) -> bool {
    let is_posted = |head: &Head| head.line.starts_with("POST /mcp ");
    noted.message.is_object() && noted.head.as_ref().is_none_or(is_posted)
}

async fn envelope(cx: Cx) -> Verdict {
    let (played, all) = all_sent(&cx).await?;
    for message in &all {
        let is_right = at(message, "/jsonrpc") == "2.0"
            && at(message, "/method").as_str().is_some_and(|method| !method.is_empty())
            && message.get("params").is_none_or(Value::is_object)
            && message.get("result").or_else(|| message.get("error")).is_none();
        expect(is_right, "JSON-RPC requests and notifications", shown(message))?;
    }
    for seen in &played.requests {
        let twice = keys::twice(&seen.body);
        let text = cut(&String::from_utf8_lossy(&seen.body));
        expect(twice.is_none(), "every key once in its object", text)?;
    }
    Ok(())
}

async fn request_id(cx: Cx) -> Verdict {
    let (_, all) = all_sent(&cx).await?;
    for (message, id) in all.iter().filter_map(|message| Some((message, message.get("id")?))) {
        let is_safe = id.as_i64().is_some_and(|id| id.unsigned_abs() < 1 << 53);
        let expected = "ids that are strings, or integers that every reader of JSON can tell apart";
        expect(id.is_string() || is_safe, expected, shown(message))?;
    }
    Ok(())
}

/// Calls three tools at once, and holds their answers back until all of them were called. A subscription that is opened
/// before them hears of it then.
pub(in super::super) async fn at_once(cx: &Cx) -> Verdict<Played> {
    let held = [(); 3].map(|()| Arc::new(Notify::new()));
    let is_called = Arc::new(Notify::new());
    let part = move |seen: &Seen| match (seen.method(), held.get(seen.turn)) {
        ("tools/call", Some(told)) => {
            if seen.turn + 1 == held.len() {
                held.iter().chain([&is_called]).for_each(|told| told.notify_one());
            }
            Answer::stream([Part::Until(Arc::clone(told)), Part::Message(right(seen))])
        }
        ("subscriptions/listen", _) => {
            let changed = notification("notifications/tools/list_changed", json!({}));
            listening_until(seen, Arc::clone(&is_called), changed)
        }
        _ => good(seen),
    };
    let listen = json!({
        "do": "subscriptions/listen", "params": { "notifications": { "toolsListChanged": true } },
        "events": 1, "ms": 2_000, "beside": true,
    });
    let call = |name: &str| {
        json!({
            "do": "tools/call", "params": { "name": name }, "progress": true, "timeout_ms": 20_000,
            "beside": true,
        })
    };
    let played = cx.play(json!([listen, call("a"), call("b"), call("c")]), part).await?;
    played.first("tools/call")?;
    if (1..4).any(|step| played.result(step).is_err()) {
        return Err(Stop::skip("the client does not call several tools at once"));
    }
    Ok(played)
}

async fn id_unique(cx: Cx) -> Verdict {
    let played = at_once(&cx).await?;
    let open = played
        .requests
        .iter()
        .filter(|seen| matches!(seen.method(), "tools/call" | "subscriptions/listen"));
    let open = open.map(Seen::id).collect::<Vec<_>>();
    let is_new = |(index, id): (usize, &&Value)| !open.iter().take(index).any(|it| it == id);
    let told = open.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    expect(open.iter().enumerate().all(is_new), "an id of its own for each open request", told)
}

async fn hostile_response(cx: Cx) -> Verdict {
    let cases = HOSTILE.iter().map(|(case, _)| *case).collect::<Vec<_>>();
    let part = |seen: &Seen| match HOSTILE.iter().find(|(case, _)| *case == seen.case()) {
        Some((case, _)) => Answer::bytes("application/json", format!("{}\n", hostile(case, seen))),
        None => good(seen),
    };
    let step = |case: &str| {
        let is_long = HOSTILE.iter().any(|(it, outcome)| *it == case && outcome.takes_long());
        let time = if is_long { 1_500 } else { 300 };
        json!({ "do": "tools/list", "params": { "cursor": case }, "timeout_ms": time })
    };
    let tried = try_steps(&cx, &cases, step, part).await?;
    for (case, outcome) in HOSTILE {
        match outcome {
            Outcome::Error => drop(tried.error(case)?),
            Outcome::Doubtful => {
                let told = tried.told(case)?;
                let is_error = told.get("error").is_some();
                cx.warnings.unless(is_error, format!("an error, with {case}"), shown(told));
            }
            Outcome::Any => drop(tried.told(case)?),
        }
    }
    tried.goes_on_or_warns(&cx)
}

/// What becomes of a wrong response.
enum Outcome {
    Error,
    /// Most likely an error; nothing says that it has to be one.
    Doubtful,
    /// There is much to be read.
    Any,
}

impl Outcome {
    const fn takes_long(&self) -> bool {
        matches!(self, Self::Any)
    }
}

const HOSTILE: &[(&str, Outcome)] = &[
    ("neither result nor error", Outcome::Error),
    ("a result that is 5", Outcome::Error),
    ("tools that are no array", Outcome::Error),
    ("an error whose code is a text", Outcome::Error),
    ("the id of another call", Outcome::Error),
    ("no JSON", Outcome::Error),
    ("both result and error", Outcome::Doubtful),
    ("an id of another type", Outcome::Doubtful),
    ("no id", Outcome::Doubtful),
    ("a null id", Outcome::Doubtful),
    ("JSON-RPC 1.0", Outcome::Doubtful),
    ("an array of one", Outcome::Doubtful),
    ("two objects", Outcome::Doubtful),
    ("10,000 tools", Outcome::Any),
    ("100,000 arrays in each other", Outcome::Any),
];

fn hostile(case: &str, seen: &Seen) -> String {
    let mut message = right(seen);
    match case {
        "neither result nor error" => message["result"] = Value::Null,
        "a result that is 5" => message["result"] = 5.into(),
        "tools that are no array" => message["result"]["tools"] = json!({}),
        "an error whose code is a text" => {
            message["error"] = json!({ "code": "x", "message": "no" });
        }
        "the id of another call" => message["id"] = "of-another-call".into(),
        "no JSON" => return "<html>no</html>".to_owned(),
        "both result and error" => message["error"] = json!({ "code": -32603, "message": "no" }),
        "an id of another type" => {
            message["id"] = match seen.id() {
                Value::String(id) => id.parse::<i64>().unwrap_or(1).into(),
                id => id.to_string().into(),
            };
        }
        "a null id" => message["id"] = Value::Null,
        "JSON-RPC 1.0" => message["jsonrpc"] = "1.0".into(),
        "an array of one" => message = json!([message]),
        "two objects" => return format!("{message}{message}"),
        "10,000 tools" => {
            let tool =
                |n| json!({ "name": format!("tool-{n}"), "inputSchema": { "type": "object" } });
            message["result"]["tools"] = (0..10_000).map(tool).collect();
        }
        _ => {}
    }
    // What is said to be missing is.
    let gone = match case {
        "neither result nor error" | "an error whose code is a text" => "result",
        "no id" => "id",
        _ => "",
    };
    if let Some(members) = message.as_object_mut() {
        members.remove(gone);
    }
    let text = message.to_string();
    match case {
        "100,000 arrays in each other" => {
            let deep = format!("{{\"deep\":{}{},", "[".repeat(100_000), "]".repeat(100_000));
            text.replacen('{', &deep, 1)
        }
        _ => text,
    }
}

/// Notifications that nobody asked for.
fn unasked() -> Vec<Value> {
    let progress = json!({ "progressToken": "nobody's", "progress": 1 });
    vec![
        notification("notifications/progress", progress),
        notification("notifications/message", json!({ "level": "info", "data": "x" })),
        notification("notifications/x-unknown", json!({ "x": 1 })),
        notification("notifications/x-unknown", Value::Null),
    ]
}

async fn notification_unanswered(cx: Cx) -> Verdict {
    let tried = try_calls(&cx, &["unasked"], |seen| match seen.case() {
        "unasked" => after(unasked(), seen),
        _ => good(seen),
    });
    let tried = tried.await?;
    tried.all_give_results()?;
    for seen in &tried.played.requests {
        expect(!seen.method().is_empty(), "nothing sent in answer", shown(&seen.message))?;
    }
    tried.asks_once()
}

async fn notification_tolerated(cx: Cx) -> Verdict {
    let mut null = notification("notifications/x-unknown", Value::Null);
    null["params"] = Value::Null;
    let cases = ["unasked", "null params", "1,000 of them"];
    let tried = try_calls(&cx, &cases, move |seen| match seen.case() {
        "unasked" => after(unasked(), seen),
        "null params" => after([null.clone()], seen),
        "1,000 of them" => after(unasked().into_iter().cycle().take(1_000), seen),
        _ => good(seen),
    });
    tried.await?.all_give_results()
}

async fn notification_shape(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    played.first("tools/call")?;
    let is_notification = |seen: &&Seen| {
        seen.message.get("id").is_none() || seen.method().starts_with("notifications/")
    };
    for seen in played.requests.iter().filter(is_notification) {
        let told = shown(&seen.message);
        expect(seen.message.get("id").is_none(), "a notification without id", &told)?;
        expect(!seen.method().is_empty(), "a method in what has no id", &told)?;
        expect(seen.method() != "notifications/initialized", "nothing to initialize", &told)?;
        let is_needless = cx.is_http() && seen.method() == "notifications/cancelled";
        cx.warnings.unless(!is_needless, "over HTTP a stream closed, not a notification", told);
    }
    Ok(())
}

const FOREIGN: &str = "日本語 ☃ 😀";

async fn utf8(cx: Cx) -> Verdict {
    let params = json!({ "name": "echo", "arguments": { "text": FOREIGN } });
    let steps = json!([{ "do": "tools/call", "params": params }, call("ä ☃")]);
    let mut played = cx.play(steps, good).await?;
    played.requests.extend(everything(&cx).await?.requests);
    for seen in &played.requests {
        let told = || cut(&String::from_utf8_lossy(&seen.body));
        expect(std::str::from_utf8(&seen.body).is_ok(), "UTF-8", told())?;
        expect(!seen.body.starts_with(b"\xef\xbb\xbf"), "no byte order mark", told())?;
    }
    let text = played.first("tools/call")?.param("arguments").get("text").cloned();
    let text = text.unwrap_or_default();
    expect(text == FOREIGN, format!("the text {FOREIGN}"), shown(&text))
}

async fn utf8_split(cx: Cx) -> Verdict {
    let cases = ["single bytes", "bytes that are no UTF-8"];
    // In lines nobody can tell what bytes that are no UTF-8 belong to.
    let step = |case: &str| {
        let time = if case == cases[0] { 60_000 } else { 500 };
        json!({ "do": "tools/list", "params": { "cursor": case }, "timeout_ms": time })
    };
    let tried = try_steps(&cx, &cases, step, |seen| {
        let mut message = right(seen);
        if let Some(tool) = message.pointer_mut("/result/tools/0") {
            tool["description"] = FOREIGN.into();
        }
        let text = message.to_string();
        match seen.case() {
            "single bytes" => Answer::stream(in_pieces(&framed(seen, text), 1)),
            "bytes that are no UTF-8" => {
                let start = text.find(FOREIGN).unwrap_or_default() + 1;
                let mut bytes = text.into_bytes();
                bytes.remove(start);
                raw(framed(seen, bytes))
            }
            _ => good(seen),
        }
    });
    let tried = tried.await?;
    let result = tried.result(cases[0])?;
    let described = at(result, "/tools/0/description");
    expect(described == FOREIGN, format!("the description {FOREIGN}"), shown(described))?;
    match tried.goes_on_or_warns(&cx) {
        // No server may send that; what a client makes of a line of it is open.
        Err(Stop::Fail { expected, seen }) if !cx.is_http() => {
            cx.warnings.unless(false, expected, seen);
            Ok(())
        }
        judged => judged,
    }
}
