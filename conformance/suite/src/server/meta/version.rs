//! Versions that are not served.

use serde_json::{Value, json};

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::talk::{Lane, Talk};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_VERSION;
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-version-unsupported", Http, unsupported),
    server_check!("server-stdio-version-unsupported", Stdio, unsupported),
    server_check!("server-version-initialize-refused", Http, initialize_over_http),
    server_check!("server-stdio-initialize-refused", Stdio, initialize_over_stdio),
];

/// Versions that there never were, and earlier ones.
const OTHERS: [&str; 9] = [
    "1900-01-01",
    "2099-12-31",
    "v1",
    "2026-7-28",
    "2026-07-28-x",
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    LEGACY,
];

const LEGACY: &str = "2025-11-25";

fn served(cx: &Cx) -> Vec<Value> {
    at(&cx.offer().discover, "/supportedVersions").as_array().cloned().unwrap_or_default()
}

async fn unsupported(cx: Cx) -> Verdict {
    let served = served(&cx);
    for version in OTHERS.into_iter().filter(|version| !served.contains(&json!(version))) {
        let what = format!("version {version}");
        let request = cx.request("server/discover").meta(META_VERSION, version);
        let mut lane = Lane::open(&cx)?;
        let reply = lane.ask(&request).await.of(&what)?;
        match tells_versions(&cx, &reply, &request, &served).of(&what) {
            // A server that implements that revision, though it has a handshake, may refuse in the way of it.
            Err(Stop::Fail { expected, seen })
                if reply.result().is_err() && shakes_hands(&cx, version).await? =>
            {
                cx.warnings.unless(false, expected, seen);
            }
            told => told?,
        }
        lane.ask(&cx.request("server/discover")).await?.result().of("a discover afterwards")?;
    }
    Ok(())
}

/// Whether the server serves clients of this revision, which begin with a handshake.
async fn shakes_hands(cx: &Cx, version: &str) -> Verdict<bool> {
    let first = initialize(cx, version);
    let reply = if cx.is_http() {
        let post = cx.post(&first)?.without("Mcp-Method").without("MCP-Protocol-Version");
        cx.send(&post).await?
    } else {
        Lane::open(cx)?.ask(&first).await?
    };
    Ok(reply.result().is_ok_and(|result| *at(result, "/protocolVersion") == version))
}

fn tells_versions(cx: &Cx, reply: &Reply, request: &Message, served: &[Value]) -> Verdict {
    let error = reply.is_refused(400, -32022)?;
    let told = at(error, "/data/supported").as_array().cloned().unwrap_or_default();
    let is_part = !told.is_empty() && told.iter().all(|version| served.contains(version));
    expect(is_part, "data.supported, versions that discover names", reply.told())?;
    let is_whole = served.iter().all(|version| told.contains(version));
    cx.warnings.unless(is_whole, "data.supported, all versions of discover", reply.told());
    let requested = at(error, "/data/requested").as_str();
    expect(requested == request.version(), "data.requested, the version sent", reply.told())?;
    expect(at(reply.response()?, "/id") == request.id(), "the id of the request", reply.told())
}

/// The first message of a client of earlier revisions.
fn initialize(cx: &Cx, version: &str) -> Message {
    let info = json!({ "name": "mcp-conformance", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
    cx.request("initialize").with("params", params)
}

fn is_of_one_era(cx: &Cx) -> Verdict {
    let is_legacy = |version: &&Value| OTHERS.iter().any(|other| **version == *other);
    match served(cx).iter().find(is_legacy) {
        Some(version) => Err(Stop::skip(format!("the server serves {version} as well"))),
        None => Ok(()),
    }
}

/// The error tells a user which versions there are.
fn names_versions(cx: &Cx, reply: &Reply) -> Verdict {
    let text = reply.error()?.to_string();
    let is_named = served(cx).iter().filter_map(Value::as_str).any(|it| text.contains(it));
    cx.warnings.unless(is_named, "an error that names a version that is served", reply.told());
    Ok(())
}

async fn initialize_over_http(cx: Cx) -> Verdict {
    is_of_one_era(&cx)?;
    let bare = cx.post(&initialize(&cx, LEGACY))?.without("Mcp-Method");
    for (what, post) in [
        ("initialize without headers", bare.clone()),
        ("initialize with a version header", bare.header("MCP-Protocol-Version", LEGACY)),
    ] {
        let reply = cx.send(&post).await.of(what)?;
        reply.has_status_in(400..500).of(what)?;
        names_versions(&cx, &reply).of(what)?;
    }
    let modern = cx.ask(&cx.request("initialize")).await?;
    modern.is_refused(404, -32601).of("initialize in the form of this revision").map(drop)
}

async fn initialize_over_stdio(cx: Cx) -> Verdict {
    is_of_one_era(&cx)?;
    let mut talk = Talk::open(&cx)?;
    let request = initialize(&cx, LEGACY);
    let message = talk.ask(&request).await?.pop().map(|came| came.message).unwrap_or_default();
    let reply = Reply { messages: vec![message], ..Reply::default() };
    names_versions(&cx, &reply)?;
    talk.send(&Message::notification("notifications/initialized").without("params")).await?;
    let discover = cx.request("server/discover");
    let mut came = talk.ask(&discover).await?;
    let is_result = came.pop().is_some_and(|came| came.message.get("result").is_some());
    expect(is_result, "a discover behind initialize is served", "an error")?;
    came.extend(talk.settled().await?);
    let seen = came.first().map(|came| shown(&came.message)).unwrap_or_default();
    expect(came.is_empty(), "no answer to notifications/initialized", seen)
}
