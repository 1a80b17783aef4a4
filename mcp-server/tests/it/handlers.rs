//! Handlers: what they take, what they return, and what is refused when a server is built.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use mcp_server::types::{
    CallToolResult, ContentBlock, ErrorCode, ErrorObject, InputRequired, Outcome, RequestId,
    RequestMeta, RequestState,
};
use mcp_server::{
    Args, Caller, Context, Extension, FromContext, HandlerError, IntoToolResult, Log, PeerAddr,
    Progress, Server, Structured, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Post, Reply, Running, builder, meta, server};

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Pair {
    a: i64,
    b: Option<String>,
}

async fn call(server: Server, tool: &str, arguments: Value) -> Reply {
    Running::start(server).await.ask(&Post::call(tool, arguments)).await
}

/// The result of the only tool, called without arguments.
async fn result_of(handler: Tool) -> Value {
    let name = handler.name().to_owned();
    let reply = call(server([handler]), &name, json!({})).await;
    assert_eq!(reply.status, 200);
    let mut result = reply.result();
    result.as_object_mut().unwrap().remove("_meta");
    result
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// What a result is for each type that a handler may return. J14: it always has its content, and a question none.
#[tokio::test]
async fn every_return_type() {
    let complete = |content: Value| json!({ "resultType": "complete", "content": content });
    let table = [
        (Tool::new("t", async || "a"), complete(text("a"))),
        (Tool::new("t", async || "a".to_owned()), complete(text("a"))),
        (Tool::new("t", async || Cow::Borrowed("a")), complete(text("a"))),
        (Tool::new("t", async || ()), complete(json!([]))),
        (Tool::new("t", async || ContentBlock::text("a")), complete(text("a"))),
        (Tool::new("t", async || Vec::<ContentBlock>::new()), complete(json!([]))),
        (
            Tool::new("t", async || {
                vec![ContentBlock::text("a"), ContentBlock::image(vec![0, 1], "image/png")]
            }),
            complete(
                json!([{ "type": "text", "text": "a" }, { "type": "image", "data": "AAE=", "mimeType": "image/png" }]),
            ),
        ),
        (Tool::new("t", async || CallToolResult::text("a")), complete(text("a"))),
        (
            Tool::new("t", async || Outcome::Complete(CallToolResult::text("a"))),
            complete(text("a")),
        ),
        (Tool::new("t", async || Ok::<_, io::Error>("a")), complete(text("a"))),
        (
            Tool::new("t", async || CallToolResult::error("a")),
            json!({ "resultType": "complete", "content": text("a"), "isError": true }),
        ),
        (
            Tool::new("t", async || InputRequired::retry(RequestState::from("s"))),
            json!({ "resultType": "input_required", "requestState": "s" }),
        ),
        (
            Tool::new("t", async || {
                Ok::<_, HandlerError>(Outcome::<CallToolResult>::InputRequired(
                    InputRequired::retry(RequestState::from("s")),
                ))
            }),
            json!({ "resultType": "input_required", "requestState": "s" }),
        ),
    ];
    for (row, (handler, expected)) in table.into_iter().enumerate() {
        assert_eq!(result_of(handler).await, expected, "row {row}");
    }
}

/// Structured values: any JSON, with the same as text beside it, and a schema of what is returned.
#[tokio::test]
async fn structured_results_come_with_their_schema() {
    let table = [
        (
            Tool::new("t", async || Structured(Pair { a: 1, b: None })),
            json!({ "a": 1, "b": null }),
            "object",
        ),
        (Tool::new("t", async || Structured(vec![1, 2])), json!([1, 2]), "array"),
        (Tool::new("t", async || Structured("a")), json!("a"), "string"),
        (Tool::new("t", async || Structured(true)), json!(true), "boolean"),
        (Tool::new("t", async || Ok::<_, HandlerError>(Structured(5))), json!(5), "integer"),
    ];
    for (handler, value, kind) in table {
        let schema = handler.definition().output_schema.clone().unwrap();
        let schema: Value = schema.decode().unwrap();
        assert_eq!(schema["type"], kind);
        assert_eq!((schema.get("$schema"), schema.get("title")), (None, None));
        let result = result_of(handler).await;
        assert_eq!(result["structuredContent"], value);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
    }
    assert_eq!(
        result_of(Tool::new("t", async || Structured(()))).await["structuredContent"],
        json!(null)
    );
    // A result that has no form in JSON fails its call alone.
    let odd = Tool::new("t", async || Structured(HashMap::from([(Odd, 1)])));
    assert_eq!(result_of(odd).await["isError"], true);
}

/// A key that no JSON object can have.
#[derive(PartialEq, Eq, Hash, JsonSchema)]
struct Odd;

impl Serialize for Odd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(b"odd")
    }
}

