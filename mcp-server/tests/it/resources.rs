//! Resources and templates: what is listed of them, how they are read, and what is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use mcp_server::types::{
    Annotations, CacheScope, ErrorCode, ErrorObject, Icon, InputRequired, LoggingLevel, Outcome,
    ReadResourceResult, RequestState, ResourceContents, Role,
};
use mcp_server::{
    Args, BuildError, Completing, Context, Exchange, ExchangeOptions, Extension, HandlerError,
    IntoResourceResult, Log, Progress, Prompt, Resource, ResourceInfo, ResourceTemplate,
    ResourceUri, Server, ServerBuilder, Variables, scan,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Post, Reply, Running, builder, limits, message, meta, ok, watched, within};

fn read(uri: &str) -> Post {
    Post::rpc("resources/read", json!({ "uri": uri }))
}

fn fixed() -> Resource {
    Resource::text("test://fixed", "fixed", "ok")
}

/// A template whose handler says which it is and what its variables are.
fn says(template: &'static str) -> ResourceTemplate {
    ResourceTemplate::new(template, "t", move |Args(variables): Args<BTreeMap<String, String>>| {
        std::future::ready(format!("{template} {variables:?}"))
    })
}

async fn resources(resources: impl IntoIterator<Item = Resource>) -> Running {
    Running::build(resources.into_iter().fold(builder(), ServerBuilder::resource)).await
}

async fn templates(templates: impl IntoIterator<Item = ResourceTemplate>) -> Running {
    Running::build(templates.into_iter().fold(builder(), ServerBuilder::resource_template)).await
}

/// The text of the only contents.
fn text(reply: &Reply) -> String {
    let contents = reply.result()["contents"].clone();
    assert_eq!(contents.as_array().map(Vec::len), Some(1), "{contents}");
    contents[0]["text"].as_str().unwrap().to_owned()
}

/// That `uri` is refused as one that is not there, with the URI as it was given.
fn assert_not_found(reply: &Reply, status: u16, uri: &str) {
    assert_eq!((reply.status, reply.code()), (status, Some(-32602)), "{uri}: {}", reply.text());
    assert_eq!(reply.message()["error"]["data"], json!({ "uri": uri }));
    assert_eq!(reply.message()["id"], 1);
}

/// Everything said of a resource or a template reaches its list, and nothing else does.
#[tokio::test]
async fn resources_are_listed_as_they_were_described() {
    let annotations = Annotations::default()
        .audience(vec![Role::User])
        .priority(0.5)
        .last_modified("2026-07-28T00:00:00Z");
    let icon = || Icon::new("https://a.example/i.png");
    let resource = Resource::new("test://r?q=1#f", "r", async || "ok")
        .title("Title")
        .description("What is in it")
        .mime_type("text/x-rust")
        .size(u64::MAX)
        .annotations(annotations.clone())
        .icon(icon())
        .meta("com.example/a", &json!({ "b": 1 }))
        .meta("not a key", &1)
        .cache(Duration::from_secs(1), CacheScope::Public);
    let template = ResourceTemplate::new("test://t/{a}{?b}", "t", async || "ok")
        .title("Title")
        .description("What is in it")
        .mime_type("text/x-rust")
        .annotations(annotations)
        .icon(icon())
        .meta("com.example/a", &json!({ "b": 1 }));
    let server = builder().resource(resource).resource(fixed()).resource_template(template);
    let running = Running::build(server).await;
    let mut expected = json!({
        "uri": "test://r?q=1#f",
        "name": "r",
        "title": "Title",
        "description": "What is in it",
        "mimeType": "text/x-rust",
        "size": u64::MAX,
        "annotations": {
            "audience": ["user"], "priority": 0.5, "lastModified": "2026-07-28T00:00:00Z",
        },
        "icons": [{ "src": "https://a.example/i.png" }],
        "_meta": { "com.example/a": { "b": 1 } },
    });
    let result = running.ask(&Post::rpc("resources/list", json!({}))).await.result();
    let plain = json!({ "uri": "test://fixed", "name": "fixed", "size": 2 });
    assert_eq!(result["resources"], json!([expected, plain]));
    let object = expected.as_object_mut().unwrap();
    object.remove("uri");
    object.remove("size");
    object.insert("uriTemplate".to_owned(), json!("test://t/{a}{?b}"));
    object.insert("name".to_owned(), json!("t"));
    let result = running.ask(&Post::rpc("resources/templates/list", json!({}))).await.result();
    assert_eq!(result["resourceTemplates"], json!([expected]));
}

