//! Custom methods, and the extensions that they belong to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_server::types::{
    ErrorCode, ErrorObject, JsonMap, LoggingLevel, Request, RequestMeta, ResultMeta, has_meta,
};
use mcp_server::{
    Answers, Args, BuildError, Context, HandlerError, Log, Method, Progress, Structured, Tool,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{
    Bell, H2, Post, Running, VERSION, builder, capable, h2_request, limits, meta, watched,
};

const EXTENSION: &str = "com.example/catalogue";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    a: i64,
    b: i64,
}

async fn add(Args(Add { a, b }): Args<Add>) -> Structured<Value> {
    Structured(json!({ "sum": a + b }))
}

async fn serve(methods: impl IntoIterator<Item = Method>) -> Running {
    Running::build(builder().methods(methods)).await
}

/// The params of a client that declares [`EXTENSION`] with these settings.
fn extended(mut params: Value, settings: Value) -> Value {
    params["_meta"] = capable(json!({ "extensions": { EXTENSION: settings } }));
    params
}

/// Typed params in, a typed result out, and all that results have besides.
#[tokio::test]
async fn a_method_is_a_function() {
    let running = serve([
        Method::new("com.example/add", add),
        Method::new("nothing", async || ()),
        Method::new("meta", async |context: Context| {
            assert_eq!(context.target(), "meta");
            Structured(json!({ "_meta": { "com.example/a": context.meta().other.len() } }))
        }),
    ])
    .await;
    let reply = running.ask(&Post::rpc("com.example/add", json!({ "a": 2, "b": 3 }))).await;
    assert_eq!((reply.status, reply.is_json()), (200, true));
    let server =
        json!({ "io.modelcontextprotocol/serverInfo": { "name": "test", "version": "1.0.0" } });
    assert_eq!(
        reply.message(),
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "result": { "resultType": "complete", "sum": 5, "_meta": server },
        })
    );
    let reply = running.ask(&Post::rpc("nothing", json!({ "whatever": 1 }))).await;
    assert_eq!(reply.result(), json!({ "resultType": "complete", "_meta": server }));
    let mut meta = meta();
    meta["com.example/trace"] = json!(1);
    let reply = running.ask(&Post::rpc("meta", json!({ "_meta": meta }))).await;
    let mut expected = server.clone();
    expected["com.example/a"] = json!(1);
    assert_eq!(reply.result()["_meta"], expected);
    let mut h2 = H2::open(running.addr).await;
    let post = Post::rpc("com.example/add", json!({ "a": 1, "b": 1 }));
    assert_eq!(h2.send(h2_request("localhost", &post)).await.unwrap().status(), 200);
}

