//! What a server says of itself, and its list of tools, page by page.

use std::time::Duration;

use mcp_server::types::{CacheScope, Icon, RawJson};
use mcp_server::{Context, Log, ServerBuilder, Tool};
use serde_json::json;

use crate::support::{Post, Reply, Running, builder, ok};

async fn start(builder: ServerBuilder) -> Running {
    Running::start(builder.build().unwrap()).await
}

fn named(name: String) -> Tool {
    Tool::new(name, async || "ok")
}

/// A server of the tools `t0`, `t1`, ...
fn many(tools: usize, page_size: usize) -> ServerBuilder {
    builder().tools((0..tools).map(|n| named(format!("t{n}")))).page_size(page_size)
}

async fn list(running: &Running, cursor: Option<&str>) -> Reply {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    running.ask(&Post::rpc("tools/list", params)).await
}

/// The names of each page, following the cursors.
async fn pages(running: &Running) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let result = list(running, cursor.as_deref()).await.result();
        let tools = result["tools"].as_array().unwrap();
        pages.push(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect());
        match result.get("nextCursor") {
            Some(next) => cursor = Some(next.as_str().unwrap().to_owned()),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn discover_says_what_there_is() {
    let icon = || Icon::new("https://a.example/i.png");
    let full = builder()
        .title("Title")
        .description("What it is")
        .website_url("https://a.example")
        .icon(icon())
        .instructions("Use it well")
        .extension("com.example/x", &json!({ "a": 1 }))
        .discover_cache(Duration::from_secs(60), CacheScope::Public)
        .tool(ok())
        .tool(Tool::new("logs", async |_: Log| "ok"));
    let reply = start(full).await.ask(&Post::rpc("server/discover", json!({}))).await;
    assert_eq!(
        reply.result(),
        json!({
            "resultType": "complete",
            "_meta": { "io.modelcontextprotocol/serverInfo": {
                "name": "test",
                "version": "1.0.0",
                "title": "Title",
                "description": "What it is",
                "websiteUrl": "https://a.example",
                "icons": [{ "src": "https://a.example/i.png" }],
            }},
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {}, "logging": {}, "extensions": { "com.example/x": { "a": 1 } } },
            "instructions": "Use it well",
            "ttlMs": 60_000,
            "cacheScope": "public",
        })
    );
    // K1: nothing is shared or kept unless somebody says so, and nothing is declared that is not there.
    let bare = start(builder().anonymous()).await;
    let expected = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "private",
    });
    assert_eq!(bare.ask(&Post::rpc("server/discover", json!({}))).await.result(), expected);
    for method in ["tools/list", "tools/call"] {
        let reply = bare.ask(&Post::rpc(method, json!({ "name": "ok" }))).await;
        assert_eq!((reply.status, reply.code()), (404, Some(-32601)), "{method}");
    }
}

/// Who can log declares logging: whatever may be reached through the whole context as well.
#[tokio::test]
async fn logging_is_declared_where_there_is_a_logger() {
    let table = [
        (ok(), false),
        (Tool::new("l", async |_: Log| "ok"), true),
        (Tool::new("c", async |_: Context| "ok"), true),
    ];
    for (tool, logs) in table {
        let reply =
            start(builder().tool(tool)).await.ask(&Post::rpc("server/discover", json!({}))).await;
        assert_eq!(reply.result()["capabilities"].get("logging").is_some(), logs);
    }
}

/// X8: the order is that of registration, and the same each time and everywhere.
#[tokio::test]
async fn tools_are_listed_in_their_order() {
    let names = ["zebra", "apple", "Mango", "b", "a"];
    let make = || builder().tools(names.map(|name| named(name.to_owned())));
    for running in [start(make()).await, start(make()).await] {
        for _ in 0..2 {
            assert_eq!(pages(&running).await, [names]);
        }
    }
}

/// Every size of page, and lists that just fill their pages.
#[tokio::test]
async fn every_tool_is_on_one_page() {
    for (tools, size) in
        [(1, 1), (1, 2), (4, 2), (5, 2), (3, 1), (100, 100), (101, 100), (6, usize::MAX)]
    {
        let running = start(many(tools, size)).await;
        let pages = pages(&running).await;
        assert_eq!(pages.len(), tools.div_ceil(size), "{tools} by {size}");
        let (last, full) = pages.split_last().unwrap();
        assert!(
            full.iter().all(|page| page.len() == size) && last.len() <= size && !last.is_empty()
        );
        let names: Vec<_> = (0..tools).map(|n| format!("t{n}")).collect();
        assert_eq!(pages.concat(), names);
    }
    assert_eq!(pages(&start(many(101, ServerBuilder::PAGE_SIZE)).await).await.len(), 2);
}

