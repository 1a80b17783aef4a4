//! What the client has to be able to do, and extensions.

use serde_json::{Value, json};

use super::key::is_prefixed_key;
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::talk::Lane;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-capability-missing", Both, missing),
    server_check!("server-capability-per-request", Both, per_request),
    server_check!("server-extension-names", Both, extension_names),
    server_check!("server-extension-undeclared", Both, extension_undeclared),
];

const NEEDS_SAMPLING: &str = "test_missing_capability";
const ASKS: &str = "test_input_required_result_elicitation";

async fn missing(cx: Cx) -> Verdict {
    if cx.tool(NEEDS_SAMPLING).is_ok() {
        let request = cx.call(NEEDS_SAMPLING, json!({})).capabilities(json!({}));
        let reply = cx.ask(&request).await?;
        expect(at(reply.response()?, "/id") == request.id(), "its id", reply.told())?;
        return lacks(&reply, "sampling");
    }
    cx.tool(ASKS)?;
    let reply = cx.ask(&cx.call(ASKS, json!({})).capabilities(json!({}))).await?;
    if reply.result().is_ok_and(|result| *at(result, "/resultType") == "complete") {
        return Ok(());
    }
    lacks(&reply, "elicitation")
}

/// The refusal says which capability is missing.
pub(in crate::server) fn lacks(reply: &Reply, capability: &str) -> Verdict {
    let error = reply.is_refused(400, -32021)?;
    let named = at(error, "/data/requiredCapabilities");
    let is_right = named.get(capability).is_some_and(Value::is_object);
    expect(is_right, format!("data.requiredCapabilities with {capability}"), reply.told())
}

async fn per_request(cx: Cx) -> Verdict {
    cx.tool(NEEDS_SAMPLING)?;
    let able = || cx.call(NEEDS_SAMPLING, json!({})).capabilities(json!({ "sampling": {} }));
    let unable = || cx.call(NEEDS_SAMPLING, json!({})).capabilities(json!({}));
    let mut lane = Lane::open(&cx)?;
    is_served(&lane.ask(&able()).await?)?;
    lacks(&lane.ask(&unable()).await?, "sampling").of("behind a request that declared it")?;
    is_served(&lane.ask(&able()).await?)?;
    lane.ask(&cx.request("server/discover")).await?.result()?;
    if cx.is_http() {
        let (with, without) = (able(), unable());
        let (with, without) = tokio::join!(cx.ask(&with), cx.ask(&without));
        is_served(&with?)?;
        lacks(&without?, "sampling").of("beside a request that declared it")?;
    }
    Ok(())
}

fn is_served(reply: &Reply) -> Verdict {
    let is_refused = reply.error().is_ok_and(|error| at(error, "/code") == -32021);
    expect(!is_refused, "no demand for what was declared", reply.told())
}

async fn extension_names(cx: Cx) -> Verdict {
    cx.needs("/extensions")?;
    let extensions = at(&cx.offer().discover, "/capabilities/extensions");
    let Some(members) = extensions.as_object() else {
        return expect(false, "extensions, an object", shown(extensions));
    };
    for (name, settings) in members {
        expect(is_prefixed_key(name), "an extension's name with a prefix", name)?;
        expect(settings.is_object(), format!("{name}: an object"), shown(settings))?;
    }
    Ok(())
}

/// What the core has in place of the extension.
fn is_complete(reply: &Reply) -> bool {
    reply.result().is_ok_and(|result| *at(result, "/resultType") == "complete")
}

async fn extension_undeclared(cx: Cx) -> Verdict {
    cx.needs("/extensions")?;
    let none = json!({});
    let other = json!({ "extensions": { "com.example/none": {} } });
    for declared in [none, other] {
        let what = format!("with {declared} declared");
        let ask = |message: Message| message.capabilities(declared.clone());
        if cx.tool("slow_compute").is_ok() {
            let call = ask(cx.call("slow_compute", json!({ "seconds": 0, "label": "x" })));
            let reply = cx.ask(&call).await.of(&what)?;
            if !is_complete(&reply) {
                lacks(&reply, "extensions").of(&what)?;
            }
        }
        if cx.tool("failing_job").is_ok() {
            let reply = cx.ask(&ask(cx.call("failing_job", json!({})))).await.of(&what)?;
            if !is_complete(&reply) {
                lacks(&reply, "extensions").of(&what)?;
            }
        }
        let get = ask(cx.request("tasks/get").param("taskId", "none"));
        let reply = cx.ask(&get).await.of(&what)?;
        let code = at(reply.error().of(&what)?, "/code").as_i64();
        let is_right = matches!(code, Some(-32021 | -32601));
        expect(is_right, format!("{what}: tasks/get is refused"), reply.told())?;
    }
    Ok(())
}
