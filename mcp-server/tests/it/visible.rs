//! Per-caller visibility: what is hidden is not there, whichever way it is asked for.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_server::types::{CacheScope, PromptArgument, ReadResourceResult};
use mcp_server::{
    Announces, BuildError, Caller, Item, Prompt, RequestParts, Resource, ResourceTemplate,
    ServerBuilder, Tool,
};
use serde_json::{Value, json};
use tower_service::Service;

use crate::support::{Post, Reply, Running, builder, capable, h2_request, within};

/// Hides what has `secret` in its name, URI or template from all but those who say `root`.
fn secrets(builder: ServerBuilder) -> ServerBuilder {
    builder.visible(|item, request| {
        !item.key().contains("secret")
            || request.headers.get("x-role").is_some_and(|role| role == "root")
    })
}

fn prompt(name: &str) -> Prompt {
    let argument = PromptArgument::new("a");
    Prompt::new(name, async || "").arguments([argument]).complete("a", async |_| ["suggested"])
}

fn template(text: &str) -> ResourceTemplate {
    ResourceTemplate::new(text, "t", async || "").complete("a", async |_| ["suggested"])
}

/// Something open and something secret of each kind.
fn both() -> ServerBuilder {
    secrets(builder())
        .tools(["open", "secret"].map(|name| Tool::new(name, async || "called")))
        .prompts([prompt("open"), prompt("secret")])
        .resources([Resource::text("a:open", "r", ""), Resource::text("a:secret", "r", "")])
        .resource_template(template("open:{a}"))
        .resource_template(template("secret:{a}"))
}

async fn ask(running: &Running, role: &str, method: &str, params: Value) -> Reply {
    running.ask(&Post::rpc(method, params).add("X-Role", role)).await
}

