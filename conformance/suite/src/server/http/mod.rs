//! Streamable HTTP: its endpoint, its headers, its streams.

pub(super) mod body;
pub(super) mod cancel;
pub(super) mod earlier;
pub(super) mod endpoint;
pub(super) mod flood;
pub(super) mod framing;
pub(super) mod header;
mod judge;
mod memory;
pub(super) mod name;
pub(super) mod order;
pub(super) mod origin;
pub(super) mod param;
pub(super) mod stream;
pub(super) mod version;

use std::fmt::Display;

use serde_json::{Value, json};

use super::Cx;
use super::raw::{SETTLE, alive};
use crate::verdict::{Of as _, Stop, Verdict};
use crate::wire::json::at;
use crate::wire::message::VERSION;
use crate::wire::{Message, Post, Reply};

/// Our headers.
const STANDARD: [&str; 3] = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"];
const MISMATCH: i64 = -32020;
const UNSUPPORTED: i64 = -32022;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const NO_JSON: i64 = -32700;

/// Sends each variant of a request on a connection of its own, and judges what comes back.
///
/// # Errors
/// Names the variant. The check is skipped if the HTTP that is spoken can carry none of them.
async fn each<N: Display>(
    cx: &Cx,
    variants: impl IntoIterator<Item = (N, Post)>,
    judge: impl Fn(&Reply) -> Verdict,
) -> Verdict {
    let mut sent = 0;
    for (name, post) in variants {
        if cx.carries(&post) {
            sent += 1;
            cx.send(&post).await.and_then(|reply| judge(&reply)).of(name)?;
        }
    }
    if sent == 0 { Err(Stop::skip("HTTP/2 cannot carry such requests")) } else { Ok(()) }
}

/// A discover, and the request that carries it.
fn discover(cx: &Cx) -> Verdict<(Message, Post)> {
    let message = cx.request("server/discover");
    let post = cx.post(&message)?;
    Ok((message, post))
}

/// A call of a tool that does no harm, and whether the server has such a tool: if not, one of a tool that it lacks, which
/// no check of headers needs to come to.
fn plain_call(cx: &Cx) -> Verdict<(Message, bool)> {
    match cx.simple_tool() {
        Ok(tool) => Ok((cx.call(&tool, json!({})), true)),
        Err(_) => {
            cx.needs("/tools")?;
            Ok((cx.call("no-such-tool", json!({})), false))
        }
    }
}

/// A call of a tool that does no harm, with its name.
fn known_call(cx: &Cx) -> Verdict<(Message, String)> {
    let tool = cx.simple_tool()?;
    Ok((cx.call(&tool, json!({})), tool))
}

/// Whether the server serves a version before `version` as well: it lists one, or a client of an earlier revision gets one.
async fn serves_before(cx: &Cx, version: &str) -> Verdict<bool> {
    let listed = at(&cx.offer().discover, "/supportedVersions").as_array().cloned();
    let mut versions = listed.unwrap_or_default();
    let hello = json!({
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": { "name": "mcp-conformance", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let bare = discover(cx)?.1.without("MCP-Protocol-Version").without("Mcp-Method");
    let reply = cx.send(&bare.body(hello.to_string())).await?;
    versions.extend(reply.result().ok().and_then(|result| result.get("protocolVersion")).cloned());
    Ok(versions.iter().filter_map(Value::as_str).any(|it| it < version))
}

/// Goes on if the server serves this revision alone.
async fn modern_only(cx: &Cx) -> Verdict {
    if serves_before(cx, VERSION).await? {
        return Err(Stop::skip("the server serves earlier revisions, too"));
    }
    Ok(())
}

/// A name or a version in the form for what headers cannot carry.
fn base64(value: impl AsRef<[u8]>) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(value)
}
