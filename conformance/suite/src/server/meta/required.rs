//! What has to be in `_meta`, and what may be.

use serde_json::{Value, json};

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::{raw, refused};
use crate::server::talk::Lane;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::at;
use crate::wire::message::{META_CAPABILITIES, META_INFO, META_LOG_LEVEL, META_VERSION};
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-meta-missing", Http, missing),
    server_check!("server-stdio-meta-missing", Stdio, missing_on_stdio),
    server_check!("server-meta-ill-typed", Both, ill_typed),
    server_check!("server-meta-foreign-keys", Both, foreign_keys),
];

/// A discover that lacks something, with the name of what it lacks.
fn lacking(cx: &Cx) -> [(&'static str, Message); 3] {
    let discover = || cx.request("server/discover");
    [
        ("no _meta", discover().without_param("_meta")),
        ("no version in _meta", discover().without_meta(META_VERSION)),
        ("no capabilities in _meta", discover().without_meta(META_CAPABILITIES)),
    ]
}

async fn missing(cx: Cx) -> Verdict {
    for (what, message) in lacking(&cx) {
        // The headers are right, that of the version included.
        let right = cx.post(&cx.request("server/discover"))?;
        let reply = cx.send(&right.body(message.text())).await.of(what)?;
        reply.is_refused(400, -32602).of(what)?;
        has_id(&reply, &message).of(what)?;
    }
    served_without_info(&cx).await
}

async fn missing_on_stdio(cx: Cx) -> Verdict {
    for (what, message) in lacking(&cx) {
        let mut lane = Lane::open(&cx)?;
        for time in ["first", "after a right one"] {
            let reply = lane.ask(&message).await.of(what)?;
            reply.has_code(-32602).of(time).of(what)?;
            has_id(&reply, &message).of(what)?;
            lane.ask(&cx.request("server/discover")).await?.result()?;
        }
    }
    served_without_info(&cx).await
}

fn has_id(reply: &Reply, message: &Message) -> Verdict {
    expect(at(reply.response()?, "/id") == message.id(), "the id of the request", reply.told())
}

async fn served_without_info(cx: &Cx) -> Verdict {
    let reply = cx.ask(&cx.request("server/discover").without_meta(META_INFO)).await?;
    reply.result().of("no clientInfo").map(drop)
}

async fn ill_typed(cx: Cx) -> Verdict {
    let discover = || cx.request("server/discover");
    let mut wrong = Vec::new();
    for meta in [json!([]), Value::Null, json!("x")] {
        wrong.push(discover().param("_meta", meta));
    }
    for version in [json!(20_260_728), Value::Null, json!("")] {
        wrong.push(discover().meta(META_VERSION, version));
    }
    for capabilities in [json!([]), Value::Null, json!("x"), json!(true)] {
        wrong.push(discover().capabilities(capabilities));
    }
    for message in wrong {
        let body = message.text();
        let reply = raw(&cx, &discover(), &*body).await.of(&body)?;
        let meta = message.get("_meta").cloned().unwrap_or_default();
        let version = at(&meta, "/io.modelcontextprotocol~1protocolVersion");
        // The header says otherwise, or there is no such version: more than one rule is broken.
        let may_differ =
            meta.is_object() && (version.is_number() || version.is_null() || *version == "");
        let code = reply.error().map(|error| at(error, "/code").as_i64().unwrap_or_default());
        if may_differ && matches!(code, Ok(-32022 | -32020)) {
            reply.has_status(400).of(&body)?;
        } else {
            reply.is_refused(400, -32602).of(&body)?;
        }
    }
    for level in [json!(7), json!("loud")] {
        let reply = cx.ask(&discover().meta(META_LOG_LEVEL, level)).await?;
        cx.warnings.unless(
            reply.result().is_err(),
            "a refusal of a level that there is not",
            reply.told(),
        );
    }
    for info in [json!("x"), json!({}), json!({ "name": 5, "version": 5 })] {
        let request = discover().meta(META_INFO, info);
        let reply = cx.ask(&request).await?;
        if reply.result().is_err() {
            refused(&cx, &reply, &[-32602]).of("a malformed clientInfo")?;
        }
    }
    Ok(())
}

async fn foreign_keys(cx: Cx) -> Verdict {
    let bare = cx.ask(&cx.request("server/discover")).await?;
    let bare = without_meta(bare.result()?);
    let foreign = [
        ("io.modelcontextprotocol/x-unknown", json!([1])),
        ("com.example/a", Value::Null),
        ("traceparent", json!(5)),
        ("traceparent", json!("junk")),
        ("baggage", json!("a=b")),
        ("progressToken", json!(1)),
    ];
    for (key, value) in foreign {
        let what = format!("{key}: {value} in _meta");
        let may_refuse = key == "traceparent" && value == 5;
        let reply = cx.ask(&cx.request("server/discover").meta(key, value)).await.of(&what)?;
        if may_refuse && reply.error().is_ok() {
            cx.warnings.unless(false, format!("{what}: passed over"), reply.told());
            continue;
        }
        let result = without_meta(reply.result().of(&what)?);
        expect(result == bare, format!("{what}: the result of a bare discover"), reply.told())?;
    }
    Ok(())
}

/// A result without what may differ from one time to the next.
pub(super) fn without_meta(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
        members.remove("ttlMs");
    }
    result
}
