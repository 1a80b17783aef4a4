//! Scopes: what each thing takes, who has it, and one challenge for all of it.

use mcp_server::auth::Operation;
use mcp_server::types::{CacheScope, Method as Specified, PromptArgument};
use mcp_server::{
    Announces, Item, Method, Prompt, Resource, ResourceTemplate, ServerBuilder, Structured, Tool,
};
use serde_json::{Value, json};

use super::{METADATA, bearing, call, challenge, guarded, resource};
use crate::support::{Post, Reply, Running};

/// One of each kind that takes `files:read`, and one that takes nothing.
fn everything() -> ServerBuilder {
    let argument = || [PromptArgument::new("a")];
    let read = ["files:read"];
    guarded(resource().required_scopes(["basic"]).method_scopes(Specified::ListTools, ["lists"]))
        .tool(Tool::new("read", async || "").scopes(read))
        .prompt(
            Prompt::new("open", async || "").arguments(argument()).complete("a", async |_| ["s"]),
        )
        .prompt(
            Prompt::new("read", async || "")
                .arguments(argument())
                .complete("a", async |_| ["s"])
                .scopes(read),
        )
        .resource(Resource::text("a:open", "r", ""))
        .resource(Resource::text("a:read", "r", "").scopes(read))
        .resource_template(
            ResourceTemplate::new("read:{a}", "t", async || "")
                .complete("a", async |_| ["s"])
                .scopes(read),
        )
        .method(Method::new("x/read", async || Structured(json!({}))).scopes(read))
        .method(Method::new("x/open", async || Structured(json!({}))))
        .announces(Announces::new().resource_updates())
}

fn complete(kind: &str, key: &str, of: &str) -> Value {
    json!({ "ref": { "type": kind, key: of }, "argument": { "name": "a", "value": "" } })
}

async fn ask(running: &Running, token: &str, method: &str, params: Value) -> Reply {
    running.ask(&bearing(Post::rpc(method, params), token)).await
}