/// The headers of a custom method are those of any: `Mcp-Method` has to agree, `Mcp-Name` means nothing.
#[tokio::test]
async fn the_headers_of_a_method() {
    let running = serve([Method::new("add", add)]).await;
    let post = Post::rpc("add", json!({ "a": 2, "b": 3 }));
    for (post, status, code) in [
        (post.clone(), 200, None),
        (post.clone().set("Mcp-Name", "anything"), 200, None),
        (post.clone().set("Mcp-Method", "Add"), 400, Some(-32020)),
        (post.clone().remove("Mcp-Method"), 400, Some(-32020)),
        (post.clone().set("MCP-Protocol-Version", "2025-11-25"), 400, Some(-32020)),
        (Post::rpc("Add", json!({})), 404, Some(-32601)),
        (Post::rpc("add/", json!({})), 404, Some(-32601)),
        (Post::rpc("ping", json!({})), 404, Some(-32601)),
        (Post::bare(r#"{"jsonrpc":"2.0","method":"add"}"#), 202, None),
    ] {
        let reply = running.ask(&post).await;
        let found = if status == 202 { None } else { reply.code() };
        assert_eq!((reply.status, found), (status, code), "{post:?}");
    }
}

/// Errors answer the request, with the author's code if an author may send it.
#[tokio::test]
async fn the_errors_of_a_method() {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    let fail = async |Args(Code { code }): Args<Code>| -> Result<(), ErrorObject> {
        Err(ErrorObject::new(ErrorCode(code), "no").with_data(&[code]))
    };
    let running = serve([
        Method::new("fail", fail),
        Method::new("add", add),
        Method::new("says", async || -> Result<(), HandlerError> {
            Err(HandlerError::new("in these words"))
        }),
        Method::new("hides", async || -> Result<Structured<Value>, std::io::Error> {
            Err(std::io::Error::other("the password is 1234"))
        }),
        Method::new("panics", async || -> () { panic!("boom") }),
        Method::new("list", async || Structured([1])),
        Method::new("keys", async || Structured(HashMap::from([([1], 2)]))),
        Method::new("task", async || Structured(json!({ "resultType": "task" }))),
    ])
    .await;
    for (code, sent) in [(1001, 1001), (-31999, -31999), (0, 0), (-32602, -32602), (-32021, -32021)]
        .into_iter()
        .chain([-32000, -32019, -32020, -32022, -32099, -32700 - 1].map(|code| (code, -32603)))
    {
        let reply = running.ask(&Post::rpc("fail", json!({ "code": code }))).await;
        let status = if sent == -32021 { 400 } else { 200 };
        assert_eq!((reply.status, reply.code()), (status, Some(sent)));
        assert_eq!(reply.message()["error"]["data"], json!([code]));
    }
    for (method, params, code, says) in [
        ("add", json!({ "a": 1 }), -32602, "Invalid params: missing field `b`"),
        ("add", json!({ "a": 1, "b": "x" }), -32602, "Invalid params: invalid type"),
        ("add", json!({ "a": 1, "b": 2, "c": 3 }), -32602, "unknown field `c`"),
        ("says", json!({}), -32603, "in these words"),
        ("hides", json!({}), -32603, "The request failed"),
        ("panics", json!({}), -32603, "Internal error"),
        ("list", json!({}), -32603, "could not be encoded"),
        ("keys", json!({}), -32603, "The request failed"),
        ("task", json!({}), -32603, "could not be encoded"),
    ] {
        let reply = running.ask(&Post::rpc(method, params)).await;
        let text = reply.message()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!((reply.status, reply.code()), (200, Some(code)), "{method}");
        assert!(text.contains(says), "{method}: {text}");
    }
}

/// What handlers say before their result, as tools do; whoever logs declares it.
#[tokio::test]
async fn a_method_may_stream() {
    let running = serve([Method::new("long", async |progress: Progress, log: Log| {
        progress.report_of(1, 2);
        log.send(LoggingLevel::Info, "half");
    })])
    .await;
    let mut meta = meta();
    meta["progressToken"] = json!("t");
    meta["io.modelcontextprotocol/logLevel"] = json!("info");
    let reply = running.ask(&Post::rpc("long", json!({ "_meta": meta }))).await;
    let events = reply.events();
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/progress"), Some("notifications/message"), None]);
    assert_eq!(events[2]["result"]["resultType"], "complete");
    let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
    assert_eq!(discovered["capabilities"], json!({ "logging": {} }));
}

/// A client that leaves, and time that is up.
#[tokio::test]
async fn a_method_ends_early() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    let hangs = {
        let begun = begun.clone();
        move || {
            let (begun, flag) = (begun.clone(), flag());
            async move {
                let _flag = flag;
                begun.ring();
                std::future::pending::<()>().await;
            }
        }
    };
    let running = serve([Method::new("hangs", hangs.clone())]).await;
    let mut conn = running.connect().await;
    conn.send(&Post::rpc("hangs", json!({})).bytes()).await;
    begun.rung().await;
    assert!(dropped.none_dropped());
    drop(conn);
    dropped.dropped().await;
    let short = limits(|limits| limits.call_time = Duration::from_millis(50));
    let running = builder().method(Method::new("hangs", hangs)).limits(short);
    let reply = Running::build(running).await.ask(&Post::rpc("hangs", json!({}))).await;
    assert_eq!(reply.code(), Some(-32603));
    dropped.dropped().await;
}

/// What cannot be served is told when the server is built.
#[test]
fn a_method_that_cannot_be_served_is_not_built() {
    let method = |name: &'static str| Method::new(name, async || ());
    let table = [
        ("tools/call", "specification"),
        ("server/discover", "specification"),
        ("subscriptions/listen", "specification"),
        ("initialize", "specification"),
        ("ping", "specification"),
        ("sampling/createMessage", "specification"),
        ("notifications/x", "notification"),
        ("rpc.discover", "JSON-RPC"),
        ("", "header"),
        ("größe", "header"),
        ("a\nb", "header"),
        (" a", "header"),
    ];
    for (name, says) in table {
        let error = builder().method(method(name)).build().unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, BuildError::Method { .. }) && text.contains(says), "{text}");
    }
    for name in ["tools/Call", "tasks/get", "com.example/a b", "x", "notificationsx", "rpc/x"] {
        assert!(builder().method(method(name)).build().is_ok(), "{name}");
    }
    let twice = builder().method(method("a")).methods([method("b"), method("a")]).build();
    assert!(matches!(twice, Err(BuildError::DuplicateName(name)) if name == "a"));
    let wants = Method::new("a", async |_: Arc<u128>| ());
    assert!(matches!(
        builder().method(wants).build(),
        Err(BuildError::MissingState { handler, .. }) if handler == "a"
    ));
    for id in ["", "noprefix", "a b/c"] {
        let built = builder().method(method("a").extension(id)).build();
        assert!(matches!(built, Err(BuildError::Extension(_))), "{id}");
    }
    // Multi Round-Trip Requests, Supported Requests: only three methods may ask.
    let asks = Method::new("a", async |_: Answers| ());
    assert!(matches!(builder().method(asks).build(), Err(BuildError::Method { .. })));
    #[cfg(feature = "asking")]
    {
        let asks = Method::new("a", async |_: mcp_server::Ask| ());
        assert!(matches!(builder().method(asks).build(), Err(BuildError::Method { .. })));
    }
}

