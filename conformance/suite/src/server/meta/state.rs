//! Nothing is remembered between requests but by what they carry.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::mrtr::{answers, is_complete, retry};
use crate::server::talk::{Lane, Talk};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::{META_INFO, META_VERSION};
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-stateless-each-request-judged", Both, each_judged),
    server_check!("server-stateless-first-request", Both, first_request),
    server_check!("server-stateless-interleaved", Both, interleaved),
    server_check!("server-stateless-across-connections", Both, across_connections),
];

async fn each_judged(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let discover = || cx.request("server/discover");
    lane.ask(&discover()).await?.result().of("a right request")?;
    let reply = lane.ask(&discover().without_param("_meta")).await?;
    reply.is_refused(400, -32602).of("no _meta, behind a right request")?;
    let reply = lane.ask(&discover().meta(META_VERSION, "1900-01-01")).await?;
    reply.is_refused(400, -32022).of("an unknown version, behind a right request")?;
    lane.ask(&discover()).await?.result().of("a right request behind wrong ones").map(drop)
}

async fn first_request(cx: Cx) -> Verdict {
    cx.needs("/tools")?;
    cx.ask(&cx.request("tools/list")).await?.result().of("tools/list as the first request")?;
    if cx.is_http() && !cx.is_http2() {
        let list = cx.request("tools/list");
        let mut connection = cx.connect().await?;
        tokio::time::sleep(IDLE).await;
        connection.send(&cx.post(&list)?.encode()).await?;
        let reply = Reply::read(&mut connection).await?;
        reply.result().of("tools/list on a connection that was idle")?;
    }
    Ok(())
}

/// How long a connection is idle before its first request.
const IDLE: Duration = Duration::from_millis(500);

/// Requests of two kinds by many clients, in turn.
fn mixed(cx: &Cx, at: usize) -> Message {
    let has_tools = cx.needs("/tools").is_ok();
    let method = if at.is_multiple_of(2) || !has_tools { "server/discover" } else { "tools/list" };
    let capabilities = if at.is_multiple_of(3) { json!({}) } else { json!({ "sampling": {} }) };
    let info = json!({ "name": format!("client {at}"), "version": "1" });
    cx.request(method).capabilities(capabilities).meta(META_INFO, info)
}

async fn interleaved(cx: Cx) -> Verdict {
    let requests = (0..64).map(|at| mixed(&cx, at)).collect::<Vec<_>>();
    if cx.is_http() {
        let mut tasks = JoinSet::new();
        for part in requests.chunks(8) {
            let (cx, part) = (cx.clone(), part.to_vec());
            tasks.spawn(async move {
                let mut lane = Lane::open(&cx)?;
                for request in part {
                    let reply = lane.ask(&request).await?;
                    is_of(&request, reply.response()?)?;
                }
                Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|error| Stop::lost(error.to_string()))??;
        }
        return Ok(());
    }
    let mut talk = Talk::open(&cx)?;
    for request in &requests {
        talk.send(request).await?;
    }
    let mut left = requests;
    while !left.is_empty() {
        let came = talk.next().await?;
        let found = left.iter().position(|request| came.answers(request.id()));
        let found =
            found.ok_or_else(|| Stop::fail("one answer for each request", shown(&came.message)))?;
        is_of(&left.swap_remove(found), &came.message)?;
    }
    Ok(())
}

/// The answer is one to this request, by its kind.
fn is_of(request: &Message, response: &Value) -> Verdict {
    let member = match request.method() {
        "tools/list" => "tools",
        _ => "supportedVersions",
    };
    let is_right =
        at(response, "/id") == request.id() && at(response, "/result").get(member).is_some();
    expect(is_right, format!("the result of {}", request.method()), shown(response))
}

async fn across_connections(cx: Cx) -> Verdict {
    let name = "test_input_required_result_request_state";
    cx.tool(name)?;
    // Every request has a connection of its own, over stdio a process.
    let call = cx.call(name, json!({}));
    let first = cx.ask(&call).await?;
    let asked = first.result()?;
    let again = cx.ask(&retry(&cx, &call, asked, answers(asked))).await?;
    if cx.is_http() {
        return is_complete(&again);
    }
    cx.warnings.unless(
        is_complete(&again).is_ok(),
        "state that other processes take",
        again.told(),
    );
    Ok(())
}
