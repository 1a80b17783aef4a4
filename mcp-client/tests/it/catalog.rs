//! What the client knows of tools.

use crate::support::{Log, OK, Reply, Server, error, hear, result};

fn tool(name: &str, header: Option<&str>) -> String {
    let annotation =
        header.map(|header| format!(r#","x-mcp-header":"{header}""#)).unwrap_or_default();
    format!(
        r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"p":{{"type":"string"{annotation}}}}}}}}}"#
    )
}

fn page(tools: &[String], next: &str) -> Reply {
    let tools = tools.join(",");
    Reply::json(&result(&format!(
        r#"{{"resultType":"complete","tools":[{tools}],"ttlMs":0{next}}}"#
    )))
}

fn mismatch() -> Reply {
    Reply::body("400 Bad Request", "application/json", &error(-32020, "null"))
}

fn arguments() -> serde_json::Value {
    serde_json::json!({"p": "v"})
}

#[tokio::test]
async fn invalid_tools_are_left_out_with_a_warning() {
    let tools = [tool("good", Some("P")), tool("bad", Some("a b")), tool("plain", None)];
    let server = Server::start([page(&tools, ""), page(&tools, "")]).await;
    let client = server.client();
    let log = Log::default();
    let guard = hear(log.clone());
    let listed = client.list_tools().await.unwrap();
    let outcome =
        client
            .call::<mcp_client::types::request::ListTools>(
                mcp_client::types::PaginatedParams::default(),
            )
            .await
            .unwrap();
    drop(guard);
    for listed in [listed, outcome.complete().unwrap()] {
        let names: Vec<_> = listed.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good", "plain"]);
    }
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("bad") && warnings[0].contains("x-mcp-header"), "{warnings:?}");
}

#[tokio::test]
async fn a_tool_not_seen_mirrors_nothing_and_is_not_asked_for() {
    let server = Server::start([Reply::json(&result(OK))]).await;
    server.client().call_tool("t", arguments()).await.unwrap();
    assert_eq!(server.methods(), ["tools/call"]);
    assert!(!server.requests()[0].head.contains("mcp-param"));
}

// H7: the schema changed after it was listed.
#[tokio::test]
async fn a_mismatch_lists_once_and_tries_once_more() {
    let server = Server::start([
        page(&[tool("t", None)], ""),
        mismatch(),
        page(&[tool("t", Some("P"))], ""),
        Reply::json(&result(OK)),
        Reply::json(&result(OK)),
    ])
    .await;
    let client = server.client();
    client.list_tools().await.unwrap();
    client.call_tool("t", arguments()).header("authorization", "Bearer x").await.unwrap();
    client.call_tool("t", arguments()).await.unwrap();
    assert_eq!(
        server.methods(),
        ["tools/list", "tools/call", "tools/list", "tools/call", "tools/call"]
    );
    let requests = server.requests();
    let params: Vec<_> = requests.iter().map(|request| request.header("mcp-param-p")).collect();
    assert_eq!(params, [None, None, None, Some("v"), Some("v")]);
    // The list is made for the call, so with its credentials.
    assert_eq!(requests[2].header("authorization"), Some("Bearer x"));
    let ids: Vec<_> = requests.iter().map(|request| request.json()["id"].clone()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_mismatch_that_stays_is_an_error() {
    let server = Server::start([mismatch(), page(&[tool("t", Some("P"))], ""), mismatch()]).await;
    let error = server.client().call_tool("t", arguments()).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code.0, -32020);
    assert_eq!(server.methods(), ["tools/call", "tools/list", "tools/call"]);
}

#[tokio::test]
async fn pages_are_read_until_the_tool_is_found() {
    let next = |cursor: &str| format!(r#","nextCursor":"{cursor}""#);
    let server = Server::start([
        mismatch(),
        page(&[tool("a", None)], &next("2")),
        page(&[tool("t", Some("P"))], &next("3")),
        Reply::json(&result(OK)),
    ])
    .await;
    server.client().call_tool("t", arguments()).await.unwrap();
    assert_eq!(server.methods(), ["tools/call", "tools/list", "tools/list", "tools/call"]);
    assert_eq!(server.requests()[2].json()["params"]["cursor"], "2");
}

#[tokio::test]
async fn other_methods_and_failing_lists_are_not_retried() {
    let server = Server::start([mismatch(), mismatch(), mismatch()]).await;
    let client = server.client();
    assert!(client.list_tools().await.unwrap_err().rpc().is_some());
    let error = client.call_tool("t", arguments()).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code.0, -32020);
    assert_eq!(server.methods(), ["tools/list", "tools/call", "tools/list"]);
}

// H12
#[tokio::test]
async fn what_has_no_place_in_a_header_is_an_error_before_sending() {
    let schema = r#"{"name":"t","inputSchema":{"type":"object","properties":{"p":{"type":"integer","x-mcp-header":"P"}}}}"#;
    let server = Server::start([page(&[schema.to_owned()], "")]).await;
    let client = server.client();
    client.list_tools().await.unwrap();
    let unsafe_integer = serde_json::json!({"p": 9_007_199_254_740_993_u64});
    let error = client.call_tool("t", unsafe_integer).await.unwrap_err();
    assert!(error.is_usage(), "{error:?}");
    assert_eq!(server.methods(), ["tools/list"]);
}

#[tokio::test]
async fn schemas_come_as_they_are() {
    let schema = r##"{"type":"object","$defs":{"a":{"$anchor":"x"}},"allOf":[{"$ref":"http://example.com/s"}],"z": 1.0}"##;
    let listed = format!(r#"{{"name":"t","inputSchema":{schema},"outputSchema":{schema}}}"#);
    let server = Server::start([page(&[listed], "")]).await;
    let list = server.client().list_tools().await.unwrap();
    assert_eq!(list.tools[0].input_schema.get(), schema);
    assert_eq!(list.tools[0].output_schema.as_ref().unwrap().get(), schema);
}
