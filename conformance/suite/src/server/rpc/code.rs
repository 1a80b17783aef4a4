//! Error codes, and results.

use serde_json::json;

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::has_no_id;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_VERSION;
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-jsonrpc-error-code-meaning", Both, meaning),
    server_check!("server-jsonrpc-error-codes", Both, in_record).last(),
    server_check!("server-jsonrpc-error-shape", Both, shape).last(),
    server_check!("server-result-type", Both, result_type).last(),
];

async fn meaning(cx: Cx) -> Verdict {
    let unknown_version = cx.request("server/discover").meta(META_VERSION, "1900-01-01");
    let mut faults = vec![
        ("an unknown method", cx.request("mcp-conformance/unknown"), -32601),
        ("an unknown version", unknown_version, -32022),
    ];
    if cx.needs("/tools").is_ok() {
        faults.push(("an unknown tool", cx.call("mcp-conformance-unknown", json!({})), -32602));
    }
    if cx.needs("/resources").is_ok() {
        let read = cx.request("resources/read").param("uri", "test://no-such-resource");
        faults.push(("an unknown resource", read, -32602));
    }
    for (what, request, best) in faults {
        let reply = cx.ask(&request).await.of(what)?;
        // What is said of tools and resources that do not exist is for other checks to judge.
        let is_judged_here = matches!(best, -32601 | -32022);
        let error = match reply.error() {
            Err(_) if !is_judged_here => continue,
            error => error.of(what)?,
        };
        let code = at(error, "/code").as_i64().unwrap_or_default();
        let means_it = code == best || !matches!(code, -32022..=-32020 | -32002);
        expect(means_it, format!("{what}: a code that means it, such as {best}"), reply.told())?;
        let names = code != -32022 || at(error, "/data/supported").is_array();
        expect(names, format!("{what}: data.supported"), reply.told())?;
    }
    Ok(())
}

/// The codes of the whole run, with one at least.
async fn in_record(cx: Cx) -> Verdict {
    cx.ask(&cx.request("mcp-conformance/unknown")).await?.error()?;
    let codes = cx
        .record
        .all()
        .into_iter()
        .filter_map(|noted| Some((at(&noted.message, "/error/code").as_i64()?, noted.message)));
    for (code, message) in codes {
        let is_retired = matches!(code, -32002 | -32042);
        let is_unassigned = matches!(code, -32099..=-32023);
        expect(!is_retired && !is_unassigned, "codes that this revision defines", shown(&message))?;
        let is_free = !matches!(code, -32768..=-32000);
        let is_defined = matches!(code, -32700 | -32603..=-32600 | -32022..=-32020);
        let expected = "own codes outside of what JSON-RPC and MCP reserve";
        cx.warnings.unless(is_free || is_defined, expected, shown(&message));
    }
    Ok(())
}

async fn shape(cx: Cx) -> Verdict {
    let unsupported = cx.request("server/discover").meta(META_VERSION, "1900-01-01");
    let reply = cx.ask(&unsupported).await?;
    reply.error()?;
    // Here the id could be read.
    let is_null = reply.response()?.get("id").is_some_and(serde_json::Value::is_null);
    expect(!is_null, "an id that is not null", reply.told())?;
    for noted in cx.record.all() {
        let Some(error) = noted.message.get("error") else { continue };
        let seen = shown(&noted.message);
        let code = at(error, "/code");
        expect(code.is_i64() || code.is_u64(), "an error with an integer code", &*seen)?;
        expect(at(error, "/message").is_string(), "an error with a message", &*seen)?;
        has_no_id(&cx, &noted.message);
    }
    Ok(())
}

/// Results of the kinds that every server has, besides those that were seen in the run.
async fn result_type(cx: Cx) -> Verdict {
    for request in plain_requests(&cx) {
        let method = request.method().to_owned();
        let reply = cx.ask(&request).await.of(&method)?;
        is_of_core(&reply).of(&method)?;
    }
    let extensions = at(&cx.offer().discover, "/capabilities/extensions").as_object();
    let has =
        |is_it: fn(&str) -> bool| extensions.is_some_and(|all| all.keys().any(|id| is_it(id)));
    let (has_tasks, has_others) = (has(|id| id == TASKS), has(|id| id != TASKS));
    for noted in cx.record.all() {
        let Some(result) = noted.message.get("result") else { continue };
        let kind = at(result, "/resultType").as_str();
        let is_declared = match kind {
            Some("complete" | "input_required") => true,
            Some("task") => has_tasks || has_others,
            Some(_) => has_others,
            None => false,
        };
        let expected = "a result with a resultType that is declared";
        expect(is_declared, expected, shown(&noted.message))?;
    }
    Ok(())
}

/// The extension whose one result type is known here.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// One request of each kind that every server of these capabilities answers.
pub(in crate::server) fn plain_requests(cx: &Cx) -> Vec<Message> {
    let mut requests = vec![cx.request("server/discover")];
    let lists = [
        ("/tools", "tools/list"),
        ("/prompts", "prompts/list"),
        ("/resources", "resources/list"),
        ("/resources", "resources/templates/list"),
    ];
    let declared = lists.into_iter().filter(|(capability, _)| cx.needs(capability).is_ok());
    requests.extend(declared.map(|(_, method)| cx.request(method)));
    requests.extend(cx.simple_tool().ok().map(|tool| cx.call(&tool, json!({}))));
    requests
}

fn is_of_core(reply: &Reply) -> Verdict {
    let Ok(result) = reply.result() else { return Ok(()) };
    let is_core = matches!(at(result, "/resultType").as_str(), Some("complete" | "input_required"));
    expect(is_core, "resultType, complete or input_required", reply.told())
}
