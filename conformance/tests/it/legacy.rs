//! npm's reference server, which speaks earlier revisions only: our client says so, whatever it is told.

use std::process::Command;

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Client, ClientBuilder, Error};
use serde_json::json;

use crate::interop::TYPESCRIPT;
use crate::steps::runtime;
use crate::support::{Serving, alone, is_installed};

/// Every request is refused for want of a session, whichever it is.
#[test]
fn every_call_over_http_tells_it() {
    let Some(mut server) = everything() else { return };
    let _alone = alone();
    let server = Serving::start(&mut server);
    runtime().block_on(async {
        let client = Client::http(&server.url).unwrap();
        check(&client.discover().await.unwrap_err(), -32000);
        check(&client.list_tools().await.unwrap_err(), -32000);
        check(&client.call_tool("echo", json!({ "message": "hello" })).await.unwrap_err(), -32000);
        check(&client.listen(SubscriptionFilter::new().tools()).await.unwrap_err(), -32000);
    });
    assert_eq!(server.program.end(), [""; 0]);
}

/// The server takes a call for one of its own revision, handshake or not. Discovery is what it does not know, and what it
/// is asked first.
#[test]
fn every_call_over_stdio_tells_it() {
    if everything().is_none() {
        return;
    }
    let _alone = alone();
    let server = || {
        let mut server = everything().unwrap();
        server.arg("--stdio");
        server
    };
    runtime().block_on(async {
        let client = ClientBuilder::spawn(server()).on_stderr(|_| {}).build().unwrap();
        check(&client.list_tools().await.unwrap_err(), -32601);
        check(&client.call_tool("echo", json!({ "message": "hello" })).await.unwrap_err(), -32601);
        check(&client.listen(SubscriptionFilter::new().tools()).await.unwrap_err(), -32601);
        check(&client.discover().await.unwrap_err(), -32601);
        client.close().await;
        let careless = ClientBuilder::spawn(server()).on_stderr(|_| {}).probe(false);
        let client = careless.build().unwrap();
        let echo = client.call_tool("echo", json!({ "message": "hello" })).await.unwrap();
        assert_eq!(echo.content[0].as_text(), Some("Echo: hello"));
        client.close().await;
    });
}

fn check(error: &Error, code: i64) {
    assert!(error.is_legacy(), "{error}");
    assert_eq!(error.rpc().unwrap().code.0, code, "{error}");
}

fn everything() -> Option<Command> {
    let package = "node_modules/@modelcontextprotocol/server-everything/package.json";
    is_installed(package).then(|| TYPESCRIPT.command("js/everything.mjs"))
}
