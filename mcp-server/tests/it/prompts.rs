//! Prompts: what is listed of them, what their handlers take and return, and what is refused.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use mcp_server::types::{
    ContentBlock, ErrorObject, GetPromptResult, Icon, InputRequired, LoggingLevel, Outcome,
    PromptArgument, PromptMessage, RequestState,
};
use mcp_server::{
    Args, BuildError, Completing, Context, Extension, HandlerError, Log, Progress, Prompt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Post, Reply, Running, builder, meta, ok};

fn get(prompt: &str, arguments: Value) -> Post {
    Post::rpc("prompts/get", json!({ "name": prompt, "arguments": arguments }))
}

async fn start(prompts: impl IntoIterator<Item = Prompt>) -> Running {
    Running::build(prompts.into_iter().fold(builder(), mcp_server::ServerBuilder::prompt)).await
}

fn hi() -> Prompt {
    Prompt::new("hi", async || "Hi!")
}

/// The text of the only message.
fn text(reply: &Reply) -> String {
    let messages = reply.result()["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(1), "{messages}");
    messages[0]["content"]["text"].as_str().unwrap().to_owned()
}

/// Status, code and message of an error.
fn error(reply: &Reply) -> (u16, Option<i64>, String) {
    let message = reply.message();
    assert_eq!(message["id"], 1);
    (reply.status, reply.code(), message["error"]["message"].as_str().unwrap().to_owned())
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Low,
    High,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Typed {
    /// Some text.
    text: String,
    count: u8,
    ratio: f64,
    #[serde(rename = "isUrgent")]
    urgent: bool,
    /// How loud.
    level: Level,
    letter: Option<char>,
    #[serde(default)]
    retries: i32,
}

fn typed() -> Prompt {
    Prompt::new("typed", async |Args(typed): Args<Typed>| format!("{typed:?}"))
}

/// Everything said of a prompt reaches the list, nothing else does, and its type gives its arguments.
#[tokio::test]
async fn prompts_are_listed_as_they_were_described() {
    let described = hi()
        .title("Title")
        .description("What it gives")
        .icon(Icon::new("https://a.example/i.png"))
        .meta("com.example/a", &json!({ "b": 1 }))
        .meta("not a key", &1)
        .arguments([PromptArgument::new("a").title("A").description("An a").required(false)]);
    let untyped = Prompt::new("any", async |_: Args<HashMap<String, String>>| "ok");
    let running = start([described, typed(), untyped]).await;
    let result = running.ask(&Post::rpc("prompts/list", json!({}))).await.result();
    assert_eq!(
        result["prompts"][0],
        json!({
            "name": "hi",
            "title": "Title",
            "description": "What it gives",
            "icons": [{ "src": "https://a.example/i.png" }],
            "arguments": [{ "name": "a", "title": "A", "description": "An a", "required": false }],
            "_meta": { "com.example/a": { "b": 1 } },
        })
    );
    let mut arguments = result["prompts"][1]["arguments"].as_array().unwrap().clone();
    arguments.sort_by_key(|argument| argument["name"].to_string());
    let plain = |name: &str, required: bool| json!({ "name": name, "required": required });
    assert_eq!(
        arguments,
        [
            plain("count", true),
            plain("isUrgent", true),
            plain("letter", false),
            json!({ "name": "level", "description": "How loud.", "required": true }),
            plain("ratio", true),
            plain("retries", false),
            json!({ "name": "text", "description": "Some text.", "required": true }),
        ]
    );
    assert_eq!(result["prompts"][2], json!({ "name": "any" }));
    assert_eq!(result["prompts"].as_array().map(Vec::len), Some(3));
}

/// Prompts, Capabilities: declared if there are any; nothing answers for what is not declared.
#[tokio::test]
async fn prompts_are_declared_where_there_are_any() {
    for (running, declared) in
        [(Running::build(builder().tool(ok())).await, false), (start([hi()]).await, true)]
    {
        let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
        assert_eq!(discovered["capabilities"]["prompts"].is_object(), declared);
        assert_eq!(discovered["capabilities"]["tools"].is_object(), !declared);
        for method in ["prompts/list", "prompts/get"] {
            let reply = running.ask(&Post::rpc(method, json!({ "name": "hi" }))).await;
            let refused = (reply.status, reply.code()) == (404, Some(-32601));
            assert_eq!(refused, !declared, "{method}: {}", reply.text());
        }
    }
}

/// What a result is for each type that a handler may return.
#[tokio::test]
async fn every_return_type() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
    let complete = |messages: Value| json!({ "resultType": "complete", "messages": messages });
    let a = || complete(json!([said("user", "a")]));
    let retry = || InputRequired::retry(RequestState::from("s"));
    let suspended = || json!({ "resultType": "input_required", "requestState": "s" });
    let image = || ContentBlock::image(vec![0, 1], "image/png");
    let table = [
        (Prompt::new("p", async || "a"), a()),
        (Prompt::new("p", async || "a".to_owned()), a()),
        (Prompt::new("p", async || Cow::Borrowed("a")), a()),
        (Prompt::new("p", async || PromptMessage::user("a")), a()),
        (
            Prompt::new("p", async || PromptMessage::assistant("a")),
            complete(json!([said("assistant", "a")])),
        ),
        (Prompt::new("p", async || Vec::<PromptMessage>::new()), complete(json!([]))),
        (
            Prompt::new("p", move || async move {
                vec![PromptMessage::user("a"), PromptMessage::assistant(image())]
            }),
            complete(json!([
                said("user", "a"),
                { "role": "assistant", "content": { "type": "image", "data": "AAE=", "mimeType": "image/png" } },
            ])),
        ),
        (
            Prompt::new("p", async || GetPromptResult {
                description: Some("d".to_owned()),
                ..Default::default()
            }),
            json!({ "resultType": "complete", "description": "d", "messages": [] }),
        ),
        (
            Prompt::new("p", async || Outcome::Complete(GetPromptResult::default())),
            complete(json!([])),
        ),
        (Prompt::new("p", async || Ok::<_, io::Error>("a")), a()),
        (Prompt::new("p", move || async move { retry() }), suspended()),
        (
            Prompt::new("p", move || async move {
                Ok::<_, HandlerError>(Outcome::<GetPromptResult>::InputRequired(retry()))
            }),
            suspended(),
        ),
    ];
    for (row, (prompt, expected)) in table.into_iter().enumerate() {
        let reply =
            start([prompt]).await.ask(&Post::rpc("prompts/get", json!({ "name": "p" }))).await;
        assert!(reply.status == 200 && reply.is_json(), "row {row}");
        let mut result = reply.result();
        let meta = result.as_object_mut().unwrap().remove("_meta");
        assert_eq!(result, expected, "row {row}");
        assert_eq!(meta.unwrap()["io.modelcontextprotocol/serverInfo"]["name"], "test");
    }
}

/// The strings of the wire become what the handler asks for.
#[tokio::test]
async fn arguments_are_typed() {
    let running = start([typed()]).await;
    let complete = || {
        json!({
            "text": "7", "count": "255", "ratio": "-2.5e1", "isUrgent": "true", "level": "high",
        })
    };
    let seen = text(&running.ask(&get("typed", complete())).await);
    assert_eq!(
        seen,
        "Typed { text: \"7\", count: 255, ratio: -25.0, urgent: true, level: High, letter: None, retries: 0 }"
    );
    let with = |name: &str, value: &str| {
        let mut arguments = complete();
        arguments[name] = json!(value);
        get("typed", arguments)
    };
    for (name, value, shown) in [
        ("text", "", "text: \"\""),
        ("text", "null", "text: \"null\""),
        ("text", "a\u{0}\n\"☃", "text: \"a\\0\\n\\\"☃\""),
        ("count", "0", "count: 0"),
        ("count", "007", "count: 7"),
        ("isUrgent", "false", "urgent: false"),
        ("level", "low", "level: Low"),
        ("letter", "☃", "letter: Some('☃')"),
        ("retries", "-2147483648", "retries: -2147483648"),
        ("undeclared", "x", "retries: 0"),
    ] {
        let seen = text(&running.ask(&with(name, value)).await);
        assert!(seen.contains(shown), "{name}={value:?}: {seen}");
    }
    for (name, value) in [
        ("count", "256"),
        ("count", "-1"),
        ("count", "+1"),
        ("count", "1.0"),
        ("count", ""),
        ("count", " 1"),
        ("count", "0x1"),
        ("ratio", "NaN"),
        ("ratio", "inf"),
        ("ratio", "1e999"),
        ("isUrgent", "yes"),
        ("isUrgent", "True"),
        ("isUrgent", "1"),
        ("level", "High"),
        ("level", "medium"),
        ("letter", "ab"),
        ("letter", ""),
        ("retries", "x"),
    ] {
        let (_, code, says) = error(&running.ask(&with(name, value)).await);
        assert_eq!(code, Some(-32602), "{name}={value:?}");
        assert!(says.contains(name), "{name}={value:?}: {says}");
    }
}

/// Prompts, Error Handling: what is required is named when it is missing, and no handler is called.
#[tokio::test]
async fn missing_arguments_are_named() {
    let by_hand = Prompt::new("by hand", async || panic!("called") as &str)
        .arguments([PromptArgument::new("needed").required(true), PromptArgument::new("other")]);
    let running = start([typed(), by_hand]).await;
    let most = json!({ "text": "", "count": "1", "ratio": "1", "isUrgent": "true" });
    for (post, name) in [
        (get("typed", most), "level"),
        (get("by hand", json!({})), "needed"),
        (get("by hand", json!({ "other": "needed", "Needed": "" })), "needed"),
        (Post::rpc("prompts/get", json!({ "name": "by hand" })), "needed"),
    ] {
        let (status, code, says) = error(&running.ask(&post).await);
        assert_eq!((status, code), (400, Some(-32602)), "{name}");
        assert!(says.contains(name), "{says}");
    }
    let reply = running.ask(&Post::rpc("prompts/get", json!({ "name": "typed" }))).await;
    assert_eq!(reply.code(), Some(-32602), "arguments that are absent are none");
    // One that is there is all that is asked of an argument by hand.
    let given = running.ask(&get("by hand", json!({ "needed": "" }))).await;
    assert_eq!(given.code(), Some(-32603), "the handler was called, and panicked");
}

/// The schema knows strings only, and names tell case.
#[tokio::test]
async fn malformed_requests_are_refused() {
    let running = start([hi(), typed()]).await;
    let named = |arguments: Value| json!({ "name": "hi", "arguments": arguments });
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": null }),
        json!({ "name": ["hi"] }),
        named(json!(null)),
        named(json!([])),
        named(json!("a")),
        named(json!({ "a": 1 })),
        named(json!({ "a": null })),
        named(json!({ "a": true })),
        named(json!({ "a": ["b"] })),
        named(json!({ "a": "b", "c": { "d": "e" } })),
    ] {
        let (status, code, _) =
            error(&running.ask(&Post::rpc("prompts/get", params.clone())).await);
        assert_eq!((status, code), (400, Some(-32602)), "{params}");
    }
    let twice = String::from_utf8(get("hi", json!({ "a": "b" })).content().to_vec()).unwrap();
    let twice = get("hi", json!({})).body(twice.replace(r#""a":"b""#, r#""a":"b","a":"c""#));
    assert_eq!(error(&running.ask(&twice).await).1, Some(-32602), "which one is meant?");
    for unknown in ["ho", "HI", "hi/", "h"] {
        let (status, code, says) = error(&running.ask(&get(unknown, json!({}))).await);
        assert_eq!((status, code), (400, Some(-32602)), "{unknown}");
        assert!(says.contains(unknown), "{says}");
    }
    let long = "x".repeat(5000);
    let (_, code, says) = error(&running.ask(&get(&long, json!({}))).await);
    assert_eq!(code, Some(-32602));
    assert!(says.len() < 200, "a name is not repeated at any length: {}", says.len());
}

/// Streamable HTTP, Standard MCP Request Headers: the header says which prompt, plain or encoded.
#[tokio::test]
async fn the_header_names_the_prompt() {
    let odd = Prompt::new("größe", async || "g");
    let looks_encoded = Prompt::new("=?base64?aGk=?=", async || "e");
    let running = start([hi(), odd, looks_encoded]).await;
    let post = |name: &str, header: &str| get(name, json!({})).set("Mcp-Name", header);
    for (name, header, says) in [
        ("hi", "hi", "Hi!"),
        ("hi", "  hi\t", "Hi!"),
        ("hi", "=?base64?aGk=?=", "Hi!"),
        ("größe", "=?base64?Z3LDtsOfZQ==?=", "g"),
        ("=?base64?aGk=?=", "=?base64?PT9iYXNlNjQ/YUdrPT89?=", "e"),
    ] {
        assert_eq!(text(&running.ask(&post(name, header)).await), says, "{name} as {header:?}");
    }
    for post in [
        get("hi", json!({})).remove("Mcp-Name"),
        post("hi", "ho"),
        post("hi", "HI"),
        post("hi", ""),
        post("hi", "=?base64?aG8=?="),
        post("hi", "=?base64?aGk?="),
        post("=?base64?aGk=?=", "=?base64?aGk=?="),
        get("hi", json!({})).add("Mcp-Name", "hi"),
        // Names what is not there, but first of all something else than the body.
        post("unknown", "hi"),
    ] {
        let (status, code, _) = error(&running.ask(&post).await);
        assert_eq!((status, code), (400, Some(-32020)), "{post:?}");
    }
}

/// A prompt has no result that says that it failed: every failure is an error, generic unless its author chose the
/// words, and in band.
#[tokio::test]
async fn a_prompt_fails_with_an_error() {
    fn failing<E: Into<HandlerError> + Send + 'static>(
        error: impl Fn() -> E + Send + Sync + 'static,
    ) -> Prompt {
        Prompt::new("p", move || std::future::ready(Err::<String, E>(error())))
    }
    let data = || ErrorObject::invalid_params("bad").with_data(&json!({ "x": 1 }));
    let table = [
        (failing(|| io::Error::other("hunter2")), -32603, "The request failed"),
        (failing(|| HandlerError::new("try b")), -32603, "try b"),
        (failing(|| HandlerError::visible("why")), -32603, "why"),
        (failing(data), -32602, "bad"),
        (failing(move || HandlerError::protocol(data())), -32602, "bad"),
        (Prompt::new("p", async |_: Extension<u8>| "never"), -32603, "The request failed"),
        (Prompt::new("p", async || panic!("hunter2") as &str), -32603, "Internal error"),
        (
            Prompt::new("p", || {
                assert!(std::hint::black_box(false), "hunter2");
                std::future::ready("never")
            }),
            -32603,
            "Internal error",
        ),
    ];
    for (row, (prompt, code, says)) in table.into_iter().enumerate() {
        let running = start([prompt, hi()]).await;
        let reply = running.ask(&get("p", json!({}))).await;
        assert_eq!(error(&reply), (200, Some(code), says.to_owned()), "row {row}");
        assert!(!reply.text().contains("hunter2"), "row {row}");
        let data = reply.message()["error"].get("data").cloned();
        assert_eq!(data, (says == "bad").then(|| json!({ "x": 1 })), "row {row}");
        assert_eq!(text(&running.ask(&get("hi", json!({}))).await), "Hi!");
    }
}

/// Context arguments come before the arguments, as they do for tools.
#[tokio::test]
async fn handlers_see_their_request() {
    #[derive(Deserialize, JsonSchema)]
    struct Name {
        name: String,
    }
    struct Greeter(&'static str);
    impl Greeter {
        async fn greet(
            self: Arc<Self>,
            context: Context,
            Args(Name { name }): Args<Name>,
        ) -> String {
            format!("{} {name} from {}", self.0, context.target())
        }
    }
    let server =
        builder().state(Arc::new(Greeter("Hi"))).prompt(Prompt::new("greet", Greeter::greet));
    let running = Running::build(server).await;
    assert_eq!(
        text(&running.ask(&get("greet", json!({ "name": "Ada" }))).await),
        "Hi Ada from greet"
    );
}

/// Progress and log messages come before the result, in a stream.
#[tokio::test]
async fn prompts_report_and_log() {
    let talks = Prompt::new("talks", async |progress: Progress, log: Log| {
        progress.report_of(1, 2);
        log.send(LoggingLevel::Info, "half");
        "done"
    });
    let running = start([talks]).await;
    let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
    assert!(discovered["capabilities"]["logging"].is_object());
    let mut asked = meta();
    asked["progressToken"] = json!("p");
    asked["io.modelcontextprotocol/logLevel"] = json!("info");
    let post = Post::rpc("prompts/get", json!({ "name": "talks", "_meta": asked }));
    let reply = running.ask(&post).await;
    assert!(reply.is_stream());
    let events = reply.events();
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/progress"), Some("notifications/message"), None]);
    assert_eq!(events[0]["params"], json!({ "progressToken": "p", "progress": 1, "total": 2 }));
    assert_eq!(events[1]["params"], json!({ "level": "info", "data": "half" }));
    assert_eq!(text(&reply), "done");
    // Who asks for neither gets one JSON body.
    let reply = running.ask(&Post::rpc("prompts/get", json!({ "name": "talks" }))).await;
    assert!(reply.is_json());
    assert_eq!(text(&reply), "done");
}

/// What cannot be served is told when the server is built.
#[test]
fn prompts_that_cannot_be_served_are_not_built() {
    let build = |prompt: Prompt| builder().prompt(prompt).build().unwrap_err();
    let none = async |_: Completing| Vec::<String>::new();
    assert!(matches!(build(Prompt::new("", async || "")), BuildError::NoName));
    assert!(matches!(
        builder().prompt(hi()).prompt(hi()).build(),
        Err(BuildError::DuplicateName(name)) if name == "hi"
    ));
    assert!(matches!(
        build(Prompt::new("p", async |_: Arc<u128>| "")),
        BuildError::MissingState { handler, state: "u128" } if handler == "p"
    ));
    assert!(matches!(
        build(hi().complete("nothing", none)),
        BuildError::Completer { handler, argument } if handler == "hi" && argument == "nothing"
    ));
    // A tool and a prompt may have one name: they are different things.
    assert!(builder().tool(ok()).prompt(Prompt::new("ok", async || "")).build().is_ok());
    assert_eq!(format!("{:?}", hi()), "Prompt { name: \"hi\", .. }");
}
