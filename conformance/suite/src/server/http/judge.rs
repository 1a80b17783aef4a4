//! What a reply has to be.

use serde_json::Value;

use super::MISMATCH;
use crate::server::Cx;
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

/// The request was served.
pub(super) fn served(reply: &Reply) -> Verdict {
    reply.has_status(200)?;
    reply.result().map(drop)
}

/// There was an answer of some kind, by a server that has not broken down.
pub(super) fn answered(reply: &Reply) -> Verdict {
    let is_answer =
        reply.status().is_some_and(|status| status == 200 || matches!(status, 400..500));
    expect(is_answer, "a result or a refusal", reply.told())
}

/// Nothing of the message was carried out: a status of 4xx, and no result.
pub(super) fn refused(reply: &Reply) -> Verdict {
    let has_result = reply.messages.iter().any(|message| message.get("result").is_some());
    expect(!has_result, "a refusal", reply.told())?;
    reply.has_status_in(400..500)
}

/// The request is refused in the way that the specification fixes, under its own id.
pub(super) fn refused_by(reply: &Reply, message: &Message, status: u16, code: i64) -> Verdict {
    let error = reply.is_refused(status, code)?;
    expect(at(error, "/message").is_string(), "an error with a message", reply.told())?;
    let id = reply.response()?.get("id").unwrap_or(&Value::Null);
    expect(id == message.id(), format!("the id {}", shown(message.id())), reply.told())
}

/// The headers are refused: 400 and -32020.
pub(super) fn mismatch(reply: &Reply, message: &Message) -> Verdict {
    refused_by(reply, message, 400, MISMATCH)
}

/// The headers are refused, by the server or by what reads HTTP for it.
pub(super) fn mismatch_or_plain_400(reply: &Reply, message: &Message) -> Verdict {
    reply.has_status(400)?;
    if reply.error().is_ok() { mismatch(reply, message) } else { refused(reply) }
}

/// The message is refused. Nothing fixes how, but 400 and one of `codes` is best; another way is warned of.
pub(super) fn refused_best(cx: &Cx, reply: &Reply, codes: &[i64]) -> Verdict {
    let expected = format!("status 400 and error {codes:?}");
    let has_error = reply.error().is_ok();
    let is_list = reply.messages.iter().any(Value::is_array);
    expect(!is_list, &*expected, reply.told())?;
    if !(reply.status() == Some(200) && has_error) {
        refused(reply)?;
    }
    let has_code = codes.iter().any(|code| reply.has_code(*code).is_ok());
    cx.warnings.unless(has_code && reply.status() == Some(400), expected, reply.told());
    Ok(())
}

/// The page is refused: 403, and an error without id if there is a body.
pub(super) fn forbidden(cx: &Cx, reply: &Reply) -> Verdict {
    reply.has_status(403)?;
    refused(reply)?;
    has_no_id(cx, reply);
    Ok(())
}

/// What answers nothing in particular has no id.
pub(super) fn has_no_id(cx: &Cx, reply: &Reply) {
    let id = reply.messages.last().and_then(|message| message.get("id"));
    cx.warnings.unless(
        id.is_none_or(Value::is_null),
        "no body, or an error without id",
        reply.told(),
    );
}