#[tokio::test]
async fn a_cursor_is_valid_on_every_instance() {
    let one = start(many(5, 2)).await;
    let other = start(many(5, 2)).await;
    let first = list(&one, None).await.result();
    let cursor = first["nextCursor"].as_str().unwrap();
    let here = list(&one, Some(cursor)).await.result();
    let there = list(&other, Some(cursor)).await.result();
    assert_eq!(here, there);
    assert_eq!(here["tools"][0]["name"], "t2");
    assert_eq!(list(&other, None).await.result(), first, "a list is the same each time");
}

#[tokio::test]
async fn what_is_no_cursor_is_refused() {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let running = start(many(4, 2)).await;
    let cursor = list(&running, None).await.result()["nextCursor"].as_str().unwrap().to_owned();
    let table = [
        String::new(),
        "x".to_owned(),
        "1".to_owned(),
        "☃".to_owned(),
        format!("{cursor}x"),
        format!(" {cursor}"),
        cursor[1..].to_owned(),
        cursor.to_lowercase(),
        "x".repeat(100_000),
        // A list of another kind, a tool that is not there, a place that no page ends at, the end.
        encode("prompts:t1"),
        encode("tools:none"),
        encode("tools:t0"),
        encode("tools:t3"),
        encode("tools:"),
        encode("tools"),
    ];
    for wrong in &table {
        let reply = list(&running, Some(wrong)).await;
        assert_eq!(
            (reply.status, reply.code()),
            (400, Some(-32602)),
            "{}",
            &wrong.chars().take(40).collect::<String>()
        );
        assert_eq!(reply.message()["id"], 1);
    }
    for wrong in [json!(null), json!(0), json!({}), json!([])] {
        let reply = running.ask(&Post::rpc("tools/list", json!({ "cursor": wrong }))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{wrong}");
    }
}

/// K1, K3: how long a list is fresh, and for whom, is on each of its pages.
#[tokio::test]
async fn a_list_says_how_long_it_is_fresh() {
    for (ttl, scope, expected) in [
        (Duration::ZERO, CacheScope::Private, json!([0, "private"])),
        (Duration::from_millis(1500), CacheScope::Public, json!([1500, "public"])),
        (Duration::from_micros(1), CacheScope::Private, json!([0, "private"])),
        (Duration::MAX, CacheScope::Public, json!([u64::MAX, "public"])),
    ] {
        let running = start(many(2, 1).list_cache(ttl, scope)).await;
        let first = list(&running, None).await.result();
        let second = list(&running, first["nextCursor"].as_str()).await.result();
        for page in [first, second] {
            assert_eq!(json!([page["ttlMs"], page["cacheScope"]]), expected);
        }
    }
    let default = list(&start(many(1, 1)).await, None).await.result();
    assert_eq!(json!([default["ttlMs"], default["cacheScope"]]), json!([0, "private"]));
}

/// X5: a schema is passed on as it is, to the digit.
#[tokio::test]
async fn raw_schemas_are_passed_through() {
    let schema = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x","minimum":1.0}},"properties":{"z":{"$ref":"#/$defs/a"},"b":{"$ref":"#x"},"a":{"const":12345678901234567890123,"maximum":1e2}},"if":{},"then":true,"x-own":[null,0.10]}"##;
    let tool = named("t".to_owned())
        .input_schema(RawJson::from_text(schema).unwrap())
        .output_schema(RawJson::from_text(schema).unwrap());
    let reply = list(&start(builder().tool(tool)).await, None).await;
    assert_eq!(reply.text().matches(schema).count(), 2, "{}", reply.text());
    let tools = reply.result()["tools"].clone();
    assert_eq!(tools.as_array().map(Vec::len), Some(1));
    assert_eq!(
        tools[0].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["inputSchema", "name", "outputSchema"]
    );
}

/// X11: what is listed can be called, and what is not listed cannot.
#[tokio::test]
async fn lists_and_calls_agree() {
    let running = start(many(3, 2)).await;
    for name in pages(&running).await.concat() {
        assert_eq!(running.ask(&Post::call(&name, json!({}))).await.tool_text(), "ok");
    }
    for name in ["t3", "T0", "t0 ", ""] {
        let header = if name.is_empty() { "=?base64??=" } else { name };
        let post = Post::call(name, json!({})).set("Mcp-Name", header);
        let code = running.ask(&post).await.code();
        // A header cannot end with a space, so that one differs from the body.
        assert_eq!(code, Some(if name == "t0 " { -32020 } else { -32602 }), "{name:?}");
    }
}
