//! `Server::edit`: what is offered changes while the server serves.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_server::{
    Announces, Args, BuildError, Edit, LocalBus, Prompt, Resource, ResourceTemplate, Server,
    ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tower_service::Service;

use crate::support::{Bell, Conn, Post, Running, builder, h2_request, within};

fn says(name: impl Into<String>, text: &'static str) -> Tool {
    Tool::new(name, move || async move { text })
}

fn prompt(name: &str, text: &'static str) -> Prompt {
    Prompt::new(name, move || async move { text })
}

fn template(text: &str) -> ResourceTemplate {
    ResourceTemplate::new(text, "t", async || "templated")
}

fn all() -> Announces {
    Announces::new().tools().prompts().resources().resource_updates()
}

async fn start(builder: ServerBuilder) -> (Server, Running) {
    let server = builder.build().unwrap();
    (server.clone(), Running::start(server).await)
}

/// What is changed.
type Change = fn(Edit) -> Edit;

/// The keys that a list has, over all its pages.
async fn listed(running: &Running, method: &str, member: &str, key: &str) -> Vec<String> {
    let (mut keys, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let result = running.ask(&Post::rpc(method, params)).await.result();
        let page = result[member].as_array().unwrap();
        keys.extend(page.iter().map(|entry| entry[key].as_str().unwrap().to_owned()));
        match result.get("nextCursor") {
            Some(next) => cursor = Some(next.as_str().unwrap().to_owned()),
            None => return keys,
        }
    }
}

async fn tools(running: &Running) -> Vec<String> {
    listed(running, "tools/list", "tools", "name").await
}

async fn everything(running: &Running) -> [Vec<String>; 4] {
    [
        tools(running).await,
        listed(running, "prompts/list", "prompts", "name").await,
        listed(running, "resources/list", "resources", "uri").await,
        listed(running, "resources/templates/list", "resourceTemplates", "uriTemplate").await,
    ]
}

async fn text(running: &Running, tool: &str) -> String {
    running.ask(&Post::call(tool, json!({}))).await.tool_text()
}

async fn listen(running: &Running, notifications: Value) -> Conn {
    let params = json!({ "notifications": notifications });
    let mut conn = running.connect().await;
    conn.send(&Post::rpc("subscriptions/listen", params).bytes()).await;
    conn.stream().await;
    conn.event().await.unwrap();
    conn
}

/// What was heard until the server shut down.
async fn heard(conn: &mut Conn) -> Vec<String> {
    let events = conn.events().await;
    let named = events.iter().filter_map(|event| event["method"].as_str());
    named.map(|method| method.trim_start_matches("notifications/").to_owned()).collect()
}

#[tokio::test]
async fn every_kind_can_be_added_replaced_and_removed() {
    let (server, running) = start(
        builder()
            .tools([says("a", "1"), says("b", "1")])
            .prompt(prompt("a", "1"))
            .prompt(prompt("b", "1"))
            .resource(Resource::text("a:a", "a", "1"))
            .resource(Resource::text("a:b", "b", "1"))
            .resource_template(template("t:{a}"))
            .resource_template(template("t:b{a}")),
    )
    .await;
    let edit = server.edit().add_tool(says("c", "2")).replace_tool(says("a", "2")).remove_tool("b");
    let edit =
        edit.add_prompt(prompt("c", "2")).replace_prompt(prompt("a", "2")).remove_prompt("b");
    let edit = edit
        .add_resource(Resource::text("a:c", "c", "2"))
        .replace_resource(Resource::text("a:a", "a", "2"))
        .remove_resource("a:b");
    let edit = edit
        .add_resource_template(template("t:c{a}"))
        .replace_resource_template(template("t:{a}"))
        .remove_resource_template("t:b{a}");
    edit.apply().unwrap();
    let expected = [["a", "c"], ["a", "c"], ["a:a", "a:c"], ["t:{a}", "t:c{a}"]];
    assert_eq!(everything(&running).await, expected);
    for name in ["a", "c"] {
        assert_eq!(text(&running, name).await, "2");
        let got = running.ask(&Post::rpc("prompts/get", json!({ "name": name }))).await.result();
        assert_eq!(got["messages"][0]["content"]["text"], "2");
        let uri = format!("a:{name}");
        let read = running.ask(&Post::rpc("resources/read", json!({ "uri": uri }))).await.result();
        assert_eq!(read["contents"][0]["text"], "2");
    }
    for (method, params) in [
        ("tools/call", json!({ "name": "b" })),
        ("prompts/get", json!({ "name": "b" })),
        ("resources/read", json!({ "uri": "a:b" })),
    ] {
        let reply = running.ask(&Post::rpc(method, params)).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{method}");
    }
}