/// Whoever has the scopes may, and whoever has not is told all that it takes at once.
#[tokio::test]
async fn every_kind_of_thing_may_take_scopes() {
    let running = Running::build(everything()).await;
    let table = [
        ("tools/call", json!({ "name": "read" }), "basic files:read"),
        ("prompts/get", json!({ "name": "read" }), "basic files:read"),
        ("resources/read", json!({ "uri": "a:read" }), "basic files:read"),
        ("resources/read", json!({ "uri": "read:x" }), "basic files:read"),
        ("completion/complete", complete("ref/prompt", "name", "read"), "basic files:read"),
        ("completion/complete", complete("ref/resource", "uri", "read:{a}"), "basic files:read"),
        ("completion/complete", complete("ref/resource", "uri", "a:read"), "basic files:read"),
        ("x/read", json!({}), "basic files:read"),
        ("tools/list", json!({}), "basic lists"),
    ];
    for (method, params, scopes) in table {
        assert_eq!(
            ask(&running, "all", method, params.clone()).await.status,
            200,
            "{method} {params}"
        );
        let reply = ask(&running, "plain", method, params.clone()).await;
        let expected = format!(
            r#"Bearer {METADATA}, scope="{scopes}", error="insufficient_scope", error_description="This needs a token with the scopes: {scopes}""#
        );
        assert_eq!((reply.status, challenge(&reply)), (403, &*expected), "{method} {params}");
        assert_eq!(reply.message()["id"], 1);
    }
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/call", json!({ "name": "ok" })),
        ("prompts/get", json!({ "name": "open" })),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "a:open" })),
        ("completion/complete", complete("ref/prompt", "name", "open")),
        ("x/open", json!({})),
    ] {
        assert_eq!(ask(&running, "plain", method, params.clone()).await.status, 200, "{method}");
        let reply = ask(&running, "none", method, params).await;
        assert_eq!(reply.status, 403, "{method}");
        assert!(challenge(&reply).contains(r#" scope="basic""#), "{method}");
    }
}

/// A watcher hears what a reader may read, and one challenge names what all that is watched takes. It comes before
/// the stream.
#[tokio::test]
async fn watching_takes_what_reading_takes() {
    let server = everything().resource(Resource::text("a:write", "r", "").scopes(["files:write"]));
    let running = Running::build(server).await;
    let listen = |uris: &[&str]| json!({ "notifications": { "resourceSubscriptions": uris } });
    let post = |uris: &[&str], token: &str| {
        bearing(Post::rpc("subscriptions/listen", listen(uris)), token)
    };
    let reply =
        running.ask(&post(&["a:open", "a:read", "read:x", "a:write", "a:absent"], "plain")).await;
    assert_eq!(reply.status, 403);
    assert!(challenge(&reply).contains(r#" scope="basic files:read files:write""#), "{reply:?}");
    for (uris, token) in [(&["a:open", "a:absent"][..], "plain"), (&["a:read", "a:write"], "all")] {
        let mut conn = running.connect().await;
        conn.send(&post(uris, token).bytes()).await;
        conn.stream().await;
        let granted = conn.event().await.unwrap();
        assert_eq!(granted["params"]["notifications"]["resourceSubscriptions"], json!(uris));
    }
}

/// Specification: Authorization, Step-Up Authorization Flow, on hierarchies.
#[tokio::test]
async fn a_broader_scope_implies_narrower_ones() {
    let auth = resource()
        .implies("files:write", ["files:read", "files:list"])
        .implies("files:list", ["files:count"])
        .implies("basic", ["greet"]);
    let tools = ["files:read", "files:list", "files:count", "greet"];
    let tool = |scope: &&str| Tool::new(scope.replace(':', "_"), async || "").scopes([*scope]);
    let running = Running::build(guarded(auth).tools(tools.iter().map(tool))).await;
    for (token, may) in [
        ("all", [true, true, true, true]),
        ("reader", [true, false, false, true]),
        ("plain", [false, false, false, true]),
        ("none", [false; 4]),
    ] {
        for (tool, may) in tools.iter().zip(may) {
            let reply = running.ask(&bearing(call(&tool.replace(':', "_")), token)).await;
            assert_eq!(reply.status, if may { 200 } else { 403 }, "{token} {tool}");
        }
    }
}

#[tokio::test]
async fn scopes_may_depend_on_arguments() {
    let by_mode = |operation: &Operation<'_>| match operation.argument::<String>("mode") {
        Some(mode) if mode == "read" => vec!["files:read"],
        _ => vec!["files:read", "files:write"],
    };
    let open = json!({ "type": "object" });
    let file = Tool::new("file", async || "opened")
        .input_schema(open.clone())
        .scopes(["basic"])
        .scopes_for(by_mode);
    let by_variable = |operation: &Operation<'_>| {
        assert_eq!(operation.method(), "resources/read");
        assert!(operation.target().starts_with("user:"));
        let user = operation.variables().and_then(|variables| variables.get("name"));
        let own = operation.access().is_some_and(|access| Some(access.subject()) == user);
        if own { vec![] } else { vec!["files:read".to_owned()] }
    };
    let user = ResourceTemplate::new("user:{name}", "u", async || "").scopes_for(by_variable);
    let panics = Tool::new("panics", async || "").scopes_for(|_| -> Vec<String> { panic!("no") });
    let wrong = Tool::new("wrong", async || "").scopes_for(|_| ["a b"]);
    let server = guarded(resource()).tools([file, panics, wrong]).resource_template(user);
    let running = Running::build(server).await;
    let file = |mode: Value| Post::call("file", json!({ "mode": mode }));
    for (mode, token, status) in [
        (json!("read"), "reader", 200),
        (json!("read"), "plain", 403),
        (json!("write"), "reader", 403),
        (json!("write"), "all", 200),
        (json!(7), "reader", 403),
        (json!(null), "reader", 403),
    ] {
        let reply = running.ask(&bearing(file(mode.clone()), token)).await;
        assert_eq!(reply.status, status, "{mode} {token}");
        if status == 403 {
            let all =
                if mode == "read" { "basic files:read" } else { "basic files:read files:write" };
            assert!(challenge(&reply).contains(&format!(r#" scope="{all}""#)), "{reply:?}");
        }
    }
    for (uri, token, status) in
        [("user:plain", "plain", 200), ("user:root", "plain", 403), ("user:x", "reader", 200)]
    {
        assert_eq!(
            ask(&running, token, "resources/read", json!({ "uri": uri })).await.status,
            status,
            "{uri}"
        );
    }
    // Whose scopes cannot be found out is not done.
    for tool in ["panics", "wrong"] {
        let reply = running.ask(&bearing(call(tool), "all")).await;
        assert_eq!((reply.status, reply.code()), (500, Some(-32603)), "{tool}");
    }
    assert_eq!(running.ask(&bearing(call("ok"), "all")).await.tool_text(), "ok");
}

/// That there is something would be told by a challenge.
#[tokio::test]
async fn what_is_hidden_stays_unknown() {
    let secret = Tool::new("secret", async || "").scopes(["files:write"]);
    let server = guarded(resource()).tool(secret).visible(|item, request| {
        let access = request.extensions.get::<mcp_server::auth::Access>();
        assert_eq!(access.map(|access| access.caller()), request.caller.as_ref());
        !matches!(item, Item::Tool(tool) if tool.name == "secret")
            || access.is_some_and(|access| access.scopes().contains("files:read"))
    });
    let running = Running::build(server).await;
    let unknown = running.ask(&bearing(call("secret"), "plain")).await;
    assert_eq!((unknown.status, unknown.code()), (400, Some(-32602)));
    assert_eq!(unknown.field("www-authenticate"), None);
    assert_eq!(running.ask(&bearing(call("secret"), "reader")).await.status, 403);
    assert_eq!(running.ask(&bearing(call("secret"), "all")).await.status, 200);
    let list = ask(&running, "plain", "tools/list", json!({})).await.result();
    assert_eq!(list["tools"].as_array().unwrap().len(), 1);
    assert_eq!(list["cacheScope"], "private");
}

/// No cache shares among callers what one of them may not have. Specification: Caching, Security Considerations.
#[tokio::test]
async fn what_takes_a_token_is_cached_for_its_bearer() {
    let public = |uri: &str| {
        let resource = Resource::text(uri, "r", "");
        resource.cache(std::time::Duration::from_secs(60), CacheScope::Public)
    };
    let resources = || [public("a:open"), public("a:read").scopes(["files:read"])];
    let strict = Running::build(guarded(resource()).resources(resources())).await;
    let lax = Running::build(guarded(resource().optional()).resources(resources())).await;
    for (running, uri, scope) in [
        (&strict, "a:open", "private"),
        (&strict, "a:read", "private"),
        (&lax, "a:open", "public"),
        (&lax, "a:read", "private"),
    ] {
        let result = ask(running, "reader", "resources/read", json!({ "uri": uri })).await.result();
        assert_eq!(
            (&result["cacheScope"], &result["ttlMs"]),
            (&json!(scope), &json!(60000)),
            "{uri}"
        );
    }
}
