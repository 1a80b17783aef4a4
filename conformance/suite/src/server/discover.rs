//! `server/discover`.

use serde_json::Value;

use super::Cx;
use crate::check::{Check, server_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[server_check!("server-discover-answers", Both, answers)];

async fn answers(cx: Cx) -> Verdict {
    let reply = cx.ask(&cx.request("server/discover")).await?;
    reply.has_status(200)?;
    let result = reply.result()?;
    let versions = at(result, "/supportedVersions");
    let are_texts =
        versions.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_string));
    expect(are_texts, "supportedVersions, an array of strings", shown(result))?;
    expect(at(result, "/capabilities").is_object(), "capabilities, an object", shown(result))
}