/// What is removed and added anew goes to the end; what is replaced stays in its place.
#[tokio::test]
async fn the_order_is_that_of_the_changes() {
    let (server, running) =
        start(builder().tools(["a", "b", "c"].map(|name| says(name, "")))).await;
    let steps: [(Change, &[&str]); 4] = [
        (|edit| edit.replace_tool(says("b", "")), &["a", "b", "c"]),
        (|edit| edit.remove_tool("a").add_tool(says("a", "")), &["b", "c", "a"]),
        (|edit| edit.add_tool(says("d", "")).remove_tool("b"), &["c", "a", "d"]),
        (|edit| edit.remove_tool("c").remove_tool("a").remove_tool("d"), &[]),
    ];
    for (change, expected) in steps {
        change(server.edit()).apply().unwrap();
        assert_eq!(tools(&running).await, expected);
    }
}

#[derive(Deserialize, JsonSchema)]
struct Typed {
    #[expect(dead_code, reason = "only its schema matters")]
    word: String,
}

/// One change that cannot be made undoes all of them, and nobody is told of anything.
#[tokio::test]
async fn an_edit_is_made_whole_or_not_at_all() {
    let table: [(&str, Change); 13] = [
        ("twice", |edit| edit.add_tool(says("a", "2"))),
        ("twice", |edit| edit.add_tool(says("a", "2")).remove_tool("a")),
        ("twice", |edit| edit.remove_tool("a").add_tool(says("a", "2")).add_tool(says("a", "3"))),
        ("not there", |edit| edit.remove_tool("a").replace_tool(says("a", "2"))),
        ("not there", |edit| edit.replace_tool(says("none", ""))),
        ("not there", |edit| edit.remove_tool("none")),
        ("not there", |edit| edit.remove_tool("a").remove_tool("a")),
        ("no name", |edit| edit.add_tool(says("", ""))),
        ("schema", |edit| edit.add_tool(says("s", "").input_schema(json!({})))),
        ("state", |edit| edit.add_tool(Tool::new("s", async |_: Arc<u8>| ""))),
        ("no URI", |edit| edit.add_resource(Resource::text("not one", "x", ""))),
        ("no template", |edit| edit.add_resource_template(template("t:{"))),
        ("completer", |edit| {
            let stray = prompt("p", "").complete("none", async |_| ["x"]);
            edit.add_prompt(stray)
        }),
    ];
    let declared = builder().announces(all()).completions().tool(says("a", "1"));
    let (server, mut running) = start(declared).await;
    let mut conn =
        listen(&running, json!({ "toolsListChanged": true, "promptsListChanged": true })).await;
    let before = everything(&running).await;
    for (why, change) in table {
        let edit = change(server.edit().add_tool(says("before", "")));
        let error = edit.add_prompt(prompt("after", "")).apply().expect_err(why).to_string();
        assert_eq!(everything(&running).await, before, "{why}: {error}");
    }
    running.shut_down();
    assert_eq!(heard(&mut conn).await, [""; 0]);
}

/// Clients have been told what there is; only what was declared can come.
#[tokio::test]
async fn what_was_not_declared_cannot_be_added() {
    let completed = || {
        let typed = Prompt::new("p", async |_: Args<Typed>| "");
        typed.complete("word", async |_| ["x"])
    };
    let table: [(&str, Change); 5] = [
        ("tools", |edit| edit.add_tool(says("t", ""))),
        ("prompts", |edit| edit.add_prompt(prompt("p", ""))),
        ("resources", |edit| edit.add_resource(Resource::text("a:b", "a", ""))),
        ("resources", |edit| edit.add_resource_template(template("t:{a}"))),
        ("prompts", |edit| edit.replace_prompt(prompt("p", ""))),
    ];
    let server = builder().build().unwrap();
    for (capability, change) in table {
        let error = change(server.edit()).apply().unwrap_err();
        assert!(matches!(error, BuildError::NotDeclared(named) if named == capability), "{error}");
    }
    let prompts = || builder().announces(Announces::new().prompts());
    let error = prompts().build().unwrap().edit().add_prompt(completed()).apply();
    assert!(matches!(error, Err(BuildError::NotDeclared("completions"))));
    let server = prompts().completions().logging().build().unwrap();
    server.edit().add_prompt(completed()).apply().unwrap();
    let running = Running::start(server).await;
    let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
    let expected = json!({ "prompts": { "listChanged": true }, "completions": {}, "logging": {} });
    assert_eq!(discovered["capabilities"], expected);
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "p" },
        "argument": { "name": "word", "value": "" },
    });
    let result = running.ask(&Post::rpc("completion/complete", params)).await.result();
    assert_eq!(result["completion"]["values"], json!(["x"]));
}

