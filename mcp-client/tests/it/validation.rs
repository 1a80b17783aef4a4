//! Results against the output schemas of their tools. Specification: Tools, Output Schema.

use mcp_client::types::{CallToolParams, Outcome, request};
use mcp_client::{Client, Error};
use serde_json::Value;

use crate::support::{Log, Reply, Server, error, hear, result};

const WEATHER: &str = r#"{"type":"object","properties":{"degrees":{"type":"number"},"sky":{"enum":["clear","grey"]}},"required":["degrees"]}"#;

fn list(schema: &str) -> Reply {
    let tool = format!(r#"{{"name":"t","inputSchema":{{}},"outputSchema":{schema}}}"#);
    Reply::json(&result(&format!(r#"{{"tools":[{tool}],"ttlMs":60000}}"#)))
}

fn gives(members: &str) -> Reply {
    Reply::json(&result(&format!(r#"{{"content":[]{members}}}"#)))
}

async fn knowing(schema: &str, replies: impl IntoIterator<Item = Reply>) -> (Server, Client) {
    let server = Server::start([list(schema)].into_iter().chain(replies)).await;
    let client = server.client();
    client.list_tools().await.unwrap();
    (server, client)
}

fn faults(error: &Error) -> Vec<(String, String)> {
    let faults = error.schema_faults().unwrap().iter();
    faults.map(|fault| (fault.path().to_owned(), fault.message().to_owned())).collect()
}

#[tokio::test]
async fn a_result_that_breaks_its_schema_is_an_error_with_the_paths() {
    let wrong = r#","structuredContent":{"degrees":"s3cret","sky":"green"}"#;
    let right = r#","structuredContent":{"degrees":20.5,"sky":"grey","wind":7}"#;
    let (server, client) = knowing(WEATHER, [gives(wrong), gives(right), gives(wrong)]).await;
    let error = client.call_tool("t", ()).await.unwrap_err();
    assert!(error.is_protocol() && error.status().unwrap() == 200, "{error:?}");
    assert_eq!(error.to_string(), "the result breaks the output schema of its tool");
    let found = faults(&error);
    assert_eq!(found[0].0, "/degrees");
    assert_eq!(found[1], ("/sky".into(), r#"must be one of "clear", "grey", is "green""#.into()));
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("/degrees: must be"));
    assert!(!format!("{error:?}").contains("s3cret"));

    let result = client.call_tool("t", ()).await.unwrap();
    assert!(result.structured_content.is_some());
    // The outcome of a call of any method is checked as well.
    let outcome = client.call::<request::CallTool>(CallToolParams::new("t")).await;
    assert!(outcome.unwrap_err().schema_faults().is_some());
    assert_eq!(server.methods(), ["tools/list", "tools/call", "tools/call", "tools/call"]);
}

#[tokio::test]
async fn structured_content_that_is_missing_is_a_fault() {
    let (_server, client) = knowing(WEATHER, [gives(""), gives("")]).await;
    let error = client.call_tool("t", ()).await.unwrap_err();
    assert!(error.is_protocol(), "{error:?}");
    assert_eq!(faults(&error), [(String::new(), "there is no structured content".to_owned())]);
    assert!(client.call_tool("t", ()).structured::<Value>().await.unwrap_err().is_protocol());
}

#[tokio::test]
async fn what_promises_nothing_is_not_checked() {
    let failed = gives(r#","isError":true,"structuredContent":{}"#);
    let asking = Reply::json(&result(r#"{"resultType":"input_required","requestState":"s"}"#));
    let replies = [failed, asking, gives(r#","structuredContent":7"#), gives("")];
    let (server, client) = knowing(WEATHER, replies).await;
    // A tool that failed.
    assert!(client.call_tool("t", ()).await.unwrap().is_error());
    // One that asks first.
    let outcome = client.call::<request::CallTool>(CallToolParams::new("t")).await.unwrap();
    assert!(matches!(outcome, Outcome::InputRequired(_)));
    // One that no list has told of, for which no list is asked.
    client.call_tool("unknown", ()).await.unwrap();
    // And bytes that are passed on.
    client.call_tool("t", ()).raw().await.unwrap();
    assert_eq!(server.methods()[1..], ["tools/call"; 4]);
    let server = Server::start([gives("")]).await;
    server.client().call_tool("t", ()).await.unwrap();
}

// X14: nothing is fetched, and nothing passes that nobody can judge. Specification: JSON Schema Usage.
#[tokio::test]
async fn a_schema_of_another_dialect_or_document_makes_results_errors() {
    for (schema, named) in [
        (r#"{"$schema":"http://example.com/own"}"#, "example.com/own"),
        (r#"{"$ref":"http://127.0.0.1:1/schema.json"}"#, "127.0.0.1:1/schema.json"),
    ] {
        let failed = gives(r#","isError":true"#);
        let replies = [gives(r#","structuredContent":7"#), list(schema), failed];
        let (_server, client) = knowing(schema, replies).await;
        let error = client.call_tool("t", ()).await.unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(error.is_protocol() && why.contains(named), "{schema}: {error}: {why}");
        client.list_tools().await.unwrap();
        assert!(client.call_tool("t", ()).await.unwrap().is_error());
    }
}

// A peer may write what it likes: the tool is called all the same.
#[tokio::test]
async fn a_schema_that_cannot_be_used_is_warned_of_once() {
    let deep = format!("{}{{}}{}", r#"{"not":"#.repeat(100), "}".repeat(100));
    let table = [r#"{"type":"thing"}"#, r#"{"pattern":"(?=a)"}"#, "7", &deep];
    for schema in table {
        let (_server, client) = knowing(schema, [gives(""), gives("")]).await;
        let log = Log::default();
        let guard = hear(log.clone());
        client.call_tool("t", ()).await.unwrap();
        client.call_tool("t", ()).await.unwrap();
        drop(guard);
        assert_eq!(log.warnings().len(), 1, "{schema}: {:?}", log.warnings());
    }
}

#[tokio::test]
async fn the_last_list_counts() {
    let none = r#"{"tools":[{"name":"t","inputSchema":{}}]}"#;
    let number = r#"{"type":"number"}"#;
    let seven = || gives(r#","structuredContent":7"#);
    let (server, client) =
        knowing(WEATHER, [list(number), seven(), Reply::json(&result(none)), gives("")]).await;
    client.list_tools().refresh_cache().await.unwrap();
    // Any value may be structured content.
    client.call_tool("t", ()).await.unwrap();
    client.list_tools().refresh_cache().await.unwrap();
    client.call_tool("t", ()).await.unwrap();
    assert_eq!(server.requests().len(), 5);
}

// The schema may be older than the tool: the next list is a new one.
#[tokio::test]
async fn a_broken_promise_drops_the_list() {
    let (server, client) = knowing(WEATHER, [gives(""), list("{}")]).await;
    client.list_tools().await.unwrap();
    client.call_tool("t", ()).await.unwrap_err();
    client.list_tools().await.unwrap();
    assert_eq!(server.methods(), ["tools/list", "tools/call", "tools/list"]);
}

// The list that a refusal of the headers causes tells of promises, too.
#[tokio::test]
async fn a_list_made_for_the_headers_tells_as_well() {
    let mismatch = Reply::body("400 Bad Request", "application/json", &error(-32020, "null"));
    let server = Server::start([mismatch, list(WEATHER), gives("")]).await;
    let error = server.client().call_tool("t", ()).await.unwrap_err();
    assert!(error.schema_faults().is_some(), "{error:?}");
}

// What cannot be checked is refused, and says why.
#[tokio::test]
async fn a_result_that_is_too_large_to_be_checked_is_refused() {
    let many = format!(r#","structuredContent":[{}0]"#, "0,".repeat(200_000));
    let (_server, client) = knowing(r#"{"items":{"type":"integer"}}"#, [gives(&many)]).await;
    let error = client.call_tool("t", ()).await.unwrap_err();
    assert_eq!(faults(&error), [(String::new(), "must have at most 200000 values".to_owned())]);
}

// A list that says the same again costs no second compilation, nor a second warning.
#[tokio::test]
async fn a_list_that_says_the_same_changes_nothing() {
    let unusable = r#"{"type":"thing"}"#;
    let (_server, client) = knowing(unusable, [gives(""), list(unusable), gives("")]).await;
    let log = Log::default();
    let guard = hear(log.clone());
    client.call_tool("t", ()).await.unwrap();
    client.list_tools().await.unwrap();
    client.list_tools().refresh_cache().await.unwrap();
    client.call_tool("t", ()).await.unwrap();
    drop(guard);
    assert_eq!(log.warnings().len(), 1, "{:?}", log.warnings());
}
