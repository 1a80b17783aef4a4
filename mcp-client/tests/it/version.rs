//! Agreeing on a version, and servers that speak no version of this kind.

use mcp_client::Error;
use mcp_client::types::SubscriptionFilter;

use crate::support::{NO_TOOLS, OK, Reply, Server, call, error, result};

fn refusal(supported: &str) -> Reply {
    let data = format!(r#"{{"supported":{supported},"requested":"x"}}"#);
    Reply::body("400 Bad Request", "application/json", &error(-32022, &data))
}

// H8: the header and the body say the same, also in the second attempt.
#[tokio::test]
async fn a_version_of_both_is_taken_up() {
    let server = Server::start([
        refusal(r#"["2099-01-01","2026-07-28","2025-11-25"]"#),
        Reply::json(&result(OK)),
        Reply::json(&result(NO_TOOLS)),
    ])
    .await;
    let client = server.builder().protocol_version("2026-12-31").build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    client.list_tools().await.unwrap();
    assert_eq!(client.protocol_version().as_str(), "2026-07-28");

    let requests = server.requests();
    let versions: Vec<_> = requests
        .iter()
        .map(|request| {
            let version = request.header("mcp-protocol-version").unwrap();
            let meta = &request.json()["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], version);
            version
        })
        .collect();
    assert_eq!(versions, ["2026-12-31", "2026-07-28", "2026-07-28"]);
    let ids: Vec<_> = requests.iter().map(|request| request.json()["id"].clone()).collect();
    assert_eq!(ids, [1, 2, 3]);
}

#[tokio::test]
async fn the_version_in_use_may_be_what_is_offered() {
    let replies = [refusal(r#"["2026-07-28"]"#), Reply::json(&result(OK))];
    let server = Server::start(replies).await;
    assert_eq!(call(&server.client()).await.unwrap(), "ok");
}

#[tokio::test]
async fn once_is_enough() {
    let server = Server::start((0..5).map(|_| refusal(r#"["2026-07-28"]"#))).await;
    let error = call(&server.client()).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code.0, -32022);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn no_version_in_common_is_an_error() {
    for supported in [r#"["2025-11-25"]"#, "[]", r#""2026-07-28""#, "null"] {
        let server = Server::start([refusal(supported)]).await;
        let error = call(&server.client()).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32022, "{supported}");
        assert_eq!(error.status().unwrap(), 400);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_version_that_the_caller_chose_stays() {
    let server = Server::start([refusal(r#"["2026-07-28"]"#)]).await;
    let mut params = mcp_client::types::CallToolParams::new("t");
    params.meta.protocol_version = Some("2026-12-31".into());
    let call = server.client().call::<mcp_client::types::request::CallTool>(params);
    assert!(call.await.unwrap_err().rpc().is_some());
    assert_eq!(server.requests()[0].header("mcp-protocol-version"), Some("2026-12-31"));
}

#[test]
fn handshakes_are_not_spoken() {
    let builder = mcp_client::Client::builder("http://h/").protocol_version("2025-11-25");
    assert!(builder.build().unwrap_err().is_usage());
}

/// What the server answers, and whether that is an answer of earlier revisions: to discovery, to anything else.
const ANSWERS: [(&str, &str, bool, bool); 16] = [
    ("400 Bad Request", r#"{"code":-32000,"message":"Server not initialized"}"#, true, true),
    ("400 Bad Request", r#"{"code":-32600,"message":"Missing session ID"}"#, true, false),
    ("400 Bad Request", r#"{"code":-32602,"message":"Invalid params"}"#, true, false),
    ("400 Bad Request", "", true, true),
    ("400 Bad Request", "no message", true, true),
    ("400 Bad Request", r#"{"code":-32020,"message":""}"#, false, false),
    (
        "400 Bad Request",
        r#"{"code":-32021,"message":"","data":{"requiredCapabilities":{}}}"#,
        false,
        false,
    ),
    (
        "400 Bad Request",
        r#"{"code":-32022,"message":"","data":{"supported":["2099-01-01"],"requested":"x"}}"#,
        false,
        false,
    ),
    (
        "400 Bad Request",
        r#"{"code":-32022,"message":"","data":{"supported":["2025-11-25"],"requested":"x"}}"#,
        true,
        true,
    ),
    ("404 Not Found", r#"{"code":-32601,"message":"Method not found"}"#, true, false),
    ("200 OK", r#"{"code":-32601,"message":"Method not found"}"#, true, false),
    ("200 OK", r#"{"code":-32603,"message":"out of order"}"#, false, false),
    // L3: the rights are another matter.
    ("401 Unauthorized", "", false, false),
    ("403 Forbidden", r#"{"code":-32000,"message":"no"}"#, false, false),
    ("404 Not Found", "", false, false),
    ("503 Service Unavailable", r#"{"code":-32000,"message":"busy"}"#, false, false),
];

#[tokio::test]
async fn a_server_of_earlier_revisions_is_told() {
    for (status, error, by_discovery, by_others) in ANSWERS {
        let reply = || match error.strip_prefix('{') {
            Some(_) => {
                let message = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#);
                Reply::body(status, "application/json", &message)
            }
            None => Reply::body(status, "text/plain", error),
        };
        let check = |method: &str, told: &Error, is_legacy: bool| {
            assert!(status.starts_with(told.status().unwrap().as_str()), "{method}: {told}");
            assert_eq!(told.is_legacy(), is_legacy, "{method}, {status}, {error}");
            assert_eq!(told.to_string().contains("earlier revisions"), is_legacy, "{told}");
            assert_eq!(told.rpc().is_some(), error.starts_with('{'), "what it said is there");
        };
        // One more: the tools are listed when headers are refused.
        let server = Server::start((0..4).map(|_| reply())).await;
        let client = server.client();
        check("discover", &client.discover().await.unwrap_err(), by_discovery);
        check("call", &call(&client).await.unwrap_err(), by_others);
        let filter = SubscriptionFilter::new().tools();
        check("listen", &client.listen(filter).await.unwrap_err(), by_others);
    }
}