/// The method of an extension: declared by itself, and refused to a client without, before anything of it is
/// looked at (Overview, Per-request protocol fields).
#[tokio::test]
async fn a_method_of_an_extension() {
    let method = || Method::new("add", add).extension(EXTENSION);
    let running = serve([method()]).await;
    let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
    assert_eq!(discovered["capabilities"], json!({ "extensions": { EXTENSION: {} } }));
    for params in [json!({ "a": 1, "b": 2 }), json!({ "a": "no number" })] {
        let reply = running.ask(&Post::with_id("\"x\"", "add", params)).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32021)));
        let message = reply.message();
        assert_eq!(message["id"], "x");
        assert_eq!(
            message["error"]["data"],
            json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } })
        );
    }
    for settings in [json!({}), json!({ "any": 1 })] {
        let params = extended(json!({ "a": 1, "b": 2 }), settings);
        assert_eq!(running.ask(&Post::rpc("add", params)).await.result()["sum"], 3);
    }
    // Settings that were given stay, whichever came first.
    for builder in [
        builder().extension(EXTENSION, &json!({ "s": 1 })).method(method()),
        builder().method(method()).extension(EXTENSION, &json!({ "s": 1 })),
    ] {
        let running = Running::build(builder).await;
        let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
        assert_eq!(discovered["capabilities"]["extensions"], json!({ EXTENSION: { "s": 1 } }));
    }
}

