//! Reading bodies to their end, bounded.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use mcp_transport::sse::EventStream;

use crate::endpoint::ReplyBody;
use crate::error::BoxError;
use crate::limits::Limits;

/// What was read of a body.
pub(crate) struct Collected {
    pub(crate) bytes: Bytes,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
}

/// Reads a body as far as `limit` bytes. One that comes in a single piece is not copied.
pub(crate) async fn collect(body: &mut ReplyBody, limit: usize) -> Result<Collected, BoxError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut waited = false;
    let (mut first, mut joined) = (Bytes::new(), BytesMut::new());
    let mut is_whole = true;
    while let Some(frame) = poll_fn(|cx| {
        let polled = Pin::new(&mut *body).poll_frame(cx);
        waited |= polled.is_pending();
        polled
    })
    .await
    {
        let Ok(mut data) = frame?.into_data() else {
            continue;
        };
        let room = limit - first.len().max(joined.len());
        if data.len() > room {
            data.truncate(room);
            is_whole = false;
        }
        if first.is_empty() {
            first = data;
        } else {
            if joined.is_empty() {
                joined.reserve(announced.min(limit).min(EAGER));
                joined.extend_from_slice(&first);
            }
            joined.extend_from_slice(&data);
        }
        if !is_whole {
            break;
        }
    }
    if waited && is_whole {
        give_back().await;
    }
    let bytes = if joined.is_empty() { first } else { joined.freeze() };
    Ok(Collected { bytes, is_whole })
}

/// Passes what little there is left of a body that nobody wants.
pub(crate) async fn skip(mut body: ReplyBody) {
    if !body.is_end_stream() {
        let rest = collect(&mut body, Limits::EXCERPT_BYTES);
        // What goes wrong costs the connection, which is nothing to the caller.
        let _ = tokio::time::timeout(Limits::STREAM_END, rest).await;
    }
}

/// Passes the end of a stream whose response has arrived.
pub(crate) async fn settle(mut events: EventStream<ReplyBody>) {
    let end = async {
        while let Some(Ok(_)) = events.next().await {
            // A body that always has another event must not keep the time from being heard.
            tokio::task::consume_budget().await;
        }
    };
    if tokio::time::timeout(Limits::STREAM_END, end).await.is_ok() {
        give_back().await;
    }
}

/// Lets the connection, whose reply has been read to its end, back into the pool. hyper-util does that in a
/// task that wakes together with this one: a call that came before it would open another connection.
async fn give_back() {
    tokio::task::yield_now().await;
}

/// How much memory is taken on the word of a `Content-Length` alone.
const EAGER: usize = 256 * 1024;
