//! Arguments and results against the schemas of their tool. What is right comes from the specification: Tools,
//! and JSON Schema Usage.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_server::types::{CallToolResult, InputRequired, Outcome, RawJson, RequestState};
use mcp_server::{Args, BuildError, HandlerError, ResponseMode, Structured, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Post, Reply, Running, builder, server};

/// A tool with this input schema that counts its calls.
fn counted(schema: Value) -> (Tool, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let tool = Tool::new("t", move || {
        counter.fetch_add(1, Ordering::Relaxed);
        async { "called" }
    });
    (tool.input_schema(schema), calls)
}

/// What a tool with this input schema answers to `arguments`: `Ok` if it was called, else the faults.
async fn judged(schema: Value, arguments: Value) -> Result<(), String> {
    let (tool, calls) = counted(schema);
    let reply = Running::start(server([tool])).await.ask(&Post::call("t", arguments)).await;
    assert_eq!((reply.status, reply.code()), (200, None), "{reply:?}");
    if calls.load(Ordering::Relaxed) > 0 {
        assert_eq!(reply.result().get("isError"), None);
        return Ok(());
    }
    assert_eq!(reply.result()["isError"], true);
    let text = reply.tool_text();
    Err(text.strip_prefix("Invalid arguments:\n").unwrap_or_else(|| panic!("{text}")).to_owned())
}

fn fault(tool: Tool) -> String {
    let error = builder().tool(tool).build().unwrap_err();
    assert!(matches!(error, BuildError::Schema { .. }), "{error:?}");
    error.to_string()
}

