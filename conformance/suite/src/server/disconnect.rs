//! Peers that leave in the middle of a reply.

use serde_json::json;

use super::Cx;
use super::progress::reporting;
use super::raw::{Of as _, alive};
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::http::Connection;
use crate::wire::{Message, Open};

pub(super) const CHECKS: &[Check] =
    &[server_check!("server-http-disconnect", Http, disconnect).alone()];

async fn disconnect(cx: Cx) -> Verdict {
    let call = reporting(&cx)?.with("id", 77).meta("progressToken", 77);
    let whole = cx.ask(&call).await?;
    whole.result()?;
    if whole.notifications().next().is_none() {
        return Err(Stop::skip("the server sends no progress"));
    }
    for _ in 0..TIMES {
        begin(&cx, cx.connect().await?, &call).await.of("before a FIN")?;
        begin(&cx, cx.connect_abrupt().await?, &call).await.of("before a reset")?;
    }
    half_closed(&cx, &call).await?;
    alive(&cx).await?;
    cx.ask(&call).await?.result().of("a call under the same id").map(drop)
}

/// Peers that leave in each way.
const TIMES: usize = 25;

/// Reads the first message and drops the connection.
async fn begin(cx: &Cx, mut connection: Connection, call: &Message) -> Verdict {
    connection.send(&cx.post(call)?.encode()).await?;
    let head = connection.head().await?;
    Open::http(connection, head, call.id().clone()).expect_next("progress").await.map(drop)
}

/// Who has nothing more to send may still read: the result comes, or the end.
async fn half_closed(cx: &Cx, call: &Message) -> Verdict {
    let mut connection = cx.connect().await?;
    connection.send(&cx.post(call)?.encode()).await?;
    connection.shutdown().await;
    let Ok(head) = connection.head().await else { return Ok(()) };
    let Ok(reply) = Open::http(connection, head, call.id().clone()).finish().await else {
        return Ok(());
    };
    let has_error = reply
        .response()
        .is_ok_and(|response| *response.get("error").unwrap_or(&json!(null)) != json!(null));
    expect(!has_error, "a result, or nothing, where the request has ended", reply.told())
}
