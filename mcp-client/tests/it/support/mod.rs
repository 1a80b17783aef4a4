//! Servers that play a script, over sockets and in memory.

mod log;
mod memory;
#[cfg(feature = "tls")]
mod pki;
#[cfg(feature = "oauth")]
pub(crate) mod provider;
#[cfg(feature = "oauth")]
pub(crate) mod sign_in;
mod socket;
#[cfg(feature = "oauth")]
mod world;

pub(crate) use log::{Log, hear};
pub(crate) use memory::{Memory, Piece};
#[cfg(feature = "tls")]
pub(crate) use pki::Authority;
pub(crate) use socket::{Reply, Request, Server};
#[cfg(feature = "oauth")]
pub(crate) use world::{Robot, Step, World, param, visit};

use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream;
use mcp_client::{Client, Error};

/// The first page of tools, empty.
pub(crate) const NO_TOOLS: &str = r#"{"resultType":"complete","tools":[]}"#;

/// The result of a tool that says `ok`.
pub(crate) const OK: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"ok"}]}"#;

/// A response with this result to the request at hand.
pub(crate) fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#)
}

/// A response with an error to the request at hand.
pub(crate) fn error(code: i64, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{{id}},"error":{{"code":{code},"message":"no","data":{data}}}}}"#
    )
}

/// Calls the tool `t` and returns the text it gives.
pub(crate) async fn call(client: &Client) -> Result<String, Error> {
    client.call_tool("t", ()).await.map(|result| text(&result))
}

pub(crate) fn text(result: &mcp_client::types::CallToolResult) -> String {
    match result.content.as_slice() {
        [mcp_client::types::ContentBlock::Text(text)] => text.text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

/// All that an error and its causes say.
#[cfg(any(feature = "oauth", feature = "proxy"))]
pub(crate) fn story(error: &Error) -> String {
    let mut story = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        story += &format!(": {error}");
        cause = error.source();
    }
    story
}

/// The next item of any stream.
pub(crate) async fn item<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    poll_fn(|cx| pin!(&mut *stream).poll_next(cx)).await
}