/// X1: an optional argument is one that may be missing, in terms of JSON Schema 2020-12.
#[tokio::test]
async fn input_schemas_come_from_the_arguments() {
    let tool = Tool::new("t", async |_: Args<Pair>| "ok");
    let schema: Value = tool.definition().input_schema.decode().unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["a"]));
    assert_eq!(schema["properties"]["a"]["type"], "integer");
    assert_eq!(schema["properties"]["b"].get("nullable"), None);
    assert_eq!(tool.definition().output_schema, None);
    let nothing: Value = Tool::new("t", async || "ok").definition().input_schema.decode().unwrap();
    assert_eq!(nothing, json!({ "type": "object", "additionalProperties": false }));
}

/// X2, X5: a member that may be anything has a schema that allows anything, and what has a name of its own is referred
/// to where it is defined, in the same schema.
#[tokio::test]
async fn schemas_of_anything_and_of_named_types() {
    #[derive(Deserialize, JsonSchema)]
    #[schemars(inline)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Inline {
        a: u8,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Outer {
        inline: Option<Inline>,
        any: Value,
        map: HashMap<String, Value>,
        one: Pair,
        many: Vec<Pair>,
        itself: Option<Box<Self>>,
    }
    let tool = Tool::new("t", async |_: Args<Outer>| Structured(json!({ "any": [1] })));
    let schema: Value = tool.definition().input_schema.decode().unwrap();
    let any = &schema["properties"]["any"];
    assert!(any == &json!(true) || any == &json!({}), "{any}");
    assert_eq!(schema["properties"]["map"]["additionalProperties"], true);
    assert_eq!(schema["properties"]["one"]["$ref"], "#/$defs/Pair");
    let text = schema.to_string();
    let refs = text.matches("\"$ref\":\"").count();
    assert_eq!((refs, text.matches("\"$ref\":\"#/$defs/").count()), (refs, refs));
    assert!(schema["properties"]["inline"].to_string().contains("\"a\""));
    let running = Running::start(server([tool])).await;
    let one = json!({ "a": 1 });
    // References to the whole hold for what is inside as well.
    let inner = json!({ "any": 1, "map": {}, "one": {}, "many": [] });
    let outer = json!({ "any": 1, "map": {}, "one": one, "many": [], "itself": inner });
    let reply = running.ask(&Post::call("t", outer)).await;
    assert_eq!(reply.result()["isError"], true);
    assert!(reply.tool_text().contains("one"), "{}", reply.tool_text());
    for any in [json!(null), json!(5), json!([{}]), json!({ "a": {} })] {
        let arguments = json!({ "any": any, "map": { "a": any }, "one": one, "many": [one] });
        let reply = running.ask(&Post::call("t", arguments)).await;
        assert_eq!(reply.result()["structuredContent"], json!({ "any": [1] }), "{any}");
    }
}

