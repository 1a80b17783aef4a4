//! The body: JSON-RPC messages, and what only looks like them.

use mcp_server::{Args, Tool};
use serde_json::{Value, json};

use crate::support::{Post, Running, VERSION, call_params, message, meta, server};

/// The headers of a call of `echo`, around any body.
fn call(body: impl Into<Vec<u8>>) -> Post {
    Post::call("echo", json!({})).body(body)
}

async fn start() -> Running {
    let echo = async |Args(arguments): Args<Value>| arguments.to_string();
    Running::start(server([Tool::new("echo", echo).input_schema(json!({ "type": "object" }))]))
        .await
}

/// J2.
#[tokio::test]
async fn ids_are_echoed_with_type_and_value() {
    let running = start().await;
    let mut conn = running.connect().await;
    for id in [
        r#""1""#,
        r#""""#,
        r#""☃""#,
        r#""\u2603\n\"""#,
        "0",
        "-1",
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
    ] {
        let expected: Value = serde_json::from_str(id).unwrap();
        // In a result, in an error after parsing (T14), and where parsing fails behind it.
        let table = [
            (call(message(id, "tools/call", call_params("echo", json!({})))), None),
            (Post::with_id(id, "no/such", json!({})), Some(-32601)),
            (Post::with_id(id, "tools/list", json!({ "_meta": null })), Some(-32602)),
            (call(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"#)), Some(-32700)),
        ];
        for (post, code) in table {
            let reply = conn.ask(&post).await;
            assert_eq!(reply.code(), code, "{id}");
            assert_eq!(reply.message()["id"], expected, "{}", reply.text());
        }
    }
}

/// T14: whatever is wrong behind the envelope, the answer says whose it is.
#[tokio::test]
async fn errors_carry_the_id() {
    let able = Tool::new("able", async || "ok")
        .requires(serde_json::from_value(json!({ "elicitation": {} })).unwrap());
    let running = Running::start(server([able])).await;
    let with = |method: &str, params: Value| Post::with_id("\"a\"", method, params);
    let mut old = meta();
    old["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    let older = with("tools/list", json!({ "_meta": old }));
    for (post, status, code) in [
        (with("tools/call", json!({ "name": "none" })), 400, -32602),
        (with("tools/call", json!({ "name": "able", "arguments": 5 })), 400, -32602),
        (with("tools/list", json!({ "cursor": 5 })), 400, -32602),
        (older.set("MCP-Protocol-Version", "1900-01-01"), 400, -32022),
        (with("tools/list", json!({ "_meta": null })), 400, -32602),
        (with("tools/list", json!({})).remove("Mcp-Method"), 400, -32020),
        (with("tools/call", json!({ "name": "able" })), 400, -32021),
        (with("subscriptions/listen", json!({})), 400, -32602),
        (with("no/such", json!({})), 404, -32601),
    ] {
        let reply = running.ask(&post).await;
        assert_eq!((reply.status, reply.code()), (status, Some(code)), "{}", reply.text());
        assert_eq!(reply.message()["id"], "a", "{code}");
    }
}

/// J3, and what else is no id.
#[tokio::test]
async fn what_is_no_id_is_refused_and_not_echoed() {
    let running = start().await;
    let mut conn = running.connect().await;
    for id in [
        "0.0",
        "-0",
        "1.0",
        "1.5",
        "1e3",
        "-1E0",
        "18446744073709551616",
        "-9223372036854775809",
        "null",
        "true",
        "[]",
        "{}",
        "[1]",
    ] {
        let reply =
            conn.ask(&call(message(id, "tools/call", call_params("echo", json!({}))))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{id}");
        assert_eq!(reply.message().get("id"), None, "{id}");
    }
}

/// J5: nothing of these is dropped without an answer that the sender can correlate.
#[tokio::test]
async fn misshapen_requests_are_told_so() {
    let running = start().await;
    let mut conn = running.connect().await;
    for rest in [
        r#""method":"""#,
        r#""method":null"#,
        r#""method":5"#,
        r#""method":["tools/list"]"#,
        r#""result":{},"error":{"code":1,"message":"m"}"#,
        r#""method":"tools/list","result":{}"#,
        r#""method":"tools/list","params":[]"#,
        r#""method":"tools/list","params":5"#,
        r#""method":"tools/list","params":"{}""#,
        r#""params":{}"#,
    ] {
        let reply = conn.ask(&call(format!(r#"{{"jsonrpc":"2.0","id":5,{rest}}}"#))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{rest}");
        assert_eq!(reply.message()["id"], 5, "{rest}");
    }
    for jsonrpc in [r#""1.0""#, "2.0", "2", "null", r#""2.0 ""#] {
        let body = format!(r#"{{"jsonrpc":{jsonrpc},"id":5,"method":"tools/list"}}"#);
        assert_eq!(conn.ask(&call(body)).await.code(), Some(-32600), "{jsonrpc}");
    }
    let reply = conn.ask(&call(r#"{"id":5,"method":"tools/list"}"#)).await;
    assert_eq!((reply.code(), &reply.message()["id"]), (Some(-32600), &json!(5)));
}

/// J7 over HTTP, and bodies that are no message at all: 400 with the code, no made-up id, and the connection
/// lives.
#[tokio::test]
async fn bodies_that_are_no_message() {
    let running = start().await;
    let mut conn = running.connect().await;
    let whole = message("1", "tools/call", call_params("echo", json!({})));
    let table: &[(&[u8], i64)] = &[
        (b"", -32700),
        (b" \n ", -32700),
        (b"garbage", -32700),
        (b"{", -32700),
        (b"{\"jsonrpc\":\"2.0\"", -32700),
        (b"[{]", -32700),
        (b"[]", -32600),
        (b"[1]", -32600),
        (b"42", -32600),
        (b"null", -32600),
        (b"\"text\"", -32600),
        (b"{}", -32600),
        // Single quotes, comments, trailing commas, NaN are not JSON.
        (b"{'jsonrpc':'2.0'}", -32700),
        (b"{\"jsonrpc\":\"2.0\",}", -32700),
        (b"{/**/}", -32700),
        (b"{\"a\":NaN}", -32700),
        (b"{\"a\":01}", -32700),
        (b"{\"a\":\"\t\"}", -32700),
        (b"\0", -32700),
    ];
    for (body, code) in table {
        let reply = conn.ask(&call(*body)).await;
        let shown = String::from_utf8_lossy(body);
        assert_eq!((reply.status, reply.code()), (400, Some(*code)), "{shown}");
        assert_eq!(reply.message().get("id"), None, "{shown}");
    }
    let reply = conn.ask(&call(format!("[{whole}]"))).await;
    assert_eq!((reply.code(), reply.message().get("id")), (Some(-32600), None));
    // A byte order mark is not white space.
    let reply = conn.ask(&call(format!("\u{feff}{whole}"))).await;
    assert_eq!((reply.code(), reply.message().get("id")), (Some(-32700), None));
    // Behind a whole message there may be only white space; its id was read.
    for garbage in ["x", "{}", ",", "\0", &whole] {
        let reply = conn.ask(&call(format!("{whole}{garbage}"))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32700)), "{garbage}");
        assert_eq!(reply.message()["id"], 1, "{garbage}");
    }
    let reply = conn.ask(&call(format!("\r\n\t {whole} \r\n\t"))).await;
    assert_eq!(reply.tool_text(), "{}");
}

/// J8.
#[tokio::test]
async fn nesting_is_bounded() {
    let running = start().await;
    let mut conn = running.connect().await;
    let deep = "[".repeat(100_000);
    let objects = "{\"a\":".repeat(100_000);
    let closed = format!("{deep}{}", "]".repeat(100_000));
    for body in [
        deep.clone(),
        objects,
        closed.clone(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"a":{closed}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","ignored":{closed}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"_meta":{closed}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":{closed},"method":"a"}}"#),
    ] {
        let reply = conn.ask(&call(body)).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32700)));
    }
    // Whatever is let through can be decoded, too.
    for depth in 110..140 {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let params = format!(r#"{{"name":"echo","arguments":{{"a":{value}}},"_meta":{}}}"#, meta());
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let reply = conn.ask(&call(body)).await;
        match reply.status {
            200 => assert_eq!(reply.tool_text(), format!(r#"{{"a":{value}}}"#)),
            _ => assert_eq!(reply.code(), Some(-32700), "{depth}"),
        }
    }
}

/// J9, H10: 202 without a body, whatever the notification.
#[tokio::test]
async fn notifications_are_accepted() {
    let running = start().await;
    let mut conn = running.connect().await;
    for rest in [
        r#""method":"notifications/cancelled""#,
        r#""method":"notifications/cancelled","params":null"#,
        r#""method":"notifications/cancelled","params":{}"#,
        r#""method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}"#,
        r#""method":"notifications/initialized""#,
        r#""method":"no/such","params":{"_meta":{}}"#,
        // A request without an id is a notification, and not called.
        r#""method":"tools/call","params":{"name":"echo"}"#,
    ] {
        for headers in [false, true] {
            let body = format!(r#"{{"jsonrpc":"2.0",{rest}}}"#);
            let post = if headers { call(body) } else { Post::bare(body) };
            let reply = conn.ask(&post).await;
            assert_eq!((reply.status, reply.text()), (202, ""), "{rest}");
        }
    }
    for rest in [r#""method":"a","params":[]"#, r#""method":"a","params":5"#, r#""method":"""#] {
        let reply = conn.ask(&call(format!(r#"{{"jsonrpc":"2.0",{rest}}}"#))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{rest}");
    }
}

/// J10.
#[tokio::test]
async fn omitted_arguments_are_an_empty_object() {
    let running = start().await;
    let reply = running.ask(&Post::rpc("tools/call", json!({ "name": "echo" }))).await;
    assert_eq!(reply.tool_text(), "{}");
    for wrong in [json!(null), json!([]), json!(5), json!("{}"), json!(false)] {
        let params = json!({ "name": "echo", "arguments": wrong });
        let reply = running.ask(&Post::rpc("tools/call", params)).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{wrong}");
    }
}

#[tokio::test]
async fn a_key_that_is_there_twice_is_refused_where_it_could_mislead() {
    let running = start().await;
    let mut conn = running.connect().await;
    let params = format!(r#""name":"echo","_meta":{}"#, meta());
    let request = |envelope: &str, params: &str| {
        call(format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call",{envelope}"params":{{{params}}}}}"#
        ))
    };
    let table = [
        (r#""method":"tools/call","#, String::new()),
        (r#""jsonrpc":"2.0","#, String::new()),
        (r#""params":{},"#, String::new()),
        (r#""meth\u006fd":"tools/call","#, String::new()),
        (r#""other":1,"other":1,"#, String::new()),
        ("", r#","name":"echo""#.to_owned()),
        ("", r#","na\u006de":"other""#.to_owned()),
        ("", format!(r#","_meta":{}"#, meta())),
        ("", r#","arguments":{},"arguments":{"a":1}"#.to_owned()),
        ("", r#","other":1,"other":2"#.to_owned()),
    ];
    for (envelope, more) in table {
        let reply = conn.ask(&request(envelope, &format!("{params}{more}"))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{envelope}{more}");
        assert_eq!(reply.message()["id"], 7, "{envelope}{more}");
    }
    let reply = conn.ask(&request(r#""id":7,"#, &params)).await;
    assert_eq!((reply.code(), reply.message().get("id")), (Some(-32600), None));
    // In the `_meta` it is found later, by another check.
    let twice = format!(
        r#""name":"echo","_meta":{{"io.modelcontextprotocol/protocolVersion":"1900-01-01",{}"#,
        &meta().to_string()[1..]
    );
    assert!(twice.matches(VERSION).count() == 1);
    assert_eq!(conn.ask(&request("", &twice)).await.status, 400);
    // What lies deeper passes untouched; this handler's type takes the last.
    let reply =
        conn.ask(&request("", &format!(r#"{params},"arguments":{{"a":{{"b":1,"b":2}}}}"#))).await;
    assert_eq!(reply.tool_text(), r#"{"a":{"b":2}}"#);
}

/// T13.
#[tokio::test]
async fn what_is_not_utf8_is_not_json() {
    let running = start().await;
    let mut conn = running.connect().await;
    let around: &[(&str, &str)] = &[
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","ignored":""#, r#""}"#),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":""#, r#""}}"#),
        (r#"{"jsonrpc":"2.0","id":1,"method":""#, r#""}"#),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a"#, ""),
        ("", ""),
    ];
    for (before, behind) in around {
        for wrong in
            [&b"\xff"[..], b"\xc3", b"\xe2\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
        {
            let body = [before.as_bytes(), wrong, behind.as_bytes()].concat();
            let reply = conn.ask(&call(body)).await;
            assert_eq!((reply.status, reply.code()), (400, Some(-32700)), "{before}{wrong:x?}");
        }
    }
    // Half of a surrogate pair stands for no text either.
    let body = message("1", "tools/call", call_params("echo", json!({})))
        .replace(r#""echo""#, r#""\ud800""#);
    assert_eq!(conn.ask(&call(body)).await.code(), Some(-32700));
}

/// The client is told only what it asks.
#[tokio::test]
async fn a_response_cannot_be_posted() {
    let running = start().await;
    let mut conn = running.connect().await;
    for rest in [
        r#""id":1,"result":{}"#,
        r#""id":"a","result":{"resultType":"complete"}"#,
        r#""id":1,"error":{"code":1,"message":"m"}"#,
        r#""error":{"code":1,"message":"m"}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0",{rest}}}"#);
        for post in [call(body.clone()), Post::bare(body)] {
            let reply = conn.ask(&post).await;
            assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{rest}");
        }
    }
}

/// J19: an identity is for display, so that no malformed one stops a call.
#[tokio::test]
async fn a_malformed_client_info_is_ignored() {
    let running = start().await;
    for info in [
        json!(null),
        json!(5),
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "n", "version": "1" }),
    ] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/clientInfo"] = info.clone();
        let reply =
            running.ask(&Post::rpc("tools/call", json!({ "name": "echo", "_meta": meta }))).await;
        assert_eq!(reply.status, 200, "{info}");
    }
}

/// However many members there are, time is linear in the body: the largest body that is let in takes
/// milliseconds, also in a build for debugging, where a square would take minutes.
#[tokio::test]
async fn many_members_take_no_more_than_their_time() {
    let running = start().await;
    let members = |from: usize| {
        let keys: Vec<_> = (from..from + 200_000).map(|n| format!(r#""{n}":0"#)).collect();
        keys.join(",")
    };
    let many = members(0);
    let meta = meta().to_string();
    let (meta_open, capabilities) =
        (meta.strip_suffix('}').unwrap(), r#""io.modelcontextprotocol/clientCapabilities":{"#);
    let tables = [
        ("the envelope", format!(r#""params":{{"name":"echo","_meta":{meta}}},{many}"#)),
        ("params", format!(r#""params":{{"name":"echo","_meta":{meta},{many}}}"#)),
        ("_meta", format!(r#""params":{{"name":"echo","_meta":{meta_open},{many}}}}}"#)),
        (
            "arguments",
            format!(r#""params":{{"name":"echo","_meta":{meta},"arguments":{{{many}}}}}"#),
        ),
        (
            "capabilities",
            format!(
                r#""params":{{"name":"echo","_meta":{}}}"#,
                meta.replace(capabilities, &format!("{capabilities}{many}"))
            ),
        ),
    ];
    for (place, rest) in tables {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call",{rest}}}"#);
        assert!(body.len() < 4 << 20);
        let begun = std::time::Instant::now();
        let reply = running.ask(&call(body)).await;
        assert_eq!(reply.status, 200, "{place}");
        println!("{place}: {:?}", begun.elapsed());
    }
}
