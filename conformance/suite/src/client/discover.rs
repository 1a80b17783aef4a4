//! What every request says of itself.

use serde_json::json;

use super::{Cx, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;
use crate::wire::message::{META_CAPABILITIES, META_VERSION, VERSION};

pub(super) const CHECKS: &[Check] = &[client_check!("client-meta-on-every-request", Both, meta)];

async fn meta(cx: Cx) -> Verdict {
    let steps = json!([{ "do": "server/discover" }, { "do": "tools/list" }, { "do": "tools/call", "params": { "name": "echo" } }]);
    let played = cx.play(steps, good).await?;
    played.ended_well()?;
    if played.requests.is_empty() {
        return Err(Stop::fail("requests", "none"));
    }
    for seen in &played.requests {
        let told = || shown(&seen.message);
        expect(
            seen.meta(META_VERSION) == VERSION,
            format!("{META_VERSION} {VERSION} in _meta"),
            told(),
        )?;
        expect(
            seen.meta(META_CAPABILITIES).is_object(),
            format!("{META_CAPABILITIES} in _meta"),
            told(),
        )?;
    }
    Ok(())
}
