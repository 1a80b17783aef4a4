//! What every message of the server has in common.

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Reply;
use crate::wire::json::shown;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-jsonrpc-envelope", Both, envelope).last(),
    server_check!("server-utf8", Both, utf8).last(),
];

async fn envelope(cx: Cx) -> Verdict {
    let all = cx.record.all();
    if all.is_empty() {
        return Err(Stop::skip("no message was seen"));
    }
    for noted in all {
        let message = noted.message;
        let has = |member: &str| message.get(member).is_some();
        let seen = shown(&message);
        expect(message.is_object(), "messages that are objects", &*seen)?;
        expect(message.get("jsonrpc").is_some_and(|it| it == "2.0"), "jsonrpc, 2.0", &*seen)?;
        let parts = ["method", "result", "error"].into_iter().filter(|part| has(part)).count();
        expect(parts == 1, "exactly one of method, result and error", &*seen)?;
        expect(!has("method") || !has("id"), "no id besides a method", &*seen)?;
        expect(!has("result") || has("id"), "an id besides a result", &*seen)?;
        let is_object = message.get("result").is_none_or(serde_json::Value::is_object);
        expect(is_object, "a result that is an object", seen)?;
    }
    Ok(())
}

/// Bytes as they came, before anything has decoded them.
async fn utf8(cx: Cx) -> Verdict {
    let discover = cx.request("server/discover");
    let progress = cx.call("test_tool_with_progress", serde_json::json!({}));
    let progress = progress.meta("progressToken", "ü");
    let has_progress = cx.tool("test_tool_with_progress").is_ok();
    for request in [Some(&discover), Some(&progress).filter(|_| has_progress)].into_iter().flatten()
    {
        if !cx.is_http() {
            // What is no UTF-8 stops the reading of lines.
            let first = cx.open(request).await?.next().await?;
            expect(first.is_some(), "an answer", "the end of the output")?;
            continue;
        }
        let bytes = if cx.is_http2() {
            cx.ask(request).await?.body
        } else {
            let mut connection = cx.connect().await?;
            connection.send(&cx.post(request)?.encode()).await?;
            Reply::read(&mut connection).await?.body
        };
        let text = String::from_utf8_lossy(&bytes);
        expect(str::from_utf8(&bytes).is_ok(), "a body in UTF-8", &*text).of(request.method())?;
        expect(!text.starts_with('\u{feff}'), "no byte order mark", &*text)?;
    }
    for head in cx.record.all().into_iter().filter_map(|noted| noted.head) {
        let media_type = head.get("Content-Type").unwrap_or_default().to_ascii_lowercase();
        let is_utf8 = !media_type.contains("charset")
            || media_type.replace(['"', ' '], "").contains("charset=utf-8");
        expect(is_utf8, "no charset but UTF-8", media_type)?;
    }
    Ok(())
}
