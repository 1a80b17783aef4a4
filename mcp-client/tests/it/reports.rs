//! What users of other SDKs ran into, as far as no other file has it at its topic.

use mcp_client::testing::{Recorder, Script};
use mcp_client::types::SubscriptionFilter;
use mcp_client::{Change, Client, ClientBuilder, Retry};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};

use crate::support::{Memory, NO_TOOLS, OK, Piece, Reply, Server, call, error, result};

const ACK: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"future":{"x":1}}}}"#;

// H13: what a header says it says once, whatever the caller, the tool and the method have in common.
#[tokio::test]
async fn no_header_of_the_protocol_is_there_twice() {
    let tool = r#"{"name":"t","inputSchema":{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}}"#;
    let list = Reply::json(&result(&format!(r#"{{"tools":[{tool}]}}"#)));
    let server = Server::start([list, Reply::json(&result(OK))]).await;
    let client = server.builder().header("x-one", "1").unwrap().build().unwrap();
    client.list_tools().await.unwrap();
    client.call_tool("t", json!({ "p": "a,b" })).header("x-one", "2").await.unwrap();
    let request = &server.requests()[1];
    for name in [
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-param-p",
        "content-type",
        "accept",
        "host",
        "x-one",
    ] {
        let lines = request.head.lines().filter(|line| line.starts_with(&format!("{name}: ")));
        assert_eq!(lines.count(), 1, "{name}: {}", request.head);
    }
    assert_eq!(request.header("x-one"), Some("2"));
}

// J2: ids of messages made elsewhere are compared by type and value.
#[tokio::test]
async fn ids_are_what_they_are() {
    let ids = [r#""1""#, r#""""#, r#""☃""#, "0", "-1", "9007199254740993", "9223372036854775807"];
    for id in ids {
        let answer = |id: &str| Reply::json(&result(OK).replace("{id}", id));
        let other = if id.starts_with('"') { "1".to_owned() } else { format!("\"{id}\"") };
        let server = Server::start([answer(id), answer(&other)]).await;
        let transport = server.builder().build_transport().unwrap();
        transport.start().unwrap();
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover"}}"#);
        transport.send(message.clone()).await.unwrap();
        let error = transport.send(message).await.unwrap_err();
        assert!(error.is_protocol(), "{id}: {error:?}");
    }
}

// J3: a fraction is no id, not even one that is whole.
#[tokio::test]
async fn fractions_are_no_ids() {
    for id in ["1.0", "1e0", "0.5", "[1]", "true"] {
        let server = Server::start([Reply::json(&result(OK).replace("{id}", id))]).await;
        let error = call(&server.client()).await.unwrap_err();
        assert!(error.is_protocol(), "{id}: {error:?}");
    }
}

// J9, U6, U7: a notification may carry nothing; what comes before the acknowledgment is passed over; of what was wanted
// the part that was granted is told, and what is unknown is no harm.
#[tokio::test]
async fn notifications_may_be_bare() {
    let bare = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed"{params}}}"#)
    };
    let early = bare(r#","params":{"early":true}"#);
    let messages = [&*early, ACK, &bare(""), &bare(r#","params":{}"#)];
    let server = Server::start([Reply::open_sse(&messages)]).await;
    let filter = SubscriptionFilter::new().tools().prompts();
    let mut changes = server.client().listen(filter).await.unwrap();
    let granted = changes.acknowledged();
    assert!(granted.tools_list_changed == Some(true) && granted.prompts_list_changed.is_none());
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(changes.next().await, Some(Change::Tools));
}

// J16: both codes of a resource that is not there, and which one it is.
#[tokio::test]
async fn a_resource_that_is_not_there() {
    for code in [-32602, -32002] {
        let gone = Reply::json(&error(code, r#"{"uri":"a:b"}"#));
        let server = Server::start([gone]).await;
        let error = server.client().read_resource("a:b").await.unwrap_err();
        assert_eq!(error.rpc().unwrap().as_resource_not_found().unwrap().uri, "a:b");
    }
}

// L3, L5: the first contact fails for what it is: rights, an answer of another revision, a page.
#[tokio::test]
async fn a_first_contact_that_fails_says_why() {
    let challenge = r#"www-authenticate: Bearer error="insufficient_scope""#;
    let refused = |status| Reply::head(status, &format!("{challenge}\r\n"), "");
    for reply in [refused("401 Unauthorized"), refused("403 Forbidden")] {
        let server = Server::start([reply]).await;
        let error = server.client().discover().await.unwrap_err();
        assert!(error.is_auth() && error.www_authenticate().count() == 1, "{error:?}");
        assert_eq!(server.requests().len(), 1);
    }
    let old = r#"{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    let server = Server::start([Reply::json(&result(old))]).await;
    let error = server.client().discover().await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(error.is_protocol() && why.contains("supportedVersions"), "{why}");
}

// O11: credentials of the client go with every kind of request: lists made for the headers, repeated calls, rounds of
// input, subscriptions.
#[tokio::test]
async fn credentials_go_with_every_request() {
    let mismatch = Reply::body("400 Bad Request", "application/json", &error(-32020, "null"));
    let asking = result(r#"{"resultType":"input_required","requestState":"s"}"#);
    let old = error(-32022, r#"{"supported":["2026-07-28"],"requested":"2099-01-01"}"#);
    let old = Reply::body("400 Bad Request", "application/json", &old);
    let server = Server::start([
        Reply::raw("").close(),
        old,
        mismatch,
        Reply::json(&result(NO_TOOLS)),
        Reply::json(&asking),
        Reply::json(&result(OK)),
        Reply::open_sse(&[ACK]),
    ])
    .await;
    let retry = Retry::new().backoff(mcp_client::Backoff::new().first(std::time::Duration::ZERO));
    let builder = server.builder().protocol_version("2099-01-01").retry(retry);
    let client = builder.header("authorization", "Bearer x").unwrap().build().unwrap();
    client.call_tool("t", ()).idempotent().await.unwrap();
    let _changes = client.listen(SubscriptionFilter::new()).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 7);
    assert!(requests.iter().all(|request| request.header("authorization") == Some("Bearer x")));
}

// O19: HTTP of the caller's own sees every request there is.
#[tokio::test]
async fn a_service_sees_every_request() {
    let ack: Value = serde_json::from_str(ACK).unwrap();
    let script = Script::new([
        mcp_client::testing::Reply::result(&json!({ "tools": [] })),
        mcp_client::testing::Reply::result(&json!({ "content": [] })),
        mcp_client::testing::Reply::stream()
            .then_notify("notifications/subscriptions/acknowledged", &ack["params"]),
    ]);
    let recorder = Recorder::new(script);
    let client = Client::builder("http://h/mcp").service(recorder.clone()).build().unwrap();
    client.list_tools().await.unwrap();
    client.call_tool("t", ()).await.unwrap();
    drop(client.listen(SubscriptionFilter::new()).await.unwrap());
    let methods: Vec<_> = recorder.requests().iter().map(|request| request.method()).collect();
    assert_eq!(methods, ["tools/list", "tools/call", "subscriptions/listen"]);
}

// D12: one clone that is dropped is no end for the others, nor for the calls that it made.
#[tokio::test]
async fn clones_outlive_each_other() {
    let (ours, theirs) = duplex(1 << 16);
    let (reader, writer) = split(ours);
    let client = ClientBuilder::over(reader, writer).probe(false).build().unwrap();
    let (lines, mut answers) = split(theirs);
    let serve = async move {
        let mut lines = BufReader::new(lines).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            let answer = result(OK).replace("{id}", &message["id"].to_string());
            answers.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    };
    let use_clones = async move {
        let clone = client.clone();
        let made = client.call_tool("t", ());
        drop(client);
        made.await.unwrap();
        assert_eq!(call(&clone).await.unwrap(), "ok");
    };
    // The stream ends with the last clone.
    tokio::join!(serve, use_clones);
}

// X1, X2, X5: schemas of all kinds are the reader's to judge; none is touched, none is looked up.
#[tokio::test]
async fn tools_with_any_schema_are_listed() {
    let schemas = [
        r#"{"type":"object","properties":{"a":{"type":"string","nullable":true}}}"#,
        r#"{"type":"object","properties":{"a":{"type":["string","null"]}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"unknown"}}}"#,
        r##"{"type":"object","properties":{"a":{"$ref":"#/definitions/x"}}}"##,
        r#"{"oneOf":[{"type":"object"}]}"#,
        r#"{"$ref":"http://127.0.0.1:1/x.json"}"#,
    ];
    let tools = schemas
        .iter()
        .enumerate()
        .map(|(nth, schema)| format!(r#"{{"name":"{nth}","inputSchema":{schema}}}"#));
    let tools = tools.collect::<Vec<_>>().join(",");
    let list = Piece::Data(result(&format!(r#"{{"tools":[{tools}]}}"#)));
    let client = Memory::new([("application/json", vec![list])]).client();
    let listed = client.list_tools().await.unwrap().tools;
    let found: Vec<_> = listed.iter().map(|tool| tool.input_schema.get()).collect();
    assert_eq!(found, schemas);
}
