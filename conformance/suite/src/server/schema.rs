//! All that a server sends, held against the types of the specification.

use serde_json::{Value, json};

use super::resources::{listed, read};
use super::{Cx, lists::List};
use crate::check::{Check, server_check};
use crate::shape::{has_shape, is_known};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::record::Noted;

/// They run last, and look at all that came in the whole run.
pub(super) const CHECKS: &[Check] = &[
    server_check!("server-schema-valid", Both, valid).last(),
    server_check!("server-schema-error-messages", Both, error_messages).last(),
];

async fn valid(cx: Cx) -> Verdict {
    tour(&cx).await?;
    // What answers bytes that are no request may have no id, and answers nothing that has a name.
    for Noted { method, message, .. } in
        cx.record.all().into_iter().filter(|it| !it.method.is_empty())
    {
        is_valid(&method, &message).map_err(|stop| match stop {
            Stop::Fail { expected, seen } => Stop::fail(
                format!("{method}: {expected}"),
                format!("{seen} in {}", shown(&message)),
            ),
            skip @ Stop::Skip(_) => skip,
        })?;
    }
    Ok(())
}

/// A request of `method` was answered by, among others, this message.
fn is_valid(method: &str, message: &Value) -> Verdict {
    has_shape(message, "message")?;
    if let Some(notification) = message.get("method").and_then(Value::as_str) {
        expect(message.get("id").is_none(), "no requests of a server", "one")?;
        // The params of some may be absent.
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        return has_shape(&params, notification);
    }
    if let Some(id) = message.get("id") {
        // Null is for `server-jsonrpc-error-shape` to judge.
        let is_unread = id.is_null() && message.get("error").is_some();
        expect(
            is_unread || id.is_string() || id.is_number(),
            "an id that is a string or a number",
            shown(id),
        )?;
    }
    let (result, error) = (message.get("result"), message.get("error"));
    match (result, error) {
        (None, Some(error)) => has_shape(error, "error"),
        (Some(result), None) => {
            expect(message.get("id").is_some(), "the id of the request", "none")?;
            match at(result, "/resultType").as_str() {
                Some("input_required") => has_shape(result, "input_required"),
                Some("task") => has_shape(result, "created-task"),
                _ if is_known(method) => has_shape(result, method),
                _ => has_shape(result, "result"),
            }
        }
        _ => Err(Stop::fail("either a result or an error", "both or neither")),
    }
}

async fn error_messages(cx: Cx) -> Verdict {
    tour(&cx).await?;
    let mut seen = false;
    for Noted { message, .. } in cx.record.all() {
        let Some(error) = message.get("error") else { continue };
        seen = true;
        let text = at(error, "/message").as_str().unwrap_or_default().trim();
        let is_short =
            !text.is_empty() && text.lines().count() == 1 && text.chars().count() <= LONG;
        expect(is_short, format!("a message of one line and at most {LONG} characters"), text)?;
    }
    if seen { Ok(()) } else { Err(Stop::skip("there was no error")) }
}

/// A bit of everything, so that there is something to look at when few other checks ran.
pub(super) async fn tour(cx: &Cx) -> Verdict {
    let mut session = cx.session();
    let mut requests = vec![cx.request("server/discover"), cx.request("no/such/method")];
    requests.extend(List::offered(cx).into_iter().map(|list| cx.request(list.method)));
    requests.extend(cx.calls());
    requests.extend(cx.gets());
    requests.extend(listed(cx).take(20).map(|uri| read(cx, uri)));
    for request in requests {
        session.ask(&request).await?;
    }
    Ok(())
}

/// More characters than a sentence has.
const LONG: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_right_and_wrong() {
        let result = json!({ "resultType": "complete", "content": [], "later": 1 });
        let right = [
            json!({ "jsonrpc": "2.0", "id": 1, "result": result }),
            json!({ "jsonrpc": "2.0", "error": { "code": -32700, "message": "no" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
            // It may be one that could not be read.
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 1, "message": "no" } }),
        ];
        for message in right {
            assert_eq!(is_valid("tools/call", &message), Ok(()), "{message}");
        }
        let wrong = [
            json!({ "id": 1, "result": result }),
            json!({ "jsonrpc": "2.0", "result": result }),
            json!({ "jsonrpc": "2.0", "id": null, "result": result }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "complete" } }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 } }),
        ];
        for message in wrong {
            assert!(is_valid("tools/call", &message).is_err(), "{message}");
        }
    }
}
