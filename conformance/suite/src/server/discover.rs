//! `server/discover`.

use serde_json::{Value, json};

use super::Cx;
use crate::check::{Check, server_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::VERSION;

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-discover-implemented", Both, implemented),
    server_check!("server-discover-server-info", Both, server_info),
];

async fn implemented(cx: Cx) -> Verdict {
    let reply = cx.ask(&cx.request("server/discover").capabilities(json!({}))).await?;
    reply.has_status(200)?;
    let result = reply.result()?;
    expect(*at(result, "/resultType") == "complete", "a complete result", reply.told())?;
    let versions = at(result, "/supportedVersions").as_array();
    let are_texts = versions.is_some_and(|all| all.iter().all(Value::is_string));
    expect(are_texts, "supportedVersions, an array of strings", shown(result))?;
    let has_this = versions.is_some_and(|all| all.iter().any(|version| *version == VERSION));
    expect(has_this, format!("{VERSION} among supportedVersions"), shown(result))?;
    expect(at(result, "/capabilities").is_object(), "capabilities, an object", shown(result))?;
    let instructions = result.get("instructions");
    expect(instructions.is_none_or(Value::is_string), "instructions, a string", shown(result))
}

async fn server_info(cx: Cx) -> Verdict {
    let reply = cx.ask(&cx.request("server/discover")).await?;
    let meta = at(reply.result()?, "/_meta");
    let info = meta.get("io.modelcontextprotocol/serverInfo").unwrap_or(&Value::Null);
    let is_there = at(info, "/name").is_string() && at(info, "/version").is_string();
    expect(is_there, "serverInfo in _meta, with name and version", reply.told())
}
