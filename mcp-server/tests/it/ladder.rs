//! Every check between a request and its handler, and which one wins when two fail.
//!
//! The numbers are those of the order of checks in `CONTRIBUTING.md`. Checks 2 (authentication) and 20 (scopes) have
//! no rows, because nothing that they are about exists yet. The 408 of check 6 needs time to fail, see `head.rs`.

use mcp_server::types::{ClientCapabilities, ElicitationCapability};
use mcp_server::{Args, HandlerError, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{
    Post, Reply, Running, builder, call_params, capable, limits, message, meta, tool_text,
};

/// A request and what must come of it.
struct Row {
    /// The check that fails, and which others would.
    name: &'static str,
    bytes: Vec<u8>,
    status: u16,
    /// The error's code; `None` for a result.
    code: Option<i64>,
    /// The id echoed, as raw JSON.
    id: Option<&'static str>,
    /// What the message, or the tool's text, has to name.
    says: &'static str,
}

#[tokio::test]
async fn each_check_answers_and_the_first_to_fail_wins() {
    let running = Running::start(server()).await;
    let rows = [
        head(),
        body(),
        version(),
        meta_rows(),
        agreement(),
        names(),
        target(),
        params(),
        call(),
        mirrored(),
    ];
    let mut wrong = Vec::new();
    for row in rows.into_iter().flatten() {
        let mut conn = running.connect().await;
        conn.send(&row.bytes).await;
        let reply = conn.reply().await;
        if !row.is_answered_by(&reply) {
            wrong.push(format!("{}: {} {}", row.name, reply.status, reply.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Row {
    fn is_answered_by(&self, reply: &Reply) -> bool {
        let message = reply.message();
        let id = self.id.map(|id| serde_json::from_str::<Value>(id).unwrap());
        let text = match self.code {
            None => tool_text(&message),
            Some(_) => message["error"].to_string(),
        };
        reply.is_json()
            && reply.status == self.status
            && reply.code() == self.code
            && message.get("id") == id.as_ref()
            && text.contains(self.says)
    }
}

#[tokio::test]
async fn a_notification_passes_by_every_check_of_requests() {
    let running = Running::start(server()).await;
    // Check 9; without any header of MCP it would fail at 10 (H10).
    let reply = running.ask(&Post::bare(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)).await;
    assert_eq!((reply.status, reply.text()), (202, ""));
    assert_eq!(reply.field("content-type"), None);
}

/// What refuses a request may say more than its code: T15, M6.
#[tokio::test]
async fn refusals_carry_their_data() {
    let running = Running::start(server()).await;
    let table = [
        (
            Post::rpc("tools/list", json!({ "_meta": null }))
                .set("MCP-Protocol-Version", "2025-11-25"),
            json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" }),
        ),
        (versions("1900-01-01"), json!({ "supported": ["2026-07-28"], "requested": "1900-01-01" })),
        (strict(json!({ "n": 1 })), json!({ "requiredCapabilities": { "elicitation": {} } })),
    ];
    for (post, data) in table {
        let reply = running.ask(&post).await;
        assert_eq!(reply.message()["error"]["data"], data);
    }
    let reply = running.ask(&Post::rpc("tools/list", json!({})).line("DELETE /mcp HTTP/1.1")).await;
    assert_eq!(reply.field("allow"), Some("POST"));
}

/// T15, L7: a legacy client learns the versions from whatever refuses it; there is no version, this one included, that
/// `initialize` agrees on.
#[tokio::test]
async fn a_refused_initialize_names_the_versions() {
    let running = Running::start(server()).await;
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "old", "version": "1" },
        "_meta": null,
    });
    let bare = Post::bare(message("1", "initialize", params.clone()));
    let modern = Post::rpc("initialize", json!({}));
    let eager = Post::rpc("initialize", json!({ "protocolVersion": "2026-07-28" }));
    let table = [
        (bare.clone(), 400, -32020),
        (bare.set("MCP-Protocol-Version", "2025-06-18"), 400, -32022),
        (Post::rpc("initialize", params), 400, -32602),
        (modern.clone().set("Mcp-Method", "initialise"), 400, -32020),
        (modern, 404, -32601),
        (eager, 404, -32601),
    ];
    for (post, status, code) in table {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (status, Some(code)));
        let error = reply.message()["error"].to_string();
        assert!(error.contains("2026-07-28"), "{error}");
    }
}

fn head() -> Vec<Row> {
    let refused = |name, status, says, post: Post| row(name, status, -32600, None, says, &post);
    let mcp = echo();
    let other = || echo().line("POST /other HTTP/1.1");
    let get = || echo().line("GET /mcp HTTP/1.1");
    let evil = |post: Post| post.set("Host", "evil.example");
    vec![
        refused("1 host", 403, "Host", evil(mcp.clone())),
        refused("1 origin", 403, "Origin", mcp.clone().add("Origin", "http://evil.example")),
        refused(
            "1 host, origin",
            403,
            "Host",
            evil(mcp.clone()).add("Origin", "http://evil.example"),
        ),
        refused("1 host, 3 path", 403, "Host", evil(other())),
        refused("1 origin, 3 method", 403, "Origin", get().add("Origin", "null")),
        refused("3 path", 404, "path", other()),
        refused("3 method", 405, "POST", get()),
        refused("3 path, method", 404, "path", echo().line("GET /other HTTP/1.1")),
        refused("3 path, 4", 404, "path", other().set("Content-Type", "text/plain")),
        refused("3 method, 4", 405, "POST", get().set("Content-Type", "text/plain")),
        refused("4", 415, "application/json", mcp.clone().set("Content-Type", "text/plain")),
        refused(
            "4, 5",
            415,
            "application/json",
            mcp.clone().set("Content-Type", "text/plain").set("Accept", "text/html"),
        ),
        refused("5", 406, "Accept", mcp.set("Accept", "text/html")),
    ]
}

fn body() -> Vec<Row> {
    let large = || echo().body([b'x'; LIMIT + 1]);
    let announced = || echo().body([]).set("Content-Length", &(LIMIT + 1).to_string());
    let no_version = |body: &str| Post::bare(body);
    vec![
        row("5, 6", 406, -32600, None, "Accept", &announced().set("Accept", "text/html")),
        row("6 by its length", 413, -32600, None, "bytes", &announced()),
        Row {
            bytes: large().chunked(1000),
            ..row("6 as it comes, 7", 413, -32600, None, "bytes", &large())
        },
        row("7", 400, -32700, None, "", &echo().body("{")),
        row("7, 8", 400, -32700, Some("7"), "", &echo().body(r#"{"id":7,"method":"","#)),
        row("8 batch", 400, -32600, None, "batch", &echo().body("[{}]")),
        row(
            "8 id",
            400,
            -32600,
            None,
            "id",
            &echo().body(message("null", "tools/list", json!({}))),
        ),
        row(
            "8 key",
            400,
            -32600,
            Some("7"),
            "method",
            &echo().body(r#"{"jsonrpc":"2.0","id":7,"method":"a","method":"a"}"#),
        ),
        row(
            "8, 9",
            400,
            -32600,
            None,
            "params",
            &no_version(r#"{"jsonrpc":"2.0","method":"a","params":[]}"#),
        ),
        row(
            "8, 10",
            400,
            -32600,
            Some("7"),
            "jsonrpc",
            &no_version(r#"{"jsonrpc":"1.0","id":7,"method":"a"}"#),
        ),
    ]
}

/// H9: no header is a mismatch, whatever else is missing.
fn version() -> Vec<Row> {
    let old =
        |params: Value| Post::rpc("tools/list", params).set("MCP-Protocol-Version", "2025-11-25");
    let header = "MCP-Protocol-Version";
    vec![
        row("10", 400, -32020, Some("1"), header, &echo().remove(header)),
        row("10 twice", 400, -32020, Some("1"), header, &echo().add(header, "2026-07-28")),
        row(
            "10 twice in one",
            400,
            -32020,
            Some("1"),
            header,
            &echo().set(header, "2026-07-28, 2026-07-28"),
        ),
        // There is no request that fails at 10 and at 11.
        row(
            "10, 12",
            400,
            -32020,
            Some("1"),
            header,
            &Post::rpc("tools/list", json!({ "_meta": null })).remove(header),
        ),
        row("11", 400, -32022, Some("1"), "2025-11-25", &old(json!({ "_meta": null }))),
        row("11, 12 missing", 400, -32022, Some("1"), "2025-11-25", &old(json!({ "_meta": {} }))),
        row(
            "11, 12 progress",
            400,
            -32022,
            Some("1"),
            "2025-11-25",
            &old(json!({ "_meta": { "progressToken": 1.5 } })),
        ),
        row("11, 12 no object", 400, -32022, Some("1"), "2025-11-25", &old(json!({ "_meta": 5 }))),
        row(
            "11, 15",
            400,
            -32022,
            Some("1"),
            "2025-11-25",
            &old(json!({ "_meta": null })).remove("Mcp-Method"),
        ),
    ]
}

/// H9: a header without a `_meta` is no way to say it.
fn meta_rows() -> Vec<Row> {
    let with = |key: &str, value: Value| {
        let mut meta = meta();
        meta[format!("io.modelcontextprotocol/{key}")] = value;
        Post::rpc("tools/list", json!({ "_meta": meta }))
    };
    let without = |key: &str| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{key}"));
        Post::rpc("tools/list", json!({ "_meta": meta }))
    };
    let invalid = |name, says, post: Post| row(name, 400, -32602, Some("1"), says, &post);
    let mut progress = meta();
    progress["progressToken"] = json!(1.5);
    vec![
        invalid("12 none", "_meta", Post::rpc("tools/list", json!({ "_meta": null }))),
        invalid("12 no object", "_meta", Post::rpc("tools/list", json!({ "_meta": [] }))),
        invalid("12 version", "protocolVersion", without("protocolVersion")),
        invalid("12 version's type", "_meta", with("protocolVersion", json!(20260728))),
        invalid("12 capabilities", "clientCapabilities", without("clientCapabilities")),
        invalid("12 capabilities' type", "_meta", with("clientCapabilities", json!([]))),
        invalid(
            "12 a capability's type",
            "_meta",
            with("clientCapabilities", json!({ "roots": 1 })),
        ),
        invalid("12 log level", "_meta", with("logLevel", json!("verbose"))),
        invalid(
            "12 progress token",
            "_meta",
            Post::rpc("tools/list", json!({ "_meta": progress })),
        ),
        invalid(
            "12, 13",
            "clientCapabilities",
            without("clientCapabilities").set("MCP-Protocol-Version", "1900-01-01"),
        ),
    ]
}

fn agreement() -> Vec<Row> {
    let header = "MCP-Protocol-Version";
    let mismatch = |name, post: Post| row(name, 400, -32020, Some("1"), header, &post);
    let unserved = |name, post: Post| row(name, 400, -32022, Some("1"), "1900-01-01", &post);
    vec![
        mismatch("13", echo().set(header, "2025-11-25")),
        mismatch("13, 14", versions("1900-01-01").set(header, "2026-07-28")),
        unserved("14", versions("1900-01-01")),
        unserved("14, 15", versions("1900-01-01").remove("Mcp-Method")),
    ]
}

fn names() -> Vec<Row> {
    let mismatch = |name, says, post: Post| row(name, 400, -32020, Some("1"), says, &post);
    let read = || Post::rpc("resources/read", json!({ "uri": "file:///a" }));
    vec![
        mismatch("15 no method", "Mcp-Method", echo().remove("Mcp-Method")),
        mismatch("15 method differs", "Mcp-Method", echo().set("Mcp-Method", "tools/list")),
        mismatch("15 method's case", "Mcp-Method", echo().set("Mcp-Method", "Tools/Call")),
        mismatch("15 method twice", "Mcp-Method", echo().add("Mcp-Method", "tools/call")),
        mismatch(
            "15 method encoded",
            "Mcp-Method",
            echo().set("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?="),
        ),
        mismatch("15 no name", "Mcp-Name", echo().remove("Mcp-Name")),
        mismatch("15 name differs", "Mcp-Name", echo().set("Mcp-Name", "strict")),
        // H13: the first of two must not win.
        mismatch("15 name twice", "Mcp-Name", echo().add("Mcp-Name", "strict")),
        mismatch("15 name twice in one", "Mcp-Name", echo().set("Mcp-Name", "echo, strict")),
        // H5: what does not decode is no lesser mismatch.
        mismatch("15 alphabet", "Mcp-Name", echo().set("Mcp-Name", "=?base64?!!?=")),
        mismatch("15 UTF-8", "Mcp-Name", echo().set("Mcp-Name", "=?base64?/w==?=")),
        mismatch("15 padding", "Mcp-Name", echo().set("Mcp-Name", "=?base64?ZWNobw?=")),
        mismatch("15 url alphabet", "Mcp-Name", echo().set("Mcp-Name", "=?base64?_w==?=")),
        mismatch("15 raw UTF-8", "Mcp-Name", Post::call("größe", json!({}))),
        mismatch(
            "15 method, name",
            "Mcp-Method",
            echo().set("Mcp-Method", "x").set("Mcp-Name", "x"),
        ),
        mismatch(
            "15 method, 16",
            "Mcp-Method",
            Post::rpc("no/such", json!({})).set("Mcp-Method", "x"),
        ),
        mismatch("15 name, 16", "Mcp-Name", read().set("Mcp-Name", "file:///b")),
        mismatch("15 name, 18", "Mcp-Name", Post::call("none", json!({})).set("Mcp-Name", "echo")),
    ]
}

fn target() -> Vec<Row> {
    let unknown = |name, says, post: Post| row(name, 404, -32601, Some("1"), says, &post);
    let json_only = Post::rpc("subscriptions/listen", json!({})).set("Accept", "application/json");
    vec![
        unknown("16 unknown", "no/such", Post::rpc("no/such", json!({}))),
        unknown("16 case", "Tools/List", Post::rpc("Tools/List", json!({}))),
        unknown("16 not declared", "prompts/list", Post::rpc("prompts/list", json!({}))),
        unknown("16 a removed method", "ping", Post::rpc("ping", json!({}))),
        unknown("16, 18", "prompts/get", Post::rpc("prompts/get", json!({ "arguments": 5 }))),
        row("17, 18", 406, -32600, Some("1"), "text/event-stream", &json_only),
    ]
}

fn params() -> Vec<Row> {
    let invalid = |name, says, post: Post| row(name, 400, -32602, Some("1"), says, &post);
    let arguments = |arguments: Value| {
        Post::rpc("tools/call", json!({ "name": "echo", "arguments": arguments }))
    };
    vec![
        invalid("18 no name", "name", Post::rpc("tools/call", json!({}))),
        invalid("18 name's type", "name", Post::rpc("tools/call", json!({ "name": 5 }))),
        // J10.
        invalid("18 null arguments", "arguments", arguments(json!(null))),
        invalid("18 array arguments", "arguments", arguments(json!([]))),
        invalid("18 text arguments", "arguments", arguments(json!("{}"))),
        invalid("18 tool", "none", Post::call("none", json!({}))),
        invalid("18 cursor's type", "cursor", Post::rpc("tools/list", json!({ "cursor": 5 }))),
        invalid("18 tool, 19", "none", Post::call("none", json!({})).add("Mcp-Param-Region", "x")),
        invalid(
            "18 arguments, 19",
            "arguments",
            Post::call("strict", json!([])).add("Mcp-Param-Region", "x"),
        ),
    ]
}

fn call() -> Vec<Row> {
    let mismatch = |name, post: Post| row(name, 400, -32020, Some("1"), "Mcp-Param-Region", &post);
    let region = |body: Value, header: &str| {
        strict(json!({ "n": 1, "region": body })).add("Mcp-Param-Region", header)
    };
    let able = |arguments: Value| {
        let mut params = call_params("strict", arguments);
        params["_meta"] = capable(json!({ "elicitation": {} }));
        Post::rpc("tools/call", params)
    };
    let text =
        |name, says, post: Post| Row { code: None, ..row(name, 200, 0, Some("1"), says, &post) };
    vec![
        mismatch("19 no header", strict(json!({ "n": 1, "region": "eu" }))),
        mismatch("19 differs", region(json!("eu"), "us")),
        mismatch("19 twice", region(json!("eu"), "eu").add("Mcp-Param-Region", "eu")),
        mismatch("19 not in the body", strict(json!({ "n": 1 })).add("Mcp-Param-Region", "eu")),
        mismatch("19 null in the body", region(json!(null), "null")),
        mismatch("19 malformed", region(json!("eu"), "=?base64?!!?=")),
        mismatch("19, 21", region(json!("eu"), "us")),
        row("21", 400, -32021, Some("1"), "elicitation", &strict(json!({ "n": 1 }))),
        row("21, 22", 400, -32021, Some("1"), "elicitation", &strict(json!({ "n": "x" }))),
        text("22", "Invalid arguments", able(json!({}))),
        text("22, 23", "Invalid arguments", able(json!({ "n": "x" }))),
        text("23", "failed", able(json!({ "n": 1 }))),
        text(
            "23 with its headers",
            "failed",
            able(json!({ "n": 1, "region": "eu" })).add("Mcp-Param-Region", "eu"),
        ),
        // Unknown ones are ignored.
        text("23 unknown header", "failed", able(json!({ "n": 1 })).add("Mcp-Param-Other", "x")),
        text(
            "23 encoded",
            "failed",
            able(json!({ "n": 1, "region": "世" })).add("Mcp-Param-Region", "=?base64?5LiW?="),
        ),
    ]
}

/// H3, H12: what is compared is what a header stands for; a value that looks encoded has to be encoded.
fn mirrored() -> Vec<Row> {
    let call = |member: &str, value: Value, header: &str, sent: &str| {
        let mut params = call_params("strict", json!({ "n": 1, member: value }));
        params["_meta"] = capable(json!({ "elicitation": {} }));
        Post::rpc("tools/call", params).add(&format!("Mcp-Param-{header}"), sent)
    };
    let literal = || json!("=?base64?literal?=");
    let nested = || json!({ "deep": { "er": 7 } });
    let matches =
        |name, post: Post| Row { code: None, ..row(name, 200, 0, Some("1"), "failed", &post) };
    let differs = |name, post: Post| row(name, 400, -32020, Some("1"), "Mcp-Param-", &post);
    let unsafe_integer = || json!(9_007_199_254_740_993_u64);
    vec![
        matches(
            "23 a literal like an encoded value",
            call("region", literal(), "Region", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ),
        differs("19 the same, as it is", call("region", literal(), "Region", "=?base64?literal?=")),
        differs(
            "19 the same, and it decodes",
            call("region", json!("=?base64?aGk=?="), "Region", "=?base64?aGk=?="),
        ),
        matches("23 integers", call("zone", json!(42), "Zone", "42.0")),
        matches("23 integers, turned round", call("zone", json!(42.0), "Zone", "42")),
        differs("19 integers", call("zone", json!(42), "Zone", "42.5")),
        differs("19 no integer", call("zone", json!(42), "Zone", "forty-two")),
        differs(
            "19 an integer that is not safe",
            call("zone", unsafe_integer(), "Zone", "9007199254740993"),
        ),
        differs("19 its neighbour", call("zone", unsafe_integer(), "Zone", "9007199254740992")),
        matches("23 boolean", call("dry", json!(true), "Dry", "true")),
        differs("19 boolean's case", call("dry", json!(true), "Dry", "True")),
        matches("23 nested", call("where", nested(), "Deeper", "7")),
        differs("19 nested", call("where", nested(), "Deeper", "8")),
        differs("19 at another path", call("er", json!(7), "Deeper", "7")),
    ]
}

fn row(
    name: &'static str,
    status: u16,
    code: i64,
    id: Option<&'static str>,
    says: &'static str,
    post: &Post,
) -> Row {
    Row { name, bytes: post.bytes(), status, code: Some(code), id, says }
}

/// A call that would succeed.
fn echo() -> Post {
    Post::call("echo", json!({}))
}

/// A call of the tool that fails at as many checks as one likes.
fn strict(arguments: Value) -> Post {
    Post::call("strict", arguments)
}

/// A request of another version, in which header and body agree.
fn versions(version: &str) -> Post {
    let mut meta = meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
    Post::rpc("tools/list", json!({ "_meta": meta })).set("MCP-Protocol-Version", version)
}

/// Bytes of a body.
const LIMIT: usize = 4096;

fn server() -> Server {
    #[derive(Deserialize, JsonSchema)]
    struct Strict {
        #[serde(rename = "n")]
        _n: i64,
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer" },
            "region": { "type": "string", "x-mcp-header": "Region" },
            "zone": { "type": "integer", "x-mcp-header": "Zone" },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
            "where": { "type": "object", "properties": { "deep": { "type": "object", "properties": {
                "er": { "type": "integer", "x-mcp-header": "Deeper" },
            } } } },
        },
    });
    let elicitation = ClientCapabilities {
        elicitation: Some(ElicitationCapability::default()),
        ..ClientCapabilities::default()
    };
    let strict = async |_: Args<Strict>| Err::<String, _>(HandlerError::new("failed"));
    builder()
        .tool(Tool::new("echo", async || "echo"))
        .tool(Tool::new("strict", strict).input_schema(schema).requires(elicitation))
        .limits(limits(|limits| limits.body = LIMIT))
        .build()
        .unwrap()
}
