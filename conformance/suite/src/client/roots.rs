//! Where servers may work.

use serde_json::{Value, json};

use super::asking::{asker, call, declared_everywhere, roots};
use super::{Cx, Played};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-roots-declared", Both, declared),
    client_check!("client-roots-uris", Both, uris),
];

async fn declared(cx: Cx) -> Verdict {
    declared_everywhere(&cx, "roots", roots()).await
}

async fn uris(cx: Cx) -> Verdict {
    let played = asked(&cx, json!({})).await?;
    played.needs("/roots")?;
    let answer = played.answered("roots")?;
    let listed = at(answer, "/roots").as_array();
    expect(listed.is_some(), "an array of roots", shown(answer))?;
    for root in listed.into_iter().flatten() {
        let uri = at(root, "/uri").as_str().unwrap_or_default();
        expect(is_safe(uri), "a file:// URI with a plain absolute path", shown(root))?;
    }
    for uri in WRONG {
        let told = json!({ "answers": { "roots": [{ "uri": uri }] } });
        let played = asked(&cx, told).await?;
        let sent = played.answers("roots").find(|answer| answer.to_string().contains(uri));
        expect(sent.is_none(), format!("no root {uri}"), sent.map(shown).unwrap_or_default())?;
    }
    Ok(())
}

async fn asked(cx: &Cx, told: Value) -> Verdict<Played> {
    let mut context = told;
    context["steps"] = json!([call("ask")]);
    cx.play_with(context, asker(json!({ "ask": { "roots": roots() } }))).await
}

/// Whether it names a place, and none above it.
fn is_safe(uri: &str) -> bool {
    let Some(rest) = uri.strip_prefix("file://") else { return false };
    let Some(path) = rest.find('/').and_then(|start| rest.get(start..)) else { return false };
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    let climbs = path.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."));
    !climbs && !path.contains("%00") && !path.contains('\0')
}

/// What is no root: other schemes, and ways out of the place that is named.
const WRONG: &[&str] = &[
    "https://example.com/",
    "file:///a/../../etc",
    "file:///a/%2e%2e/%2E%2E/etc",
    "file:///a%2F..%2Fetc",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for uri in ["file:///", "file:///root", "file://host/a..b/.c", "file:///c:/x"] {
            assert!(is_safe(uri), "{uri}");
        }
        for uri in WRONG.iter().chain(&["", "file:", "file://host", "/root", "file:///a%00"]) {
            assert!(!is_safe(uri), "{uri}");
        }
    }
}