/// Those who listen hear once of each list that an edit has touched, and of each resource that is another now.
#[tokio::test]
async fn listeners_are_told_of_what_was_touched() {
    let table: [(Change, &[&str]); 9] = [
        (|edit| edit.add_tool(says("x", "")).add_tool(says("y", "")), &["tools/list_changed"]),
        (|edit| edit.remove_prompt("p"), &["prompts/list_changed"]),
        (|edit| edit.add_resource_template(template("t:{a}")), &["resources/list_changed"]),
        (|edit| edit.add_resource(Resource::text("a:x", "x", "")), &["resources/list_changed"]),
        (
            |edit| edit.replace_resource(Resource::text("a:b", "b", "2")),
            &["resources/list_changed", "resources/updated"],
        ),
        (|edit| edit.remove_resource("a:b"), &["resources/list_changed", "resources/updated"]),
        // That it is there again, or at last, is news as well.
        (
            |edit| edit.remove_resource("a:b").add_resource(Resource::text("a:b", "b", "2")),
            &["resources/list_changed", "resources/updated"],
        ),
        (
            |edit| edit.add_resource(Resource::text("a:later", "later", "")),
            &["resources/list_changed", "resources/updated"],
        ),
        (|edit| edit, &[]),
    ];
    for (change, expected) in table {
        let (server, mut running) = start(
            builder()
                .announces(all())
                .prompt(prompt("p", ""))
                .resource(Resource::text("a:b", "b", "1"))
                .resource(Resource::text("a:other", "other", "1")),
        )
        .await;
        let filter = json!({
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": ["a:b", "a:other", "a:later"],
        });
        let mut conn = listen(&running, filter).await;
        change(server.edit()).apply().unwrap();
        running.shut_down();
        assert_eq!(heard(&mut conn).await, expected);
    }
}

/// Instances that share a bus tell their clients of each other's edits, though each has to be edited by itself.
#[tokio::test]
async fn listeners_of_other_instances_are_told() {
    let bus = Arc::new(LocalBus::new());
    let instance = || builder().announces(all()).bus(bus.clone()).tool(says("a", ""));
    let (edited, _) = start(instance()).await;
    let (_, mut other) = start(instance()).await;
    let mut conn = listen(&other, json!({ "toolsListChanged": true })).await;
    edited.edit().remove_tool("a").apply().unwrap();
    assert_eq!(tools(&other).await, ["a"]);
    other.shut_down();
    assert_eq!(heard(&mut conn).await, ["tools/list_changed"]);
}