/// An object with one property.
fn object(property: Value) -> Value {
    json!({ "type": "object", "properties": { "p": property }, "required": ["p"] })
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Booking {
    seats: Vec<Seat>,
    #[schemars(range(min = 1, max = 9))]
    people: u8,
    note: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Seat {
    row: u32,
    class: Class,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Class {
    Economy,
    Business,
}

/// X6: the model reads everything that was wrong, and where, before the handler is called.
#[tokio::test]
async fn every_fault_is_told_with_its_path() {
    let book = async |Args(booking): Args<Booking>| format!("{} people", booking.people);
    let running = Running::start(server([Tool::new("book", book)])).await;
    let seat = json!({ "row": 1, "class": "economy" });
    let wrong = json!({
        "seats": [seat, { "row": -1, "class": "first" }, { "row": "2" }],
        "people": 12,
        "note": 5,
        "extra": true,
    });
    let reply = running.ask(&Post::call("book", wrong)).await;
    assert_eq!((reply.status, reply.code()), (200, None));
    assert_eq!(reply.result()["isError"], true);
    let text = reply.tool_text();
    for (path, says) in [
        ("/seats/1/row: ", "at least 0"),
        ("/seats/1/class: ", "one of \"economy\", \"business\", is \"first\""),
        ("/seats/2/row: ", "must be an integer, is \"2\""),
        ("/seats/2: ", "lacks the required member \"class\""),
        ("/people: ", "must be at most 9, is 12"),
        ("/note: ", "must be null or a string, is 5"),
        ("(root): ", "must not have the members \"extra\""),
    ] {
        let line = text.lines().find(|line| line.starts_with(path) && line.contains(says));
        assert!(line.is_some(), "{path} {says} in {text}");
    }
    let right = json!({ "seats": [seat], "people": 2, "note": null });
    assert_eq!(running.ask(&Post::call("book", right)).await.tool_text(), "2 people");
    // To the schema 2.0 is an integer, so it is one to the handler.
    let reply = running.ask(&Post::call("book", json!({ "seats": [], "people": 2.0 }))).await;
    assert_eq!(reply.tool_text(), "2 people");
    // What only decoding finds is told as well.
    let lax =
        Tool::new("lax", book).input_schema(RawJson::from_text(r#"{"type":"object"}"#).unwrap());
    let running = Running::start(server([lax])).await;
    let reply = running.ask(&Post::call("lax", json!({ "seats": [], "people": "two" }))).await;
    assert_eq!(reply.result()["isError"], true);
    assert!(reply.tool_text().starts_with("Invalid arguments: "), "{}", reply.tool_text());
}

/// Raw schemas count as those from types do, and tools without arguments take none.
#[tokio::test]
async fn arguments_are_judged_by_the_schema_that_is_listed() {
    let p = |kind: &str| object(json!({ "type": kind }));
    for (schema, arguments, faults) in [
        (json!({ "type": "object" }), json!({ "any": [1] }), None),
        (p("string"), json!({ "p": "x", "q": 1 }), None),
        (p("string"), json!({ "p": 1 }), Some("/p: must be a string, is 1")),
        (p("string"), json!({}), Some("(root): lacks the required member \"p\"")),
        (p("null"), json!({ "p": null }), None),
        (p("integer"), json!({ "p": 1e3 }), None),
        (
            json!({ "type": "object", "additionalProperties": false }),
            json!({ "x": 1 }),
            Some("(root): must have no members"),
        ),
        (
            json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            json!({ "b": 1 }),
            None,
        ),
        (
            json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            json!({}),
            Some(
                "(root): fits none of the 2 forms allowed; for the nearest, it lacks the required member \"a\"",
            ),
        ),
    ] {
        let expected = faults.map_or(Ok(()), |faults| Err(faults.to_owned()));
        assert_eq!(judged(schema.clone(), arguments).await, expected, "{schema}");
    }
    let running = Running::start(server([Tool::new("t", async || "ok")])).await;
    assert_eq!(
        running.ask(&Post::call("t", json!({ "x": 1 }))).await.result()["isError"],
        json!(true)
    );
    assert_eq!(running.ask(&Post::call("t", json!({}))).await.tool_text(), "ok");
    assert_eq!(
        running.ask(&Post::rpc("tools/call", json!({ "name": "t" }))).await.tool_text(),
        "ok"
    );
}

/// Without `$schema` it is 2020-12; the older drafts are told by theirs, and anything else is an error.
#[tokio::test]
async fn dialects_are_told_by_the_schema() {
    let tuple = |dialect: Option<&str>, keyword: &str| {
        let mut schema = object(json!({ keyword: [{ "type": "null" }] }));
        if let Some(dialect) = dialect {
            schema["$schema"] = json!(dialect);
        }
        schema
    };
    let wrong = json!({ "p": [1] });
    for (schema, judges) in [
        (tuple(None, "prefixItems"), true),
        (tuple(Some("https://json-schema.org/draft/2020-12/schema"), "prefixItems"), true),
        (tuple(Some("https://json-schema.org/draft/2019-09/schema"), "items"), true),
        (tuple(Some("http://json-schema.org/draft-07/schema#"), "items"), true),
        (tuple(Some("http://json-schema.org/draft-07/schema#"), "prefixItems"), false),
        (tuple(Some("http://json-schema.org/draft-04/schema#"), "items"), true),
    ] {
        assert_eq!(judged(schema.clone(), wrong.clone()).await.is_err(), judges, "{schema}");
    }
    let unknown = tuple(Some("https://example.com/dialect"), "items");
    let (input, output) = (counted(unknown.clone()).0, counted(json!({ "type": "object" })).0);
    for (tool, which) in [(input, "input"), (output.output_schema(unknown), "output")] {
        let text = fault(tool);
        assert!(text.contains(which) && text.contains("\"t\""), "{text}");
        assert!(text.contains("https://example.com/dialect") && text.contains("2020-12"), "{text}");
    }
}

/// X4, X5, X14: references inside are followed; no other is, not when the server is built, and not later.
#[tokio::test]
async fn references_stay_inside_and_nothing_is_fetched() {
    let inside = json!({
        "type": "object",
        "$defs": { "a": { "$anchor": "named", "type": "integer" } },
        "properties": { "p": { "$ref": "#/$defs/a" }, "q": { "$ref": "#named" }, "r": { "$ref": "#" } },
    });
    assert_eq!(judged(inside.clone(), json!({ "p": 1, "q": 2, "r": { "p": 3 } })).await, Ok(()));
    let faults = judged(inside, json!({ "r": { "r": { "p": "x" } } })).await.unwrap_err();
    assert_eq!(faults, "/r/r/p: must be an integer, is \"x\"");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/schema.json", listener.local_addr().unwrap());
    for reference in [&url, "file:///etc/hostname", "other.json"] {
        let schema = object(json!({ "$ref": reference }));
        let text = fault(counted(schema.clone()).0);
        assert!(text.contains(reference) && text.contains("/properties/p/$ref"), "{text}");
        let output = counted(json!({ "type": "object" })).0.output_schema(schema);
        assert!(fault(output).contains("output"));
    }
    // Whoever passes it on unchecked does not fetch it either.
    let schema = RawJson::from(object(json!({ "$ref": url })));
    let (tool, _) = counted(json!({}));
    let tool = tool.input_schema(schema.clone()).danger_skip_validation();
    let running = Running::start(server([tool])).await;
    let list = running.ask(&Post::rpc("tools/list", json!({}))).await;
    assert!(list.text().contains(schema.get()), "{}", list.text());
    assert_eq!(running.ask(&Post::call("t", json!({ "q": 1 }))).await.tool_text(), "called");
    let fetched = listener.accept().map_err(|error| error.kind());
    assert!(matches!(fetched, Err(std::io::ErrorKind::WouldBlock)), "{fetched:?}");
}

/// What a schema may cost is bounded when the server is built.
#[test]
fn schemas_are_bounded() {
    let nested = (0..100).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
    for (property, says) in [
        (json!({ "enum": vec![0; 200_000] }), "larger than"),
        (nested, "deeper than"),
        (json!({ "anyOf": vec![json!({}); 5000] }), "subschemas"),
        (json!({ "allOf": [{ "$ref": "#/properties/p" }] }), "itself"),
        (json!({ "pattern": "(?=a)b" }), "pattern \"(?=a)b\""),
        (json!({ "pattern": r"(a)\1" }), "linear"),
        (json!({ "type": "objekt" }), "not valid at \"/properties/p/type\""),
    ] {
        let text = fault(counted(object(property)).0);
        assert!(text.contains(says) && text.len() < 1024, "{text}");
    }
}

/// What arguments may cost is bounded by what they are, not by the time they took.
#[tokio::test]
async fn arguments_are_bounded() {
    let pattern = object(json!({ "type": "string", "pattern": "^(a+)+$" }));
    let evil = json!({ "p": format!("{}b", "a".repeat(100_000)) });
    let faults = judged(pattern, evil).await.unwrap_err();
    assert!(faults.starts_with("/p: must match the pattern") && faults.len() < 1024, "{faults}");

    let list = object(json!({ "type": "array", "items": { "type": "integer" } }));
    assert_eq!(judged(list.clone(), json!({ "p": vec![1; 100_000] })).await, Ok(()));
    let faults = judged(list.clone(), json!({ "p": vec![1; 300_000] })).await.unwrap_err();
    assert!(faults.contains("at most 200000 values"), "{faults}");
    let faults = judged(list, json!({ "p": vec!["x"; 1000] })).await.unwrap_err();
    assert!(faults.ends_with("\nand more") && faults.lines().count() == 17, "{faults}");
    let text = object(json!({ "type": "string" }));
    assert_eq!(judged(text, json!({ "p": "x".repeat(3 << 20) })).await, Ok(()));

    let deep = json!({ "type": "object", "properties": { "a": { "$ref": "#" } } });
    let nest = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert_eq!(judged(deep.clone(), nest(100)).await, Ok(()));
    let wrong = (0..100).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert!(judged(deep, wrong).await.unwrap_err().contains("must be an object, is 1"));
    // Two alternatives at each of a hundred levels.
    let either = json!({ "required": ["a"], "properties": { "a": { "$ref": "#/$defs/x" } } });
    let alternatives = json!({
        "type": "object",
        "$defs": { "x": { "anyOf": [either, either, { "type": "null" }] } },
        "$ref": "#/$defs/x",
    });
    assert!(judged(alternatives, nest(100)).await.is_err());
}

/// The one tool `t`, called: the result's structured content, or the code of the error.
async fn outcome(tool: Tool) -> (Reply, Result<Value, i64>) {
    let reply = Running::start(server([tool])).await.ask(&Post::call("t", json!({}))).await;
    assert_eq!(reply.status, 200);
    let outcome = match reply.code() {
        Some(code) => Err(code),
        None => Ok(reply.result()["structuredContent"].clone()),
    };
    (reply, outcome)
}

/// A tool that returns `content` and promises what `schema` says.
fn promising(schema: Value, content: Option<Value>) -> Tool {
    let handler = move || {
        let structured_content = content.clone().map(RawJson::from);
        async { CallToolResult { structured_content, ..CallToolResult::text("secret") } }
    };
    Tool::new("t", handler).output_schema(schema)
}

/// Structured results of any kind are what the output schema says, or they never leave.
#[tokio::test]
async fn results_keep_what_their_schema_promises() {
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    for (schema, content, kept) in [
        (object(json!({ "type": "integer" })), Some(json!({ "p": 1 })), true),
        (object(json!({ "type": "integer" })), Some(json!({ "p": "secret" })), false),
        (object(json!({ "type": "integer" })), Some(json!({})), false),
        (object(json!({ "type": "integer" })), Some(json!(null)), false),
        (object(json!({ "type": "integer" })), None, false),
        (strings.clone(), Some(json!(["a", "b"])), true),
        (strings, Some(json!(["a", 5])), false),
        (json!({ "type": "string" }), Some(json!("a")), true),
        (json!({ "type": "string" }), Some(json!(1)), false),
        (json!({ "type": "number" }), Some(json!(0.5)), true),
        (json!({ "type": "boolean" }), Some(json!(false)), true),
        (json!({ "type": "null" }), Some(json!(null)), true),
        (json!({ "type": "null" }), None, false),
        // Even what says nothing promises that there is something.
        (json!({}), Some(json!([1])), true),
        (json!({}), None, false),
        (json!({ "type": "object" }), Some(json!({ "a": 1 })), true),
        (json!({ "type": "object" }), Some(json!([])), false),
    ] {
        let expected = if kept { Ok(content.clone().unwrap()) } else { Err(-32603) };
        let (reply, found) = outcome(promising(schema.clone(), content.clone())).await;
        assert_eq!(found, expected, "{schema} {content:?}");
        assert!(kept || !reply.text().contains("secret"), "{}", reply.text());
    }
    // A value whose own schema it breaks, as a wrong `Serialize` or attribute makes it.
    #[derive(Serialize, JsonSchema)]
    struct Wrong {
        #[schemars(range(max = 9))]
        digit: u8,
    }
    for (digit, expected) in [(9, Ok(json!({ "digit": 9 }))), (10, Err(-32603))] {
        let tool = Tool::new("t", move || async move { Structured(Wrong { digit }) });
        assert_eq!(outcome(tool).await.1, expected);
    }
    let skipped = promising(json!({ "type": "null" }), Some(json!(1))).danger_skip_validation();
    assert_eq!(outcome(skipped).await.1, Ok(json!(1)));
}

/// What says that the tool failed, or is no result yet, promises nothing.
#[tokio::test]
async fn errors_and_questions_are_exempt() {
    let schema = || object(json!({ "type": "integer" }));
    let with = |content: Value| CallToolResult {
        structured_content: Some(content.into()),
        ..CallToolResult::error("no")
    };
    for tool in [
        Tool::new("t", async || CallToolResult::error("no")),
        Tool::new("t", move || async move { with(json!({ "wrong": true })) }),
        Tool::new("t", async || Err::<String, _>(HandlerError::new("no"))),
        Tool::new("t", async || Err::<Structured<Booking>, _>(HandlerError::new("no"))),
    ] {
        let (reply, _) = outcome(tool.output_schema(schema())).await;
        assert_eq!((reply.code(), reply.tool_text().as_str()), (None, "no"));
        assert_eq!(reply.result()["isError"], true);
    }
    let asking = Tool::new("t", async || {
        Outcome::<CallToolResult>::InputRequired(InputRequired::retry(RequestState::from("s")))
    });
    let (reply, _) = outcome(asking.output_schema(schema())).await;
    assert_eq!(reply.result()["resultType"], "input_required");
    // A wrong result says so on a stream too, and harms no other call.
    let wrong = promising(schema(), None);
    let both = builder().tools([wrong, Tool::new("ok", async || "ok")]);
    let running = Running::build(both.response_mode(ResponseMode::Sse)).await;
    assert_eq!(running.ask(&Post::call("t", json!({}))).await.events()[0]["error"]["code"], -32603);
    let reply = running.ask(&Post::call("ok", json!({}))).await;
    assert_eq!(reply.events()[0]["result"]["content"][0]["text"], "ok");
}

/// A parameter that is mirrored into a header has one type, so an optional one is left out, not null.
#[tokio::test]
async fn optional_parameters_can_be_mirrored() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Query {
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: Option<String>,
        #[serde(default)]
        #[schemars(extend("x-mcp-header" = "Limit"))]
        limit: Option<u32>,
    }
    let tool = Tool::new("t", async |Args(query): Args<Query>| {
        format!("{:?} {:?}", query.region, query.limit)
    });
    let schema: Value = tool.definition().input_schema.decode().unwrap();
    let properties = &schema["properties"];
    assert_eq!(properties["region"], json!({ "type": "string", "x-mcp-header": "Region" }));
    assert_eq!(properties["limit"]["type"], "integer");
    assert_eq!(properties["limit"].get("default"), None);
    let running = Running::start(server([tool])).await;
    assert_eq!(running.ask(&Post::call("t", json!({}))).await.tool_text(), "None None");
    let post = Post::call("t", json!({ "region": "eu", "limit": 5 }));
    let post = post.add("Mcp-Param-Region", "eu").add("Mcp-Param-Limit", "5");
    assert_eq!(running.ask(&post).await.tool_text(), "Some(\"eu\") Some(5)");
    let reply = running.ask(&Post::call("t", json!({ "region": null }))).await;
    assert_eq!(reply.result()["isError"], true);
    assert!(reply.tool_text().contains("/region: must be a string, is null"));
}