/// Resources, Capabilities: declared if there is a resource or a template; then both lists answer, empty or not.
#[tokio::test]
async fn resources_are_declared_where_there_are_any() {
    for (server, declared, sizes) in [
        (builder().tool(ok()), false, [0, 0]),
        (builder().resource(fixed()), true, [1, 0]),
        (builder().resource_template(says("test://{a}")), true, [0, 1]),
    ] {
        let running = Running::build(server).await;
        let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
        assert_eq!(discovered["capabilities"]["resources"].is_object(), declared);
        let lists =
            [("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")];
        for ((method, member), size) in lists.into_iter().zip(sizes) {
            let reply = running.ask(&Post::rpc(method, json!({}))).await;
            if declared {
                assert_eq!(reply.result()[member].as_array().map(Vec::len), Some(size));
            } else {
                assert_eq!((reply.status, reply.code()), (404, Some(-32601)));
            }
        }
        let reply = running.ask(&read("test://fixed")).await;
        assert_eq!(reply.status, if declared { 200 } else { 404 }, "{}", reply.text());
    }
}

/// Lists of every kind, five entries by two, in the order of registration.
async fn lists() -> Running {
    let names = ["zebra", "apple", "Mango", "b", "a"];
    let mut server = builder().page_size(2);
    for name in names {
        server = server
            .tool(mcp_server::Tool::new(name, async || "ok"))
            .prompt(Prompt::new(name, async || "ok"))
            .resource(Resource::text(format!("x:{name}"), name, ""))
            .resource_template(ResourceTemplate::new(format!("x:{name}/{{v}}"), name, async || ""));
    }
    Running::build(server).await
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// X8, Pagination: in order, each entry on one page, the same on every instance.
#[tokio::test]
async fn every_list_has_its_pages() {
    let instances = [lists().await, lists().await];
    for (method, member) in LISTS {
        let mut found = Vec::new();
        let mut params = json!({});
        for page in 0.. {
            let replies = [
                instances[0].ask(&Post::rpc(method, params.clone())).await.result(),
                instances[1].ask(&Post::rpc(method, params.clone())).await.result(),
            ];
            assert_eq!(replies[0], replies[1], "{method} {page}");
            let entries = replies[page % 2][member].as_array().unwrap();
            found.push(entries.iter().map(|entry| entry["name"].clone()).collect::<Vec<_>>());
            match replies[0].get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        assert_eq!(json!(found), json!([["zebra", "apple"], ["Mango", "b"], ["a"]]), "{method}");
    }
}

/// A cursor is good for the list that gave it, and for no other.
#[tokio::test]
async fn cursors_are_bound_to_their_list() {
    let running = lists().await;
    for (giver, _) in LISTS {
        let first = running.ask(&Post::rpc(giver, json!({}))).await.result();
        let cursor = &first["nextCursor"];
        assert!(cursor.is_string());
        for (taker, member) in LISTS {
            let reply = running.ask(&Post::rpc(taker, json!({ "cursor": cursor }))).await;
            if giver == taker {
                assert_eq!(reply.result()[member][0]["name"], "Mango");
            } else {
                assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{giver} -> {taker}");
            }
        }
    }
    for (method, _) in LISTS {
        for wrong in [json!(""), json!("x"), json!(null), json!(1), json!({})] {
            let reply = running.ask(&Post::rpc(method, json!({ "cursor": wrong }))).await;
            assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{method} {wrong}");
        }
    }
}

/// A type of one's own that a handler may return.
struct Upper(&'static str);
impl IntoResourceResult for Upper {
    fn into_resource_result(
        self,
        info: ResourceInfo<'_>,
    ) -> Result<Outcome<ReadResourceResult>, ErrorObject> {
        self.0.to_uppercase().into_resource_result(info)
    }
}

/// What a result is for each type that a handler may return.
#[tokio::test]
async fn every_return_type() {
    fn of<M: 'static>(handler: impl mcp_server::ResourceHandler<M>) -> Resource {
        Resource::new("x:r", "r", handler).mime_type("text/a")
    }
    let complete = |contents: Value| {
        json!({
            "resultType": "complete", "contents": contents, "ttlMs": 0, "cacheScope": "private",
        })
    };
    let a = || complete(json!([{ "uri": "x:r", "mimeType": "text/a", "text": "a" }]));
    let blob = || complete(json!([{ "uri": "x:r", "mimeType": "text/a", "blob": "AP8=" }]));
    let other = || ResourceContents::text("x:other", "b");
    let retry = || InputRequired::retry(RequestState::from("s"));
    let suspended = || json!({ "resultType": "input_required", "requestState": "s" });
    let table = [
        (of(async || "a"), a()),
        (of(async || "a".to_owned()), a()),
        (of(async || Cow::Borrowed("a")), a()),
        (of(async || Some("a")), a()),
        (of(async || Ok::<_, io::Error>("a")), a()),
        (of(async || Ok::<_, io::Error>(Some("a".to_owned()))), a()),
        (of(async || vec![0_u8, 255]), blob()),
        (of(async || Some(vec![0_u8, 255])), blob()),
        (
            of(async || Upper("a")),
            complete(json!([{ "uri": "x:r", "mimeType": "text/a", "text": "A" }])),
        ),
        // Contents say themselves what they are, and may be those of other resources.
        (of(move || async move { other() }), complete(json!([{ "uri": "x:other", "text": "b" }]))),
        (
            of(move || async move {
                vec![other(), ResourceContents::blob("x:r", b"\0").mime_type("image/png")]
            }),
            complete(json!([
                { "uri": "x:other", "text": "b" },
                { "uri": "x:r", "mimeType": "image/png", "blob": "AA==" },
            ])),
        ),
        // It is there, and there is nothing in it.
        (of(async || Vec::<ResourceContents>::new()), complete(json!([]))),
        (of(async || ReadResourceResult::default()), complete(json!([]))),
        (of(async || Outcome::Complete(ReadResourceResult::default())), complete(json!([]))),
        (of(move || async move { retry() }), suspended()),
        (
            of(move || async move {
                Ok::<_, HandlerError>(Some(Outcome::<ReadResourceResult>::InputRequired(retry())))
            }),
            suspended(),
        ),
    ];
    for (row, (resource, expected)) in table.into_iter().enumerate() {
        let reply = resources([resource]).await.ask(&read("x:r")).await;
        assert!(reply.status == 200 && reply.is_json(), "row {row}");
        let mut result = reply.result();
        let meta = result.as_object_mut().unwrap().remove("_meta");
        assert_eq!(result, expected, "row {row}");
        assert_eq!(meta.unwrap()["io.modelcontextprotocol/serverInfo"]["name"], "test");
    }
}

/// Text and bytes that never change, read again and again.
#[tokio::test]
async fn fixed_contents_are_what_they_were() {
    let every_byte: Vec<u8> = (0..=255).collect();
    let running = resources([
        Resource::text("x:text", "text", "ü\0\"\u{2028}").mime_type("text/plain"),
        Resource::binary("x:binary", "binary", every_byte.clone()).mime_type("a/b"),
        Resource::text("x:nothing", "nothing", ""),
    ])
    .await;
    for _ in 0..2 {
        let contents = async |uri: &str| running.ask(&read(uri)).await.result()["contents"].clone();
        assert_eq!(
            contents("x:text").await,
            json!([{ "uri": "x:text", "mimeType": "text/plain", "text": "ü\0\"\u{2028}" }])
        );
        assert_eq!(contents("x:nothing").await, json!([{ "uri": "x:nothing", "text": "" }]));
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::STANDARD.encode(&every_byte);
        assert_eq!(
            contents("x:binary").await,
            json!([{ "uri": "x:binary", "mimeType": "a/b", "blob": encoded }])
        );
    }
    let listed = running.ask(&Post::rpc("resources/list", json!({}))).await.result();
    let sizes: Vec<_> = (0..3).map(|n| listed["resources"][n]["size"].as_u64()).collect();
    assert_eq!(sizes, [Some(7), Some(256), Some(0)], "in bytes, before any encoding");
}

/// A fixed URI wins, then the first template that fits; nothing normalises what was asked for.
#[tokio::test]
async fn the_first_that_fits_is_read() {
    let server = builder()
        .resource_template(says("x://a/{id}"))
        .resource_template(says("x://a/{id}{?q}"))
        .resource_template(says("x://{+all}"))
        .resource(Resource::text("x://a/fixed", "fixed", "the fixed one"));
    let running = Running::build(server).await;
    for (uri, expected) in [
        ("x://a/fixed", "the fixed one"),
        ("x://a/1", r#"x://a/{id} {"id": "1"}"#),
        ("x://a/Fixed", r#"x://a/{id} {"id": "Fixed"}"#),
        ("x://a/fixe%64", r#"x://a/{id} {"id": "fixed"}"#),
        ("x://a/1?q=2", r#"x://a/{id}{?q} {"id": "1", "q": "2"}"#),
        ("x://a/1/2", r#"x://{+all} {"all": "a/1/2"}"#),
        ("x://a/", r#"x://{+all} {"all": "a/"}"#),
        ("x://a/fixed/", r#"x://{+all} {"all": "a/fixed/"}"#),
    ] {
        let reply = running.ask(&read(uri)).await;
        assert_eq!(text(&reply), expected, "{uri}");
        assert_eq!(reply.result()["contents"][0]["uri"], uri, "as it was asked for");
    }
    for uri in ["x://", "y://a/1", "X://a/1", "x:/a/1"] {
        assert_not_found(&running.ask(&read(uri)).await, 400, uri);
    }
}

/// Values are decoded once, and only then are they what they are.
#[tokio::test]
async fn variables_are_percent_decoded() {
    let running = templates([says("x://{v}")]).await;
    for (encoded, decoded) in [
        ("a%20b", "a b"),
        ("%C3%BC", "ü"),
        ("%E2%98%83", "☃"),
        ("%2F", "/"),
        ("%2e%2E", ".."),
        ("%252F", "%2F"),
        ("%00", "\0"),
        ("a+b", "a+b"),
        ("%7Bv%7D", "{v}"),
    ] {
        let shown = format!("x://{{v}} {:?}", BTreeMap::from([("v", decoded)]));
        assert_eq!(text(&running.ask(&read(&format!("x://{encoded}"))).await), shown);
    }
    // What is not text once it is decoded is no resource.
    for uri in ["x://%FF", "x://%C3", "x://%ED%A0%80", "x://%F4%90%80%80"] {
        assert_not_found(&running.ask(&read(uri)).await, 400, uri);
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what is decoded is shown by `Debug`")]
struct Issue {
    repo: String,
    id: u32,
    sort: Option<Sort>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sort {
    Up,
    Down,
}

/// Variables are typed like the arguments of prompts.
#[tokio::test]
async fn variables_are_typed() {
    let issues = ResourceTemplate::new(
        "x://{repo}/{id}{?sort}",
        "issues",
        async |Args(issue): Args<Issue>| format!("{issue:?}"),
    );
    let running = templates([issues, says("x://{+rest}")]).await;
    for (uri, shown) in [
        ("x://a/7", r#"Issue { repo: "a", id: 7, sort: None }"#),
        ("x://a%2Fb/0?sort=down", r#"Issue { repo: "a/b", id: 0, sort: Some(Down) }"#),
        ("x://7/4294967295?sort=up", r#"Issue { repo: "7", id: 4294967295, sort: Some(Up) }"#),
    ] {
        assert_eq!(text(&running.ask(&read(uri)).await), shown);
    }
    // The first template has it, whether it can make something of it or not.
    for (uri, name) in [
        ("x://a/b", "id"),
        ("x://a/-1", "id"),
        ("x://a/4294967296", "id"),
        ("x://a/%2B1", "id"),
        ("x://a/1?sort=left", "sort"),
    ] {
        let reply = running.ask(&read(uri)).await;
        assert_eq!(reply.code(), Some(-32602), "{uri}");
        let says = reply.message()["error"]["message"].as_str().unwrap().to_owned();
        assert!(says.contains(name), "{says}");
    }
}

/// Resources, Security Considerations: a value may hold anything, and what becomes a path is checked.
#[tokio::test]
async fn paths_do_not_lead_out() {
    let files = ResourceTemplate::new(
        "file:///{+path}",
        "files",
        async |Args(path): Args<BTreeMap<String, String>>| {
            let variables: Variables = path.into_iter().collect();
            variables.relative_path("path").map(|path: &Path| format!("below {}", path.display()))
        },
    );
    let running = templates([files]).await;
    for uri in ["file:///a", "file:///a/b.txt", "file:///a%2Fb", "file:///..a", "file:///a..b/..."]
    {
        let reply = running.ask(&read(uri)).await;
        let dots = uri.ends_with("...");
        if dots {
            // Nothing but dots: Windows takes it for `..`.
            assert_not_found(&reply, 200, uri);
        } else {
            assert!(text(&reply).starts_with("below "), "{uri}");
        }
    }
    for uri in [
        "file:///..",
        "file:///../etc/passwd",
        "file:///a/../../etc/passwd",
        "file:///a/..",
        "file:///%2e%2e/etc/passwd",
        "file:///..%2Fetc%2Fpasswd",
        "file:///%2Fetc/passwd",
        "file:////etc/passwd",
        "file:///a//b",
        "file:///a/./b",
        "file:///..%5Cetc",
        "file:///a%00",
        "file:///a/",
    ] {
        assert_not_found(&running.ask(&read(uri)).await, 200, uri);
    }
}

/// X13, J16, Resources, Error Handling: what is not there is -32602 with its URI, never empty contents, whoever
/// notices.
#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let server = builder()
        .resource(fixed())
        .resource(Resource::new("test://gone", "gone", async || None::<String>))
        .resource(Resource::new("test://gone/too", "gone too", async || {
            Ok::<_, io::Error>(None::<ReadResourceResult>)
        }))
        .resource_template(ResourceTemplate::new("test://maybe/{id}", "maybe", async || {
            None::<Vec<u8>>
        }));
    let running = Running::build(server).await;
    for (uri, status) in [
        ("test://nonexistent-resource", 400),
        ("test://FIXED", 400),
        ("test://fixed/", 400),
        ("test://fixed?", 400),
        ("test://fixed#", 400),
        ("test://maybe/", 400),
        // These are known, and it is their handlers that find nothing.
        ("test://gone", 200),
        ("test://gone/too", 200),
        ("test://maybe/7", 200),
    ] {
        assert_not_found(&running.ask(&read(uri)).await, status, uri);
    }
    assert_eq!(text(&running.ask(&read("test://fixed")).await), "ok");
}

/// J17: what is no URI is the fault of whoever sent it.
#[tokio::test]
async fn malformed_uris_are_refused() {
    let server = builder().resource(fixed()).resource_template(says("test://{+all}"));
    let running = Running::build(server).await;
    for uri in [
        "not a uri",
        "",
        "/a",
        "a",
        ":",
        "test:",
        "://a",
        "1test://a",
        "te st://a",
        "test://a b",
        "test://{all}",
        "test://a\\b",
        "test://a\"b",
        "test://<a>",
        "test://%",
        "test://%2",
        "test://%zz",
        "test://ü",
        "test://a\nb",
        "test://a\u{0}",
        "täst://a",
    ] {
        use base64::Engine as _;
        let name = base64::engine::general_purpose::STANDARD.encode(uri);
        let post = read(uri).set("Mcp-Name", &format!("=?base64?{name}?="));
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{uri:?}: {}", reply.text());
        assert_eq!(reply.message()["id"], 1);
    }
    for params in
        [json!({}), json!({ "uri": null }), json!({ "uri": 5 }), json!({ "uri": ["test://fixed"] })]
    {
        let reply = running.ask(&Post::rpc("resources/read", params.clone())).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{params}");
    }
}

/// J17: nor does its length matter, without headers to stop it.
#[tokio::test]
async fn overlong_uris_are_refused() {
    async fn ask(server: &Server, uri: &str) -> Value {
        let mut options = ExchangeOptions::default();
        options.http = false;
        let exchange = Exchange::new(options);
        exchange.connect(server).unwrap();
        let request = message("1", "resources/read", json!({ "uri": uri }));
        let (parts, ()) = http::Request::new(()).into_parts();
        let response =
            within(exchange.handle(scan(request.as_bytes()).unwrap(), parts.into())).await;
        let body = within(response.unwrap().into_body().collect()).await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }
    let server = builder().resource(fixed()).resource_template(says("test://{a,b,c}{/d}{?e}"));
    let server = server.build().unwrap();
    assert_eq!(ask(&server, "test://fixed").await["result"]["contents"][0]["text"], "ok");
    for uri in [
        format!("test://{}", "a".repeat(64 * 1024)),
        format!("test://{}", ",".repeat(100_000)),
        format!("test://{}", "%41/".repeat(100_000)),
        "x".repeat(64 * 1024),
        format!("{}:a", "x".repeat(64 * 1024)),
        " ".repeat(64 * 1024),
        "☃".repeat(64 * 1024),
    ] {
        assert_eq!(ask(&server, &uri).await["error"]["code"], -32602, "{}", uri.len());
    }
    let running = Running::start(server).await;
    let reply = running.ask(&read("test://fixed").set("Mcp-Name", &"a".repeat(64 * 1024))).await;
    assert!(reply.status == 400 || reply.status == 431, "{}", reply.status);
}

/// Streamable HTTP, Standard MCP Request Headers: the header has the URI as it is, plain or encoded.
#[tokio::test]
async fn the_header_names_the_resource() {
    let server = builder().resource(fixed()).resource_template(says("x://{+all}"));
    let running = Running::build(server).await;
    let post = |uri: &str, header: &str| read(uri).set("Mcp-Name", header);
    for (uri, header) in [
        ("test://fixed", "test://fixed"),
        ("test://fixed", " test://fixed "),
        ("test://fixed", "=?base64?dGVzdDovL2ZpeGVk?="),
        ("x://a%20b?c=d#e", "x://a%20b?c=d#e"),
    ] {
        assert_eq!(running.ask(&post(uri, header)).await.code(), None, "{header:?}");
    }
    for post in [
        read("test://fixed").remove("Mcp-Name"),
        post("test://fixed", "test://Fixed"),
        post("test://fixed", "test://fixed/"),
        post("x://a%20b", "x://a b"),
        post("x://%41", "x://A"),
        post("x://%c3", "x://%C3"),
        // That of the name would be the wrong member.
        post("test://fixed", "fixed"),
        post("not a uri", "test://fixed"),
        read("test://fixed").add("Mcp-Name", "test://fixed"),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32020)), "{post:?}");
    }
}

/// Caching: nothing is kept or shared unless somebody says so; the handler has the last word.
#[tokio::test]
async fn what_is_read_says_how_long_it_is_fresh() {
    fn whole(ttl_ms: u64, cache_scope: CacheScope) -> ReadResourceResult {
        ReadResourceResult { ttl_ms, cache_scope, ..ReadResourceResult::default() }
    }
    let second = Duration::from_secs(1);
    let public = |resource: Resource| resource.cache(second, CacheScope::Public);
    let template = |template: &'static str| says(template).cache(second, CacheScope::Public);
    let of = |uri: &str| Resource::new(uri, "r", async || "ok");
    let server = builder()
        .list_cache(Duration::from_secs(9), CacheScope::Public)
        .resource(of("x:default"))
        .resource(public(of("x:public")))
        .resource(of("x:private").cache(second, CacheScope::Private))
        .resource(of("x:ever").cache(Duration::MAX, CacheScope::Public))
        .resource(of("x:short").cache(Duration::from_micros(999), CacheScope::Public))
        .resource(public(Resource::new("x:some", "r", async || Some(vec![1_u8]))))
        .resource(public(Resource::new("x:contents", "r", async || Vec::<ResourceContents>::new())))
        // For this caller alone, although the resource is one for all.
        .resource(public(Resource::new("x:mine", "r", async || whole(0, CacheScope::Private))))
        .resource(public(Resource::new("x:while", "r", async || whole(5, CacheScope::Private))))
        .resource(Resource::new("x:whole", "r", async || whole(7, CacheScope::Public)))
        .resource_template(template("x:t/{v}"))
        .resource_template(says("x:u/{v}"));
    let running = Running::build(server).await;
    for (uri, ttl, scope) in [
        ("x:default", 0, "private"),
        ("x:public", 1000, "public"),
        ("x:private", 1000, "private"),
        ("x:ever", u64::MAX, "public"),
        ("x:short", 0, "public"),
        ("x:some", 1000, "public"),
        ("x:contents", 1000, "public"),
        ("x:mine", 0, "private"),
        ("x:while", 5, "private"),
        ("x:whole", 7, "public"),
        ("x:t/1", 1000, "public"),
        ("x:u/1", 0, "private"),
    ] {
        let result = running.ask(&read(uri)).await.result();
        assert_eq!(json!([result["ttlMs"], result["cacheScope"]]), json!([ttl, scope]), "{uri}");
    }
    for method in ["resources/list", "resources/templates/list"] {
        let result = running.ask(&Post::rpc(method, json!({}))).await.result();
        assert_eq!(json!([result["ttlMs"], result["cacheScope"]]), json!([9000, "public"]));
    }
}

/// A resource has no result that says that it failed: every failure is an error, generic unless its author chose the
/// words, and in band.
#[tokio::test]
async fn a_resource_fails_with_an_error() {
    fn failing<E: Into<HandlerError> + Send + 'static>(
        error: impl Fn() -> E + Send + Sync + 'static,
    ) -> Resource {
        Resource::new("x:r", "r", move || std::future::ready(Err::<String, E>(error())))
    }
    fn panics<F: Future<Output = String> + Send + 'static>(
        handler: impl Fn() -> F + Send + Sync + 'static,
    ) -> Resource {
        Resource::new("x:r", "r", handler)
    }
    struct Panics;
    impl IntoResourceResult for Panics {
        fn into_resource_result(
            self,
            _: ResourceInfo<'_>,
        ) -> Result<Outcome<ReadResourceResult>, ErrorObject> {
            panic!("hunter2")
        }
    }
    let data = || ErrorObject::new(ErrorCode(-7), "bad").with_data(&json!({ "x": 1 }));
    let table = [
        (failing(|| io::Error::other("hunter2")), -32603, "The request failed"),
        (failing(|| HandlerError::new("no disk")), -32603, "no disk"),
        (failing(|| HandlerError::visible("why")), -32603, "why"),
        (failing(data), -7, "bad"),
        (failing(|| ErrorObject::new(ErrorCode(-32002), "legacy")), -32603, "legacy"),
        (Resource::new("x:r", "r", async |_: Extension<u8>| "never"), -32603, "The request failed"),
        (panics(async || panic!("hunter2")), -32603, "Internal error"),
        (
            panics(|| {
                assert!(std::hint::black_box(false), "hunter2");
                std::future::ready(String::new())
            }),
            -32603,
            "Internal error",
        ),
        (Resource::new("x:r", "r", async || Panics), -32603, "Internal error"),
    ];
    for (row, (resource, code, says)) in table.into_iter().enumerate() {
        let running = resources([resource, fixed()]).await;
        let reply = running.ask(&read("x:r")).await;
        assert_eq!((reply.status, reply.code()), (200, Some(code)), "row {row}");
        assert_eq!(reply.message()["error"]["message"], says, "row {row}");
        assert!(!reply.text().contains("hunter2"), "row {row}");
        assert_eq!(text(&running.ask(&read("test://fixed")).await), "ok");
    }
}

/// What takes too long is dropped, whichever kind of handler it is.
#[tokio::test]
async fn handlers_end_with_their_time() {
    let (flag, mut dropped) = watched();
    let hang = move || {
        let flag = flag();
        async move {
            let _flag = flag;
            std::future::pending::<String>().await
        }
    };
    let completer = hang.clone();
    let template = ResourceTemplate::new("y:{v}", "t", hang.clone()).complete("v", move |_| {
        let hanging = completer();
        async move { [hanging.await] }
    });
    let server = builder()
        .limits(limits(|limits| limits.call_time = Duration::from_millis(10)))
        .prompt(Prompt::new("p", hang.clone()))
        .resource(Resource::new("x:r", "r", hang))
        .resource_template(template);
    let running = Running::build(server).await;
    let reference = json!({ "type": "ref/resource", "uri": "y:{v}" });
    let argument = json!({ "name": "v", "value": "" });
    for post in [
        Post::rpc("prompts/get", json!({ "name": "p" })),
        read("x:r"),
        read("y:1"),
        Post::rpc("completion/complete", json!({ "ref": reference, "argument": argument })),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (200, Some(-32603)), "{post:?}");
        dropped.dropped().await;
    }
}

/// Context arguments: which resource is read, and all that tools can have.
#[tokio::test]
async fn handlers_see_their_request() {
    async fn sees(
        shared: Arc<u8>,
        context: Context,
        uri: ResourceUri,
        Args(issue): Args<Issue>,
    ) -> String {
        assert_eq!(context.target(), uri.0);
        format!("{shared} {} {}", uri.0, issue.id)
    }
    let server = builder()
        .state(Arc::new(5_u8))
        .resource_template(ResourceTemplate::new("x://{repo}/{id}", "t", sees))
        .resource(Resource::new("x:r", "r", async |uri: ResourceUri| uri.0))
        .tool(mcp_server::Tool::new("t", async |uri: ResourceUri| uri.0));
    let running = Running::build(server).await;
    assert_eq!(text(&running.ask(&read("x://a%20b/7")).await), "5 x://a%20b/7 7");
    assert_eq!(text(&running.ask(&read("x:r")).await), "x:r");
    assert_eq!(running.ask(&Post::call("t", json!({}))).await.tool_text(), "");
}

/// Progress and log messages come before the result, in a stream.
#[tokio::test]
async fn resources_report_and_log() {
    let talks = ResourceTemplate::new("x:{v}", "talks", async |progress: Progress, log: Log| {
        progress.report(0.5);
        log.send(LoggingLevel::Info, "half");
        "done"
    });
    let running = templates([talks]).await;
    let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
    assert!(discovered["capabilities"]["logging"].is_object());
    let mut asked = meta();
    asked["progressToken"] = json!(7);
    asked["io.modelcontextprotocol/logLevel"] = json!("info");
    let reply =
        running.ask(&Post::rpc("resources/read", json!({ "uri": "x:1", "_meta": asked }))).await;
    assert!(reply.is_stream());
    let events = reply.events();
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/progress"), Some("notifications/message"), None]);
    assert_eq!(text(&reply), "done");
    let reply = running.ask(&read("x:1")).await;
    assert!(reply.is_json());
    assert_eq!(text(&reply), "done");
}

/// What cannot be served is told when the server is built.
#[test]
fn resources_that_cannot_be_served_are_not_built() {
    let resource = |resource: Resource| builder().resource(resource).build().unwrap_err();
    let template =
        |template: ResourceTemplate| builder().resource_template(template).build().unwrap_err();
    let none = async |_: Completing| Vec::<String>::new();
    for uri in ["", "not a uri", "/a", "x:", "x:{a}", "x:%", "x:ü"] {
        let error = resource(Resource::text(uri, "r", ""));
        assert!(matches!(error, BuildError::Uri(found) if found == uri), "{uri}");
    }
    for uri in ["x:{", "x:}", "x:{a*}", "x:{a}{a}", "x:{!a}", "x:{}"] {
        let error = template(says(uri));
        assert!(matches!(error, BuildError::Template { template, .. } if template == uri), "{uri}");
    }
    assert!(matches!(
        builder().resource(fixed()).resource(fixed()).build(),
        Err(BuildError::DuplicateName(uri)) if uri == "test://fixed"
    ));
    assert!(matches!(
        builder().resource_template(says("x:{a}")).resource_template(says("x:{a}")).build(),
        Err(BuildError::DuplicateName(uri)) if uri == "x:{a}"
    ));
    assert!(matches!(
        resource(Resource::new("x:r", "r", async |_: Arc<u128>| "")),
        BuildError::MissingState { state: "u128", .. }
    ));
    assert!(matches!(
        template(says("x:{a}").complete("b", none)),
        BuildError::Completer { argument, .. } if argument == "b"
    ));
    // Variables that could never be there, by a slip of the pen.
    let issue = || async |_: Args<Issue>| "";
    assert!(matches!(
        template(ResourceTemplate::new("x:{repo}/{ID}", "t", issue())),
        BuildError::Variable { handler, variable } if handler == "x:{repo}/{ID}" && variable == "id"
    ));
    assert!(matches!(resource(Resource::new("x:r", "r", issue())), BuildError::Variable { .. }));
    let enough = ResourceTemplate::new("x:{repo}/{id}/{more}", "t", issue());
    assert!(builder().resource_template(enough).build().is_ok());
    assert_eq!(format!("{:?}", fixed()), "Resource { uri: \"test://fixed\", .. }");
}