/// A request sees to its end what there was when it came, though the tool is gone.
#[tokio::test]
async fn a_call_under_way_outlives_its_tool() {
    let bell = Bell::new();
    let waits = bell.clone();
    let tool = Tool::new("waits", move |server: Server| {
        let waits = waits.clone();
        async move {
            server.edit().remove_tool("waits").apply().unwrap();
            waits.rung().await;
            "done"
        }
    });
    let (_, running) = start(builder().tool(tool).announces(Announces::new().tools())).await;
    let mut call = running.connect().await;
    call.send(&Post::call("waits", json!({})).bytes()).await;
    within(async {
        while !tools(&running).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    bell.ring();
    assert_eq!(call.reply().await.tool_text(), "done");
    assert_eq!(running.ask(&Post::call("waits", json!({}))).await.code(), Some(-32602));
}

/// Entries that stay are listed once each, wherever the list was changed between two pages.
#[tokio::test]
async fn cursors_stay_good_when_the_list_changes() {
    let names = || (0..6).map(|n| says(format!("t{n}"), ""));
    let table: [(Change, &[&str]); 8] = [
        (|edit| edit, &["t2", "t3", "t4", "t5"]),
        // Before the cursor, at it, and behind.
        (|edit| edit.remove_tool("t0"), &["t2", "t3", "t4", "t5"]),
        (|edit| edit.remove_tool("t1"), &["t2", "t3", "t4", "t5"]),
        (|edit| edit.remove_tool("t2"), &["t3", "t4", "t5"]),
        (|edit| edit.add_tool(says("t6", "")), &["t2", "t3", "t4", "t5", "t6"]),
        // Added anew behind those that were not listed yet.
        (|edit| edit.remove_tool("t1").add_tool(says("t1", "")), &["t2", "t3", "t4", "t5", "t1"]),
        (|edit| edit.remove_tool("t0").add_tool(says("t0", "")), &["t2", "t3", "t4", "t5", "t0"]),
        (|edit| (1..6).fold(edit, |edit, n| edit.remove_tool(format!("t{n}"))), &[]),
    ];
    for (change, expected) in table {
        let (server, running) = start(builder().tools(names()).page_size(2)).await;
        let mut page = running.ask(&Post::rpc("tools/list", json!({}))).await.result();
        change(server.edit()).apply().unwrap();
        let mut rest = Vec::new();
        while let Some(cursor) = page.get("nextCursor") {
            let params = json!({ "cursor": cursor });
            page = running.ask(&Post::rpc("tools/list", params)).await.result();
            let tools = page["tools"].as_array().unwrap();
            rest.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        }
        // One that moved into the page that was seen is missed by nobody who listens and lists again.
        assert!(
            rest.ends_with(&expected.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()[..]),
            "{rest:?}"
        );
        assert_eq!(rest.len(), expected.len(), "{rest:?}");
    }
}

/// No change is lost among many that are made at once, while the list is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_all_count() {
    const WRITERS: usize = 8;
    const EDITS: usize = 20;
    let (server, running) = start(builder().announces(Announces::new().tools())).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let server = server.clone();
        writers.spawn(async move {
            for n in 0..EDITS {
                let name = format!("t{writer}-{n}");
                server.edit().add_tool(says(name.clone(), "")).apply().unwrap();
                tokio::task::yield_now().await;
                if n % 2 == 1 {
                    server.edit().remove_tool(name).apply().unwrap();
                }
            }
        });
    }
    for _ in 0..20 {
        let mut names = tools(&running).await;
        let seen = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), seen);
    }
    within(writers.join_all()).await;
    assert_eq!(tools(&running).await.len(), WRITERS * EDITS / 2);
}

/// Edits when it goes.
struct Last(Server);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.edit().add_tool(says("after", "")).apply().unwrap();
    }
}

/// What a handler holds may edit in its turn when it goes: with an edit that removes it, one that cannot be made,
/// and one that takes back what it adds.
#[tokio::test]
async fn what_is_dropped_by_an_edit_may_edit() {
    type Edits = fn(&Server, Tool) -> Result<(), BuildError>;
    let table: [(Edits, bool); 8] = [
        (
            |server, tool| {
                server.edit().add_tool(tool).apply()?;
                server.edit().remove_tool("holds").apply()
            },
            true,
        ),
        (
            |server, tool| {
                server.edit().add_tool(tool).apply()?;
                server.edit().replace_tool(says("holds", "")).remove_tool("holds").apply()
            },
            true,
        ),
        (|server, tool| server.edit().add_tool(tool).remove_tool("holds").apply(), true),
        (
            |server, tool| {
                let edit = server.edit().add_tool(tool).replace_tool(says("holds", ""));
                edit.remove_tool("holds").apply()
            },
            true,
        ),
        (|server, tool| server.edit().add_tool(tool).add_tool(says("a", "")).apply(), false),
        (|server, tool| server.edit().add_tool(tool).remove_prompt("none").apply(), false),
        (|server, tool| server.edit().replace_tool(tool).apply(), false),
        (|server, tool| server.edit().add_tool(says("", "")).add_tool(tool).apply(), false),
    ];
    for (nth, (change, made)) in table.into_iter().enumerate() {
        let announces = builder().announces(Announces::new().tools());
        let (server, running) = start(announces.tool(says("a", ""))).await;
        let last = Last(server.clone());
        let holds = Tool::new("holds", move || {
            let _held = &last;
            async { "held" }
        });
        // In a thread of its own: one that waits for itself is not waited for.
        let (done, ended) = oneshot::channel();
        std::thread::spawn(move || done.send(change(&server, holds).is_ok()));
        assert_eq!(within(ended).await, Ok(made), "{nth}");
        assert_eq!(tools(&running).await, ["a", "after"], "{nth}");
    }
}