/// X6: the model reads what was wrong with its arguments; it is no protocol error.
#[tokio::test]
async fn argument_errors_are_for_the_model() {
    let tool = Tool::new("pair", async |Args(pair): Args<Pair>| format!("{pair:?}"));
    let running = Running::start(server([tool])).await;
    // Both say what was wrong: decoding, and the schema before it.
    for (arguments, decoded, judged) in [
        (json!({}), "missing field `a`", "required member \"a\""),
        (json!({ "a": "1" }), "expected i64", "/a: must be an integer"),
        (json!({ "a": 1.5 }), "expected i64", "/a: must be an integer"),
        (json!({ "a": null }), "expected i64", "/a: must be an integer"),
        (json!({ "a": 1, "b": 5 }), "expected a string", "/b: must be null or a string"),
    ] {
        let says = if cfg!(feature = "validation") { judged } else { decoded };
        let reply = running.ask(&Post::call("pair", arguments.clone())).await;
        assert_eq!((reply.status, reply.code()), (200, None), "{arguments}");
        assert_eq!(reply.result()["isError"], true, "{arguments}");
        assert!(reply.tool_text().contains(says), "{}", reply.tool_text());
    }
    for (arguments, shown) in [
        (json!({ "a": 1 }), "Pair { a: 1, b: None }"),
        (json!({ "a": -1, "b": null, "c": {} }), "Pair { a: -1, b: None }"),
        (json!({ "b": "ü\u{0}", "a": 0 }), "Pair { a: 0, b: Some(\"ü\\0\") }"),
    ] {
        let reply = running.ask(&Post::call("pair", arguments)).await;
        assert_eq!(reply.tool_text(), shown);
        assert_eq!(reply.result().get("isError"), None);
    }
    let reply = running.ask(&Post::call("pears", json!({}))).await;
    assert_eq!((reply.status, reply.code()), (400, Some(-32602)));
    assert!(reply.text().contains("pears"), "{}", reply.text());
}

#[derive(Debug)]
struct Secret;

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("password hunter2")
    }
}

impl std::error::Error for Secret {}

/// A tool that fails with an error of this code.
fn protocol(code: i64) -> Tool {
    Tool::new("t", move || async move {
        Err::<String, _>(ErrorObject::new(ErrorCode(code), "for the client").with_data(&5))
    })
}

/// An error is generic to the client unless its author chose the words; one that is for the client is passed on.
#[tokio::test]
async fn a_tool_fails_in_three_ways() {
    let says = |expected: &str| (200, None, expected.to_owned());
    let sent = |code| (200, Some(code), "for the client".to_owned());
    let table = [
        (Tool::new("t", async || Err::<String, _>(Secret)), says("The tool failed")),
        (
            Tool::new("t", async || {
                Err::<(), _>(Secret)?;
                Ok::<_, HandlerError>("a")
            }),
            says("The tool failed"),
        ),
        (
            Tool::new("t", async || -> Result<String, HandlerError> {
                let number: i32 = "x".parse()?;
                Ok(number.to_string())
            }),
            says("The tool failed"),
        ),
        (
            Tool::new("t", async || Err::<String, _>(io::Error::other(Secret))),
            says("The tool failed"),
        ),
        (Tool::new("t", async || Err::<String, _>(HandlerError::new("try b"))), says("try b")),
        (
            Tool::new("t", async || Err::<String, _>(HandlerError::visible(Secret))),
            says("password hunter2"),
        ),
        (
            Tool::new("t", async || Err::<Structured<i32>, _>(HandlerError::new("no number"))),
            says("no number"),
        ),
        (
            Tool::new("t", async || {
                Err::<String, _>(HandlerError::protocol(ErrorObject::invalid_params(
                    "for the client",
                )))
            }),
            sent(-32602),
        ),
        (protocol(1), sent(1)),
        (protocol(-32603), sent(-32603)),
        // Codes that this revision does not let anybody send (J16).
        (protocol(-32000), sent(-32603)),
        (protocol(-32002), sent(-32603)),
        (protocol(-32019), sent(-32603)),
        (protocol(-32042), sent(-32603)),
        (protocol(-32099), sent(-32603)),
    ];
    for (row, (tool, (status, code, says))) in table.into_iter().enumerate() {
        let reply = call(server([tool]), "t", json!({})).await;
        assert_eq!((reply.status, reply.code()), (status, code), "row {row}: {}", reply.text());
        assert_eq!(reply.message()["id"], 1);
        match code {
            None => {
                assert_eq!(reply.result()["isError"], true, "row {row}");
                assert_eq!(reply.tool_text(), says, "row {row}");
                assert_eq!(reply.result().get("structuredContent"), None);
            }
            Some(_) => assert_eq!(reply.message()["error"]["message"], says, "row {row}"),
        }
    }
}