/// X11: unknown and forbidden cannot be told apart, and the one who may sees all.
#[tokio::test]
async fn what_is_hidden_is_unknown_on_every_way() {
    let running = Running::build(both()).await;
    let complete = |kind: &str, key: &str, of: &str| {
        let argument = json!({ "name": "a", "value": "" });
        json!({ "ref": { "type": kind, key: of }, "argument": argument })
    };
    type Params<'a> = &'a dyn Fn(&str) -> Value;
    let table: [(&str, Params<'_>); 6] = [
        ("tools/call", &|name| json!({ "name": name })),
        ("prompts/get", &|name| json!({ "name": name })),
        ("resources/read", &|name| json!({ "uri": format!("a:{name}") })),
        ("resources/read", &|name| json!({ "uri": format!("{name}:x") })),
        ("completion/complete", &|name| complete("ref/prompt", "name", name)),
        ("completion/complete", &|name| complete("ref/resource", "uri", &format!("{name}:{{a}}"))),
    ];
    for (method, params) in table {
        assert_eq!(ask(&running, "guest", method, params("open")).await.status, 200, "{method}");
        assert_eq!(ask(&running, "root", method, params("secret")).await.status, 200, "{method}");
        let hidden = ask(&running, "guest", method, params("secret")).await;
        let unknown = ask(&running, "root", method, params("absent")).await;
        assert_eq!((hidden.status, hidden.code()), (400, Some(-32602)), "{method}");
        assert_eq!(hidden.text().replace("secret", "absent"), unknown.text(), "{method}");
    }
    for (method, member, key) in [
        ("tools/list", "tools", "name"),
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ] {
        for (role, expected) in [("guest", 1), ("root", 2)] {
            let result = ask(&running, role, method, json!({})).await.result();
            let seen = result[member].as_array().unwrap();
            assert_eq!(seen.len(), expected, "{method} {role}");
            assert!(role == "root" || !seen[0][key].as_str().unwrap().contains("secret"));
            assert_eq!(json!([result["ttlMs"], result["cacheScope"]]), json!([0, "private"]));
        }
    }
}

/// A server that hides, and one that has nothing to hide, give a guest the same bytes, whatever is asked: nothing about
/// what is hidden is checked, counted or found.
#[tokio::test]
async fn a_guest_cannot_tell_that_anything_is_hidden() {
    let keys = ["secret1", "a", "secret2", "b", "c", "secret3", "d", "e", "secret4"];
    let hides = of_each(&keys).await;
    let has_none = of_each(&["a", "b", "c", "d", "e"]).await;
    let (mut hides, mut has_none) = (hides.connect().await, has_none.connect().await);
    let guesses = ["secret1", "secret2", "secret4", "absent", "a"];
    let posts = guesses.into_iter().flat_map(guess).chain(lists());
    for post in posts.chain([Post::rpc("server/discover", json!({}))]) {
        let (hidden, none) = (hides.ask(&post).await, has_none.ask(&post).await);
        assert_eq!((hidden.status, hidden.text()), (none.status, none.text()), "{post:?}");
    }
}

/// A server with something of each kind under each of `keys`, all of which has something to be checked.
async fn of_each(keys: &[&str]) -> Running {
    let a = json!({ "type": "string", "x-mcp-header": "A" });
    let schema = json!({ "type": "object", "properties": { "a": a }, "required": ["a"] });
    let announces = Announces::new().tools().prompts().resources().resource_updates();
    let mut server = secrets(builder()).announces(announces).completions().page_size(2);
    for &key in keys {
        let sampling = serde_json::from_value(json!({ "sampling": {} })).unwrap();
        let tool = Tool::new(key, async || "called").input_schema(schema.clone());
        let argument = PromptArgument::new("a").required(true);
        let prompt = Prompt::new(key, async || "").arguments([argument]);
        server = server
            .tool(tool.requires(sampling))
            .prompt(prompt.complete("a", async |_| ["suggested"]))
            .resource(Resource::text(format!("a:{key}"), "r", ""))
            .resource_template(template(&format!("t:{key}/{{a}}")));
    }
    Running::build(server).await
}

/// All that can be tried with a name.
fn guess(name: &str) -> Vec<Post> {
    let capable = capable(json!({ "sampling": {} }));
    let mut posts = Vec::new();
    for arguments in [json!({ "a": "x" }), json!({}), json!({ "a": 5 }), json!([])] {
        let params = json!({ "name": name, "arguments": arguments });
        let able = json!({ "name": name, "arguments": arguments, "_meta": capable });
        let stateful = json!({ "name": name, "arguments": arguments, "requestState": 5 });
        posts.extend([
            Post::rpc("tools/call", params.clone()),
            Post::rpc("tools/call", params.clone()).add("Mcp-Param-A", "y"),
            Post::rpc("tools/call", able.clone()).add("Mcp-Param-A", "x"),
            Post::rpc("tools/call", able),
            Post::rpc("tools/call", stateful.clone()),
            Post::rpc("prompts/get", params),
            Post::rpc("prompts/get", stateful),
        ]);
    }
    let complete = |reference: Value| {
        let argument = json!({ "name": "a", "value": "" });
        Post::rpc("completion/complete", json!({ "ref": reference, "argument": argument }))
    };
    posts.push(complete(json!({ "type": "ref/prompt", "name": name })));
    for uri in [format!("a:{name}"), format!("t:{name}/x"), format!("t:{name}/{{a}}")] {
        posts.push(Post::rpc("resources/read", json!({ "uri": uri })));
        posts.push(complete(json!({ "type": "ref/resource", "uri": uri })));
    }
    posts
}

/// Every list, from every cursor that could be made up.
fn lists() -> impl Iterator<Item = Post> {
    let lists = [
        ("tools/list", "tools", "", ""),
        ("prompts/list", "prompts", "", ""),
        ("resources/list", "resources", "a:", ""),
        ("resources/templates/list", "resourceTemplates", "t:", "/{a}"),
    ];
    lists.into_iter().flat_map(|(method, member, before, behind)| {
        let lasts = ["secret1", "secret2", "secret4", "absent", "a", "b", "d", "e"];
        let places = lasts.into_iter().flat_map(|last| (0..11).map(move |n| (last, n)));
        let cursors = places.map(move |(last, entries)| {
            let cursor = STANDARD.encode(format!("{member}:{entries}:{before}{last}{behind}"));
            Post::rpc(method, json!({ "cursor": cursor }))
        });
        cursors.chain([Post::rpc(method, json!({}))])
    })
}

/// What may be hidden from somebody is not for caches that serve everybody.
#[tokio::test]
async fn what_is_read_is_private() {
    let public = || {
        let hour = Duration::from_secs(3600);
        let resource = Resource::text("a:open", "r", "").cache(hour, CacheScope::Public);
        let result = async || {
            let mut result = ReadResourceResult::default();
            (result.ttl_ms, result.cache_scope) = (3_600_000, CacheScope::Public);
            result
        };
        let template = ResourceTemplate::new("t:{a}", "t", async || "");
        builder()
            .resource(resource)
            .resource(Resource::new("b:open", "r", result))
            .resource_template(template.cache(hour, CacheScope::Public))
    };
    for (server, scope) in [(public(), "public"), (secrets(public()), "private")] {
        let running = Running::build(server).await;
        for uri in ["a:open", "b:open", "t:open"] {
            let read = ask(&running, "", "resources/read", json!({ "uri": uri })).await.result();
            let hint = json!([read["ttlMs"], read["cacheScope"]]);
            assert_eq!(hint, json!([3_600_000, scope]), "{uri}");
        }
    }
}

/// Each page is full of what its reader sees, and nobody sees a cursor that leads nowhere.
#[tokio::test]
async fn pages_hold_what_is_visible() {
    let names = ["secret1", "a", "secret2", "b", "c", "secret3", "d", "secret4"];
    let tools = names.map(|name| Tool::new(name, async || ""));
    let running = Running::build(secrets(builder()).tools(tools).page_size(2)).await;
    for (role, expected) in [
        ("guest", &[&["a", "b"][..], &["c", "d"]][..]),
        ("root", &[&["secret1", "a"], &["secret2", "b"], &["c", "secret3"], &["d", "secret4"]]),
    ] {
        let (mut cursor, mut pages) = (json!({}), Vec::new());
        loop {
            let result = ask(&running, role, "tools/list", cursor.clone()).await.result();
            let tools = result["tools"].as_array().unwrap().clone();
            pages.push(tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>());
            match result.get("nextCursor") {
                Some(next) => cursor = json!({ "cursor": next }),
                None => break,
            }
        }
        assert_eq!(json!(pages), json!(expected), "{role}");
    }
    // A cursor is not a key: what it was given for is decided anew.
    let first = ask(&running, "root", "tools/list", json!({})).await.result();
    let cursor = json!({ "cursor": first["nextCursor"] });
    let other = ask(&running, "guest", "tools/list", cursor).await.result();
    assert_eq!(other["tools"][0]["name"], "b");
    // Nothing to see is an empty list.
    let all = Tool::new("secret", async || "");
    let running = Running::build(secrets(builder()).tool(all)).await;
    let result = ask(&running, "guest", "tools/list", json!({})).await.result();
    assert_eq!((&result["tools"], result.get("nextCursor")), (&json!([]), None));
}

/// What is hidden on purpose is not reached through what comes later.
#[tokio::test]
async fn a_hidden_resource_is_not_read_through_a_template() {
    let builder = secrets(builder())
        .resource(Resource::text("a:secret", "r", "exact"))
        .resource_template(template("secret:{a}"))
        .resource_template(template("{scheme}:{a}"));
    let running = Running::build(builder).await;
    for (uri, seen) in [("a:secret", false), ("secret:x", false), ("a:other", true)] {
        let reply = ask(&running, "guest", "resources/read", json!({ "uri": uri })).await;
        assert_eq!(reply.status == 200, seen, "{uri}");
    }
}

/// Subscriptions are granted for what may be read, and do not tell what is hidden from what does not exist.
#[tokio::test]
async fn nobody_hears_of_hidden_resources() {
    let all = Announces::new().tools().resource_updates();
    let mut running = Running::build(both().announces(all)).await;
    let uris = ["a:open", "a:secret", "open:1", "secret:1", "absent:1"];
    for (role, granted) in [
        ("guest", json!(["a:open", "open:1"])),
        ("root", json!(["a:open", "a:secret", "open:1", "secret:1"])),
    ] {
        let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
        let post = Post::rpc("subscriptions/listen", json!({ "notifications": filter }));
        let mut conn = running.connect().await;
        conn.send(&post.add("X-Role", role).bytes()).await;
        conn.stream().await;
        let acknowledged = conn.event().await.unwrap();
        let expected = json!({ "toolsListChanged": true, "resourceSubscriptions": granted });
        assert_eq!(acknowledged["params"]["notifications"], expected);
    }
    running.shut_down();
    // Without a filter a resource need not be registered: what is listened for may come later.
    let running = Running::build(builder().announces(all)).await;
    let filter = json!({ "resourceSubscriptions": ["absent:1"] });
    let mut conn = running.connect().await;
    let post = Post::rpc("subscriptions/listen", json!({ "notifications": filter }));
    conn.send(&post.bytes()).await;
    conn.stream().await;
    assert_eq!(conn.event().await.unwrap()["params"]["notifications"], filter);
}

/// A filter that fails lets nothing through, and the server goes on.
#[tokio::test]
async fn a_filter_that_panics_hides() {
    let builder = builder().tools(["a", "b"].map(|name| Tool::new(name, async || "called")));
    let running = Running::build(builder.visible(|item, _| {
        assert_ne!(item.key(), "b", "this is on purpose");
        true
    }))
    .await;
    let listed = ask(&running, "", "tools/list", json!({})).await.result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
    assert_eq!(running.ask(&Post::call("b", json!({}))).await.code(), Some(-32602));
    assert_eq!(running.ask(&Post::call("a", json!({}))).await.tool_text(), "called");
}

/// Lists that differ must not be shared by a cache.
#[test]
fn lists_that_differ_are_not_public() {
    let build = |scope| both().list_cache(Duration::from_secs(1), scope).build();
    assert!(matches!(build(CacheScope::Public), Err(BuildError::PublicLists)));
    assert!(build(CacheScope::Private).is_ok());
}

/// The filter sees definitions, and whom authentication has established.
#[tokio::test]
async fn a_filter_goes_by_caller_and_definition() {
    let tagged = Tool::new("t", async || "").meta("com.example/tier", "gold");
    let server = builder()
        .tools([tagged, Tool::new("u", async || "")])
        .visible(|item: Item<'_>, request: &RequestParts| {
            let gold = item.meta().other.get("com.example/tier").is_some();
            let member = request.caller.as_ref().is_some_and(|caller| caller.principal() == "ada");
            matches!(item, Item::Tool(_)) && (member || !gold)
        })
        .build()
        .unwrap();
    for (caller, status) in [(Some("ada"), 200), (Some("bob"), 400), (None, 400)] {
        let mut request = h2_request("localhost", &Post::call("t", json!({})));
        if let Some(caller) = caller {
            request.extensions_mut().insert(Caller::new(caller));
        }
        let response = within(server.service().call(request)).await.unwrap();
        assert_eq!(response.status(), status, "{caller:?}");
    }
}