/// A filter may edit as well: what it adds is seen by the requests that follow.
#[tokio::test]
async fn a_filter_may_edit() {
    let itself = Arc::new(OnceLock::<Server>::new());
    let known = Arc::clone(&itself);
    let builder = builder().tools([says("a", ""), says("b", "")]).visible(move |item, _| {
        if let (Some(server), "a") = (known.get(), item.key()) {
            let _ = server.edit().add_tool(says("c", "")).remove_tool("b").apply();
        }
        true
    });
    let (server, running) = start(builder).await;
    itself.set(server).unwrap();
    assert_eq!(within(tools(&running)).await, ["a", "b"]);
    assert_eq!(within(tools(&running)).await, ["a", "c"]);
}

/// The handlers that edit do not keep alive what they edit.
#[tokio::test]
async fn a_server_goes_with_its_last_handle() {
    let held = Arc::new(());
    let (of_tool, of_filter) = (Arc::clone(&held), Arc::clone(&held));
    let edits = Tool::new("edits", async |server: Server| {
        server.edit().replace_tool(says("a", "2")).remove_tool("edits").apply().unwrap();
        "edited"
    });
    let holds = Tool::new("holds", move || {
        let _held = &of_tool;
        async { "" }
    });
    let builder = builder().tools([edits, holds, says("a", "1")]).visible(move |_, _| {
        let _held = &of_filter;
        true
    });
    let server = builder.announces(all()).build().unwrap();
    let mut service = server.service();
    let response =
        within(service.call(h2_request("localhost", &Post::call("edits", json!({}))))).await;
    assert_eq!(response.unwrap().status(), 200);
    assert_eq!(Arc::strong_count(&held), 3);
    drop((server, service));
    assert_eq!(Arc::strong_count(&held), 1);
}

/// Headers are held against the tool that there is now: a client that knows another is told so, and lists again.
#[tokio::test]
async fn headers_are_those_of_the_tool_that_replaced_it() {
    let mirrors = |header: &str| {
        let a = json!({ "type": "string", "x-mcp-header": header });
        says("t", "").input_schema(json!({ "type": "object", "properties": { "a": a } }))
    };
    let (server, running) = start(builder().tool(mirrors("Old"))).await;
    let call = |header: &str| {
        Post::call("t", json!({ "a": "x" })).add(&format!("Mcp-Param-{header}"), "x")
    };
    assert_eq!(running.ask(&call("Old")).await.status, 200);
    server.edit().replace_tool(mirrors("New")).apply().unwrap();
    assert_eq!(running.ask(&call("Old")).await.code(), Some(-32020));
    assert_eq!(running.ask(&call("New")).await.status, 200);
}

/// A server without anything that asks or logs can get it later.
#[cfg(feature = "asking")]
#[tokio::test]
async fn a_tool_that_asks_can_come_later() {
    let (server, running) = start(builder().announces(Announces::new().tools())).await;
    let asks = Tool::new("asks", async |ask: mcp_server::Ask, _: mcp_server::Log| {
        let roots = ask.roots("where").await;
        format!("{} roots", roots.len())
    });
    server.edit().add_tool(asks).apply().unwrap();
    let mut params =
        json!({ "name": "asks", "_meta": crate::support::capable(json!({ "roots": {} })) });
    let first = running.ask(&Post::rpc("tools/call", params.clone())).await.result();
    assert_eq!(first["resultType"], "input_required");
    params["inputResponses"] = json!({ "where": { "roots": [{ "uri": "file:///a" }] } });
    assert_eq!(running.ask(&Post::rpc("tools/call", params)).await.tool_text(), "1 roots");
}

/// The template that an earlier one hid is matched once that is gone.
#[tokio::test]
async fn templates_are_matched_as_they_are_now() {
    let which = |text: &'static str| ResourceTemplate::new(text, "t", move || async move { text });
    let (server, running) =
        start(builder().resource_template(which("t:{a}")).resource_template(which("t:{b}"))).await;
    let read = async || {
        let reply = running.ask(&Post::rpc("resources/read", json!({ "uri": "t:x" }))).await;
        reply.result()["contents"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(read().await, "t:{a}");
    server.edit().remove_resource_template("t:{a}").apply().unwrap();
    assert_eq!(read().await, "t:{b}");
}