/// SEP-2133, official suite D.3: an extension is active when both sides declare it, request by request.
#[tokio::test]
async fn extensions_are_negotiated_with_each_request() {
    #[derive(Deserialize)]
    struct Settings {
        limit: Option<u32>,
    }
    let tool = || {
        Tool::new("asks", async |context: Context| -> Result<String, HandlerError> {
            let settings = context.extension::<Settings>(EXTENSION)?;
            let settings = settings.map(|settings| settings.limit);
            Ok(format!("{} {settings:?}", context.has_extension(EXTENSION)))
        })
    };
    let declares = builder().extension(EXTENSION, &json!({})).tool(tool());
    let declares = Running::build(declares).await;
    let silent = Running::build(builder().tool(tool())).await;
    let with = |settings| Post::rpc("tools/call", extended(json!({ "name": "asks" }), settings));
    let without = Post::call("asks", json!({}));
    for (running, post, says) in [
        (&declares, &with(json!({ "limit": 7 })), "true Some(Some(7))"),
        (&declares, &without, "false None"),
        (&declares, &with(json!({})), "true Some(None)"),
        (&silent, &with(json!({ "limit": 7 })), "false None"),
        (&silent, &without, "false None"),
    ] {
        assert_eq!(running.ask(post).await.tool_text(), says);
    }
    let reply = declares.ask(&with(json!({ "limit": "x" }))).await;
    assert_eq!(reply.code(), Some(-32602));
    assert!(reply.text().contains(EXTENSION), "{}", reply.text());
}

/// Official suite A.9: without the extension every method of tasks is -32021 whatever it is about, the methods it
/// does not have are unknown, and `Mcp-Name` repeats the task (SEP-2663, Streamable HTTP: Routing Headers).
#[tokio::test]
async fn the_methods_of_tasks() {
    const TASKS: &str = "io.modelcontextprotocol/tasks";
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Task {
        task_id: String,
        input_responses: Option<JsonMap>,
    }
    let method = |name: &'static str| {
        let handler = async |Args(task): Args<Task>| -> Result<(), ErrorObject> {
            assert!(task.input_responses.is_none_or(|responses| responses.len() == 1));
            if task.task_id == "☃" {
                Ok(())
            } else {
                Err(ErrorObject::invalid_params("Unknown task"))
            }
        };
        Method::new(name, handler).extension(TASKS).name_member("taskId")
    };
    let running = serve(["tasks/get", "tasks/update", "tasks/cancel"].map(method)).await;
    let able = || capable(json!({ "extensions": { TASKS: {} } }));
    let update = json!({ "taskId": "☃", "inputResponses": { "k": {} }, "_meta": able() });
    let snowman = "=?base64?4piD?=";
    for (post, status, code) in [
        (Post::rpc("tasks/get", json!({ "taskId": "x" })).set("Mcp-Name", "x"), 400, -32021),
        (Post::rpc("tasks/cancel", json!({})), 400, -32021),
        (Post::rpc("tasks/result", json!({ "taskId": "x", "_meta": able() })), 404, -32601),
        (Post::rpc("tasks/list", json!({ "_meta": able() })), 404, -32601),
        (Post::rpc("tasks/update", update.clone()).set("Mcp-Name", snowman), 200, 0),
        (Post::rpc("tasks/update", update.clone()).set("Mcp-Name", "x"), 400, -32020),
        (Post::rpc("tasks/update", update), 400, -32020),
        (
            Post::rpc("tasks/get", json!({ "taskId": "x", "_meta": able() })).set("Mcp-Name", "x"),
            200,
            -32602,
        ),
        (Post::rpc("tasks/get", json!({ "_meta": able() })), 200, -32602),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code().unwrap_or(0)), (status, code), "{post:?}");
    }
}

/// A header that names something is refused with a body that does not, even where the handler would do without.
#[tokio::test]
async fn a_name_that_the_body_does_not_have() {
    let any = async |Args(given): Args<Value>| Structured(json!({ "given": given }));
    let running = serve([Method::new("any", any).name_member("taskId")]).await;
    for (params, name, status) in [
        (json!({}), None, 200),
        (json!({ "taskId": 7 }), None, 200),
        (json!({ "taskId": null }), None, 200),
        (json!({ "taskId": "" }), Some(""), 200),
        (json!({}), Some("x"), 400),
        (json!({}), Some(""), 400),
        (json!({ "taskId": 7 }), Some("7"), 400),
        (json!({ "taskId": null }), Some("null"), 400),
        (json!({ "taskId": ["x"] }), Some("x"), 400),
        (json!({ "TaskId": "x" }), Some("x"), 400),
        (json!({ "taskId": "" }), None, 400),
    ] {
        let post = Post::rpc("any", params);
        let post = name.iter().fold(post, |post, name| post.set("Mcp-Name", name));
        let reply = running.ask(&post).await;
        assert_eq!(reply.status, status, "{post:?}");
        assert_eq!(reply.code(), (status == 400).then_some(-32020), "{post:?}");
    }
}

