//! Agreeing on a version.

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
