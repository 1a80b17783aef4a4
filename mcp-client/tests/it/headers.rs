//! Headers that callers add.

use mcp_client::Client;

use crate::support::{OK, Reply, Server, result};

#[tokio::test]
async fn the_protocols_own_cannot_be_set() {
    let server = Server::start([Reply::json(&result(OK))]).await;
    let client = server.client();
    for name in
        ["content-type", "Accept", "MCP-Protocol-Version", "mcp-name", "Mcp-Param-X", "host"]
    {
        let error = server.builder().header(name, "x").unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(&name.to_lowercase()), "{error}");
        let error =
            client.call_tool("t", ()).header(name, "x").header("x-ok", "y").await.unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(&name.to_lowercase()), "{error}");
    }
    assert!(server.requests().is_empty());
    client.call_tool("t", ()).header("authorization", "Bearer y").await.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer y"));
}

#[test]
fn secrets_are_not_shown() {
    let builder = Client::builder("http://h/mcp?key=s3cret").header("authorization", "s3cret");
    let builder = builder.unwrap();
    let mut shown = format!("{builder:?}");
    let client = builder.build().unwrap();
    let call = client.call_tool("t", ()).header("x-key", "s3cret");
    shown += &format!("{client:?} {call:?}");
    shown += &format!("{:?}", call.into_future());
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("http://h/mcp"), "{shown}");
}

#[test]
fn urls_that_lead_nowhere() {
    for url in ["", "h/mcp", "ftp://h", "http://u:p@h/"] {
        assert!(Client::http(url).unwrap_err().is_usage(), "{url}");
    }
}