/// A declaration is an object, of settings or of none (schema, `ClientCapabilities`).
#[tokio::test]
async fn declarations_that_are_none() {
    let running = serve([Method::new("any", async || ()).extension(EXTENSION)]).await;
    let declaring = async |capabilities: Value| {
        let reply = running.ask(&Post::rpc("any", json!({ "_meta": capable(capabilities) }))).await;
        (reply.status, reply.code())
    };
    for odd in [json!(null), json!(true), json!(7), json!("x"), json!([]), json!([{}])] {
        for capabilities in [
            json!({ "extensions": { EXTENSION: odd } }),
            json!({ "extensions": { EXTENSION: {}, "com.example/other": odd } }),
            json!({ "extensions": { EXTENSION: {} }, "experimental": { "x": odd } }),
            json!({ "extensions": odd }),
        ] {
            let shown = capabilities.to_string();
            assert_eq!(declaring(capabilities).await, (400, Some(-32602)), "{shown}");
        }
    }
    for without in [
        json!({}),
        json!({ "extensions": {} }),
        json!({ "extensions": { "com.example/Catalogue": {} } }),
        json!({ "extensions": { "com.example": {} } }),
        json!({ "experimental": { EXTENSION: {} } }),
        json!({ EXTENSION: {} }),
    ] {
        let shown = without.to_string();
        assert_eq!(declaring(without).await, (400, Some(-32021)), "{shown}");
    }
    let settings = json!({ EXTENSION: { "deep": [{ "null": null }] }, "nonsense": {} });
    assert_eq!(declaring(json!({ "extensions": settings })).await, (200, None));
}

/// One type ties name, parameters and result together, for servers and clients alike.
#[tokio::test]
async fn the_method_of_a_request_type() {
    enum Search {}

    impl Request for Search {
        const METHOD: &'static str = "com.example/search";
        const NAME_MEMBER: Option<&'static str> = Some("shelf");
        type Params = Query;
        type Result = Found;

        fn mcp_name(params: &Query) -> Option<&str> {
            Some(&params.shelf)
        }
    }

    #[derive(Serialize, Deserialize)]
    struct Query {
        shelf: String,
        #[serde(rename = "_meta", default)]
        meta: RequestMeta,
    }

    #[derive(Serialize, Deserialize)]
    struct Found {
        hits: Vec<String>,
        #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
        meta: ResultMeta,
    }

    has_meta!(RequestMeta: Query);
    has_meta!(ResultMeta: Found);

    async fn search(
        _: Progress,
        Args(query): Args<Query>,
    ) -> Result<Structured<Found>, HandlerError> {
        let version = query.meta.protocol_version.ok_or_else(|| HandlerError::new("no _meta"))?;
        let hits = vec![query.shelf, version.as_str().to_owned()];
        Ok(Structured(Found { hits, meta: ResultMeta::default() }))
    }

    let method = Method::of::<Search, _>(search);
    assert_eq!(method.name(), "com.example/search");
    let running = serve([method]).await;
    let post = Post::rpc(Search::METHOD, json!({ "shelf": "a" }));
    let reply = running.ask(&post.clone().set("Mcp-Name", "a")).await;
    assert_eq!(reply.result()["hits"], json!(["a", VERSION]));
    assert_eq!(running.ask(&post).await.code(), Some(-32020));
    // Params that do not matter need not be taken.
    let none = async || Structured(Found { hits: Vec::new(), meta: ResultMeta::default() });
    let running = serve([Method::of::<Search, _>(none)]).await;
    assert_eq!(running.ask(&post.set("Mcp-Name", "a")).await.result()["hits"], json!([]));
}