/// Context arguments: everything about the request, in any order and number.
#[tokio::test]
async fn handlers_see_their_request() {
    type Everything = (Context, Option<PeerAddr>, RequestId, RequestMeta, Option<Caller>);
    async fn sees(
        context: Context,
        peer: Option<PeerAddr>,
        id: RequestId,
        meta: RequestMeta,
        caller: Option<Caller>,
        Args(arguments): Args<HashMap<String, Value>>,
    ) -> String {
        let seen: Everything = (context, peer, id, meta, caller);
        let (context, peer, id, meta, caller) = seen;
        assert_eq!(context.request_id(), &id);
        assert_eq!(context.meta(), &meta);
        assert_eq!(context.peer_addr(), peer.map(|PeerAddr(addr)| addr));
        assert!(peer.unwrap().0.ip().is_loopback());
        assert_eq!((context.caller(), &caller), (None, &None));
        assert!(!context.is_abandoned());
        assert!(context.client_capabilities().supports_form());
        assert_eq!(context.client_info().unwrap().name, "client");
        assert_eq!(meta.trace_context().traceparent.as_deref(), Some("00-1-2-01"));
        assert!(!format!("{context:?}").contains("Bearer"), "credentials are not shown");
        let headers = context.headers().get_all("x-test").iter();
        let headers: Vec<_> = headers.map(|value| value.to_str().unwrap()).collect();
        format!("{id} {headers:?} {arguments:?}")
    }
    let running = Running::start(server([Tool::new("sees", sees)])).await;
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "client", "version": "1" });
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    meta["traceparent"] = json!("00-1-2-01");
    let post = Post::with_id(
        "\"ü\"",
        "tools/call",
        json!({ "name": "sees", "arguments": { "a": 1 }, "_meta": meta }),
    )
    .add("X-Test", "1")
    .add("x-test", "2")
    .add("Authorization", "Bearer secret");
    let reply = running.ask(&post).await;
    assert_eq!(reply.tool_text(), r#""ü" ["1", "2"] {"a": Number(1)}"#);
}

/// Shared values: as `Arc<T>`, by their type, and as the `self` of methods.
#[tokio::test]
async fn handlers_share_values() {
    struct Greeter(String);
    impl Greeter {
        async fn greet(self: Arc<Self>, Args(pair): Args<Pair>) -> String {
            format!("{} {}", self.0, pair.a)
        }
    }
    let both =
        async |greeter: Arc<Greeter>, names: Arc<Vec<i32>>| format!("{} {names:?}", greeter.0);
    let shared = Arc::new(Greeter("hi".to_owned()));
    let server = builder()
        .state(Arc::new(Greeter("replaced".to_owned())))
        .state(Arc::clone(&shared))
        .state(Arc::new(vec![1, 2]))
        .tool(Tool::new("greet", Greeter::greet))
        .tool(Tool::new("both", both))
        .build()
        .unwrap();
    let running = Running::start(server).await;
    assert_eq!(running.ask(&Post::call("greet", json!({ "a": 1 }))).await.tool_text(), "hi 1");
    assert_eq!(running.ask(&Post::call("both", json!({}))).await.tool_text(), "hi [1, 2]");
}

