//! The token is looked at before anything else, for whatever is asked.

use serde_json::{Value, json};

use super::{bare, each, good, protected, unauthorized, with};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::json::at;
use crate::wire::message::{META_INFO, META_VERSION, VERSION};
use crate::wire::{Message, Post, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-auth-first", Http, first),
    server_check!("server-auth-every-method", Http, every_method),
    server_check!("server-auth-client-info-no-credential", Http, client_info),
];

async fn first(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let discover = bare(&cx, &cx.request("server/discover"))?;
    let tool = "a-tool-that-is-not-there";
    let unknown_version = cx.request("server/discover").meta(META_VERSION, "1900-01-01");
    let variants = [
        ("an unknown method", bare(&cx, &cx.request("unknown/method"))?),
        ("an unknown version", bare(&cx, &unknown_version)?),
        ("an unknown tool", bare(&cx, &cx.call(tool, json!({})))?),
        ("a notification", bare(&cx, &Message::notification("notifications/x-unknown"))?),
    ];
    let tells = ["unknown/method", tool, VERSION];
    each(&cx, variants, |reply| tells_nothing(reply, &tells)).await?;
    // What is no message at all, or names none, may be found out by what reads them, before anybody asks for a token.
    let unread = [
        ("broken JSON", discover.clone().body("{")),
        ("an empty body", discover.clone().body("")),
        ("no headers of the protocol", discover.without(VERSION_HEADER).without("Mcp-Method")),
    ];
    for (name, post) in unread {
        let reply = cx.send(&post).await.of(name)?;
        let is_first = tells_nothing(&reply, &tells).is_ok();
        expect(
            is_first || reply.status() == Some(400),
            format!("{name}: status 401"),
            reply.told(),
        )?;
        cx.warnings.unless(is_first, format!("{name}: status 401"), reply.told());
    }
    Ok(())
}

const VERSION_HEADER: &str = "MCP-Protocol-Version";

fn tells_nothing(reply: &Reply, words: &[&str]) -> Verdict {
    // HTTP itself, and what comes before a token: who may ask at all.
    if matches!(reply.status(), Some(413 | 415 | 405)) {
        return Ok(());
    }
    unauthorized(reply)?;
    let body = String::from_utf8_lossy(&reply.body);
    let told = words.iter().find(|word| body.contains(**word));
    expect(told.is_none(), "a body that tells nothing of the server", reply.told())
}

/// A request of every method that the server has, none of which does anything.
fn methods(cx: &Cx) -> Vec<Message> {
    let mut all = vec![
        cx.request("server/discover"),
        cx.request("subscriptions/listen")
            .param("notifications", json!({ "toolsListChanged": true })),
        Message::notification("notifications/cancelled").param("requestId", "none"),
    ];
    let lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    let is_declared = |method: &&str| {
        let capability = method.split('/').next().unwrap_or_default();
        cx.needs(&format!("/{capability}")).is_ok()
    };
    all.extend(lists.into_iter().filter(is_declared).map(|method| cx.request(method)));
    all.extend(cx.simple_tool().map(|tool| cx.call(&tool, json!({}))));
    let name = |list: &[Value], member| list.first().map(|it| at(it, member).clone());
    let offer = cx.offer();
    all.extend(
        name(&offer.prompts, "/name").map(|name| cx.request("prompts/get").param("name", name)),
    );
    all.extend(
        name(&offer.resources, "/uri").map(|uri| cx.request("resources/read").param("uri", uri)),
    );
    if cx.needs("/completions").is_ok() {
        let prompt = name(&offer.prompts, "/name").unwrap_or_else(|| "none".into());
        let reference = json!({ "type": "ref/prompt", "name": prompt });
        let complete = cx.request("completion/complete").param("ref", reference);
        all.push(complete.param("argument", json!({ "name": "x", "value": "" })));
    }
    all
}

async fn every_method(cx: Cx) -> Verdict {
    protected(&cx).await?;
    for message in methods(&cx) {
        let method = message.method();
        // A subscription that is opened would never end.
        let open = cx.open_post(&bare(&cx, &message)?, message.id()).await.of(method)?;
        let head = open.head.unwrap_or_default();
        expect(head.status() == 401, format!("{method}: status 401"), &*head.line)?;
    }
    let good = format!("Bearer {}", good(&cx)?);
    if cx.is_http2() {
        return Ok(());
    }
    let mut connection = cx.connect().await?;
    let (with_token, without) = (with(&cx, good)?, bare(&cx, &cx.request("server/discover"))?);
    let turns: [(&str, &Post, u16); 3] = [
        ("the good token", &with_token, 200),
        ("none on the same connection", &without, 401),
        ("the good token on the same connection", &with_token, 200),
    ];
    for (name, post, status) in turns {
        connection.send(&post.encode()).await?;
        let reply = Reply::read(&mut connection).await.of(name)?;
        reply.has_status(status).of(name)?;
        if reply.closes() {
            break;
        }
    }
    Ok(())
}

async fn client_info(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let own_name = at(&cx.offer().discover, "/_meta/io.modelcontextprotocol~1serverInfo/name");
    let own_name = own_name.as_str().unwrap_or("everything-server");
    let named = |name: &str| {
        let info = json!({ "name": name, "version": "1.0.0" });
        cx.request("server/discover").meta(META_INFO, info)
    };
    let names = ["admin", own_name, "mcp-conformance"];
    for name in names {
        let variants = [(name, bare(&cx, &named(name))?)];
        each(&cx, variants, |reply| unauthorized(reply).map(drop)).await?;
    }
    good(&cx)?;
    let mut said: Option<Value> = None;
    for name in names {
        let reply = cx.ask(&named(name)).await.of(name)?;
        let result = reply.result().of(name)?;
        let now = json!([at(result, "/supportedVersions"), at(result, "/capabilities")]);
        let before = said.get_or_insert_with(|| now.clone());
        expect(*before == now, format!("{name}: what {} gets", "admin"), reply.told())?;
    }
    Ok(())
}
