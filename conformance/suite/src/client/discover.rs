//! `server/discover`.

use serde_json::{Value, json};

use super::asking::with;
use super::{Answer, Cx, Played, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;
use crate::wire::message::META_VERSION;

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-discover-stdio-probe", Stdio, stdio_probe),
    client_check!("client-discover-server-info-neutral", Both, server_info_neutral),
];

fn steps() -> Value {
    let call = json!({ "name": "echo", "arguments": { "text": "hi" } });
    json!([{ "do": "tools/list" }, { "do": "tools/call", "params": call }])
}

async fn stdio_probe(cx: Cx) -> Verdict {
    let knows_nothing =
        |seen: &super::Seen| Answer::error(seen, -32601, "Method not found", Value::Null);
    let played = cx.play(steps(), knows_nothing).await?;
    if played.of("initialize").next().is_none() {
        return Err(Stop::skip("the client speaks no earlier revision"));
    }
    let played = cx.play(steps(), good).await?;
    let first = played.requests.first().ok_or_else(|| Stop::fail("requests", "none"))?;
    let is_probe = first.method() == "server/discover" && first.meta(META_VERSION).is_string();
    expect(is_probe, "server/discover first, with _meta", shown(&first.message))?;
    let greets = played.of("initialize").next().map(|seen| shown(&seen.message));
    expect(greets.is_none(), "no initialize after that", greets.unwrap_or_default())
}

async fn server_info_neutral(cx: Cx) -> Verdict {
    let infos = [
        json!({ "name": "mcp-conformance", "version": "1.0.0" }),
        Value::Null,
        json!({ "name": "github-mcp-server", "version": "0.4.0" }),
        json!({ "name": "mcp-conformance", "version": "99.0", "legacy": true, "quirks": ["x"] }),
    ];
    does_the_same(&cx, infos).await
}

/// The client does the same with servers that say this of themselves; null says nothing.
pub(super) async fn does_the_same(
    cx: &Cx,
    infos: impl IntoIterator<Item = Value> + Send,
) -> Verdict {
    let infos = infos.into_iter().collect::<Vec<_>>();
    let mut usual = None;
    for info in infos {
        let told = info.clone();
        let part = move |seen: &super::Seen| {
            let result = result_of(seen).map(|result| match &told {
                Value::Null => result,
                info => with(Some(result), json!({ "_meta": { META_SERVER: info } })),
            });
            result.map_or_else(|| good(seen), |result| Answer::result(seen, result))
        };
        let played = cx.play(steps(), part).await?;
        played.result(1)?;
        let did = did(&played);
        match &usual {
            None => usual = Some(did),
            Some(usual) => {
                let expected = format!("the same with any server: {}", usual.join(", "));
                expect(
                    *usual == did,
                    expected,
                    format!("{} with {}", did.join(", "), shown(&info)),
                )?;
            }
        }
    }
    Ok(())
}

/// What the client did, without what differs from run to run.
fn did(played: &Played) -> Vec<String> {
    let told = |seen: &super::Seen| {
        format!("{} {} {}", seen.method(), seen.name(), seen.param("arguments"))
    };
    played.requests.iter().map(told).collect()
}

const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
