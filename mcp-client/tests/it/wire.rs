//! The bytes of requests, to the last one.

use mcp_client::types::{ClientCapabilities, Implementation, JsonMap, LoggingLevel};
use serde::Serialize;

use crate::support::{NO_TOOLS, OK, Reply, Server, result};

#[derive(Serialize)]
struct Add {
    a: f64,
    b: f64,
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tests","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The request that the server must have seen, given what follows the two constant headers and the body.
fn expect(server: &Server, nth: usize, headers: &str, body: &str) {
    let request = &server.requests()[nth];
    let head = format!(
        "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\n{headers}host: {}\r\ncontent-length: {}\r\n",
        server.host,
        body.len()
    );
    assert_eq!(request.head, head);
    assert_eq!(request.body, body);
}

#[tokio::test]
async fn discover_list_and_call() {
    let discovered =
        result(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#);
    let server = Server::start([
        Reply::json(&discovered),
        Reply::json(&result(NO_TOOLS)),
        Reply::json(&result(NO_TOOLS)),
        Reply::json(&result(OK)),
        Reply::json(&result(OK)),
    ])
    .await;
    let client = server.builder().info(Implementation::new("tests", "1")).build().unwrap();

    client.discover().await.unwrap();
    client.list_tools().await.unwrap();
    client.list_tools().cursor("p 2").await.unwrap();
    client.call_tool("add", Add { a: 2.0, b: 3.5 }).await.unwrap();
    client.call_tool("größe", ()).await.unwrap();

    let standard =
        |method: &str| format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}"#);
    expect(&server, 0, &standard("server/discover"), &body);
    let body = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{{META}}}}}"#);
    expect(&server, 1, &standard("tools/list"), &body);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{{{META},"cursor":"p 2"}}}}"#
    );
    expect(&server, 2, &standard("tools/list"), &body);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{{META},"name":"add","arguments":{{"a":2.0,"b":3.5}}}}}}"#
    );
    expect(&server, 3, &(standard("tools/call") + "mcp-name: add\r\n"), &body);
    // J10: without arguments there is no member, rather than a null.
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{{META},"name":"größe"}}}}"#
    );
    expect(&server, 4, &(standard("tools/call") + "mcp-name: =?base64?Z3LDtsOfZQ==?=\r\n"), &body);
}

#[tokio::test]
async fn mirrored_parameters_and_extra_headers() {
    let tool = r#"{"name":"sql","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "limit":{"type":"integer","x-mcp-header":"Limit"},
        "dry":{"type":"boolean","x-mcp-header":"Dry"},
        "where":{"type":"object","properties":{"user":{"type":"string","x-mcp-header":"User"}}},
        "absent":{"type":"string","x-mcp-header":"Absent"},
        "query":{"type":"string"}}}}"#
        .replace('\n', "");
    let list = result(&format!(r#"{{"resultType":"complete","tools":[{tool}]}}"#));
    let server = Server::start([Reply::json(&list), Reply::json(&result(OK))]).await;
    let client = server
        .builder()
        .info(Implementation::new("tests", "1"))
        .header("authorization", "Bearer x")
        .unwrap()
        .header("x-tenant", "client")
        .unwrap()
        .build()
        .unwrap();
    client.list_tools().await.unwrap();

    // H3: what looks encoded is encoded.
    let arguments = serde_json::json!({
        "region": "=?base64?literal?=", "limit": 42, "dry": true, "where": {"user": " 世 "},
        "absent": null, "query": "select",
    });
    client.call_tool("sql", &arguments).header("X-Tenant", "call").await.unwrap();

    let body = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{META},"name":"sql","arguments":{arguments}}}}}"#
    );
    let request = &server.requests()[1];
    assert_eq!(request.body, body);
    let mut lines: Vec<_> = request.head.lines().skip(1).collect();
    lines.sort_unstable();
    let length = format!("content-length: {}", body.len());
    let host = format!("host: {}", server.host);
    assert_eq!(
        lines,
        [
            "accept: application/json, text/event-stream",
            "authorization: Bearer x",
            &length,
            "content-type: application/json",
            &host,
            "mcp-method: tools/call",
            "mcp-name: sql",
            "mcp-param-dry: true",
            "mcp-param-limit: 42",
            "mcp-param-region: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
            "mcp-param-user: =?base64?IOS4liA=?=",
            "mcp-protocol-version: 2026-07-28",
            "x-tenant: call",
        ]
    );
}

#[tokio::test]
async fn what_meta_says() {
    let replies = (0..4).map(|_| Reply::json(&result(OK)));
    let server = Server::start(replies).await;
    let capabilities =
        ClientCapabilities { roots: Some(JsonMap::new()), ..ClientCapabilities::default() };
    let client = server.builder().info(None).capabilities(capabilities).build().unwrap();

    client.call_tool("t", ()).await.unwrap();
    client.call_tool("t", ()).on_progress(|_| ()).await.unwrap();
    // C5: the timeout can only be reset if progress is asked for.
    client.call_tool("t", ()).reset_on_progress().await.unwrap();
    client.call_tool("t", ()).on_log(LoggingLevel::Notice, |_| ()).await.unwrap();

    let head = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
    let expected = [
        format!("{{{head}}}"),
        format!(r#"{{"progressToken":2,{head}}}"#),
        format!(r#"{{"progressToken":3,{head}}}"#),
        format!(r#"{{{head},"io.modelcontextprotocol/logLevel":"notice"}}"#),
    ];
    for (request, meta) in server.requests().iter().zip(expected) {
        assert!(request.body.contains(&format!(r#""_meta":{meta},"#)), "{}", request.body);
        assert!(!request.body.contains("null"));
    }
}

#[tokio::test]
async fn arguments_are_an_object_or_none() {
    let server = Server::start((0..4).map(|_| Reply::json(&result(OK)))).await;
    let client = server.client();
    client.call_tool("t", serde_json::json!({})).await.unwrap();
    client.call_tool("t", None::<Add>).await.unwrap();
    for wrong in [serde_json::json!([1]), serde_json::json!("{}"), serde_json::json!(1)] {
        let error = client.call_tool("t", wrong).await.unwrap_err();
        assert!(error.is_usage(), "{error}");
    }
    let error = client.call_tool("t", std::collections::HashMap::from([(vec![1], 1)])).await;
    assert!(error.unwrap_err().is_usage());
    let sent: Vec<_> =
        server.requests().iter().map(|request| request.body.contains("arguments")).collect();
    assert_eq!(sent, [true, false]);
}