/// A context argument of one's own may refuse; arguments come first, since the model can mend those.
#[tokio::test]
async fn context_arguments_of_ones_own() {
    struct Tenant(String);
    impl FromContext for Tenant {
        fn from_context(context: &Context) -> Result<Self, HandlerError> {
            let tenant = context.headers().get("x-tenant").and_then(|value| value.to_str().ok());
            tenant
                .map(|name| Self(name.to_owned()))
                .ok_or_else(|| HandlerError::new("Which tenant?"))
        }
    }
    let tool = Tool::new("t", async |Tenant(name): Tenant, Args(pair): Args<Pair>| {
        format!("{name} {}", pair.a)
    });
    let running = Running::start(server([tool])).await;
    let post = Post::call("t", json!({ "a": 1 }));
    assert_eq!(running.ask(&post.clone().add("X-Tenant", "acme")).await.tool_text(), "acme 1");
    let reply = running.ask(&post).await;
    assert_eq!(
        (reply.tool_text().as_str(), &reply.result()["isError"]),
        ("Which tenant?", &json!(true))
    );
    let reply = running.ask(&Post::call("t", json!({}))).await;
    assert!(reply.tool_text().contains("Invalid arguments"), "{}", reply.tool_text());
    // An extension that no layer put there is no fault of the model's.
    let tool = Tool::new("t", async |_: Extension<u8>| "never");
    let optional = Tool::new("o", async |found: Option<Extension<u8>>| format!("{found:?}"));
    let running = Running::start(server([tool, optional])).await;
    let reply = running.ask(&Post::call("t", json!({}))).await;
    assert_eq!(
        (reply.tool_text().as_str(), &reply.result()["isError"]),
        ("The tool failed", &json!(true))
    );
    assert_eq!(running.ask(&Post::call("o", json!({}))).await.tool_text(), "None");
}

/// Functions, closures and methods, with up to eight context arguments before the arguments.
#[tokio::test]
async fn handlers_are_functions_of_many_shapes() {
    fn plain(_: Context) -> impl Future<Output = &'static str> {
        std::future::ready("plain")
    }
    struct Text(i64);
    impl IntoToolResult for Text {
        fn into_tool_result(self) -> Result<Outcome<CallToolResult>, ErrorObject> {
            self.0.to_string().into_tool_result()
        }
    }
    let counter = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counts = move || {
        let n = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { n.to_string() }
    };
    let tools = [
        Tool::new(
            "eight",
            async |_: Context,
                   _: Progress,
                   _: Log,
                   _: RequestId,
                   _: RequestMeta,
                   _: Option<Caller>,
                   _: Option<PeerAddr>,
                   _: Option<Extension<u8>>,
                   Args(pair): Args<Pair>| Text(pair.a),
        ),
        Tool::new("plain", plain),
        Tool::new("counts", counts),
    ];
    let running = Running::start(server(tools)).await;
    assert_eq!(running.ask(&Post::call("eight", json!({ "a": 8 }))).await.tool_text(), "8");
    assert_eq!(running.ask(&Post::call("plain", json!({}))).await.tool_text(), "plain");
    for n in ["0", "1"] {
        assert_eq!(running.ask(&Post::call("counts", json!({}))).await.tool_text(), n);
    }
}

/// What the schema takes for an integer is one for the handler; a fraction is none, and strings stay what they are.
#[tokio::test]
async fn integers_may_be_written_as_fractions() {
    #[derive(Deserialize, JsonSchema)]
    struct Numbers {
        n: u8,
        all: Vec<i64>,
        text: String,
    }
    let tool = Tool::new("numbers", async |Args(Numbers { n, all, text }): Args<Numbers>| {
        format!("{n} {all:?} {text}")
    });
    let running = Running::build(builder().tool(tool)).await;
    let call = async |n: &str| {
        let arguments = format!(r#"{{"n":{n},"all":[-2e1,3],"text":"1.0"}}"#);
        let params = serde_json::value::RawValue::from_string(arguments).unwrap();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"numbers","arguments":{params},"_meta":{}}}}}"#,
            meta()
        );
        running.ask(&Post::call("numbers", json!({})).body(body)).await.result()
    };
    assert_eq!(call("2.0").await["content"][0]["text"], "2 [-20, 3] 1.0");
    for wrong in ["2.5", "256.0", "1e300"] {
        let result = call(wrong).await;
        assert_eq!(result["isError"], true, "{wrong}: {result}");
    }
}
