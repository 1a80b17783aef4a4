//! The testing kit, and each of its faults answered by a typed error in bounded time.

use std::time::Duration;

use http::StatusCode;
use mcp_client::testing::{Recorder, Reply, Script};
use mcp_client::types::{ErrorCode, ErrorObject};
use mcp_client::{Change, Client, ClientBuilder, Error, types::SubscriptionFilter};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::call;

fn ok() -> Value {
    json!({ "content": [{ "type": "text", "text": "ok" }] })
}

fn refusal() -> ErrorObject {
    serde_json::from_value(json!({ "code": -32602, "message": "no" })).unwrap()
}

#[tokio::test]
async fn a_script_is_played() {
    let script = Script::new([
        Reply::result(&ok()),
        Reply::stream()
            .then_progress(1.0)
            .then_bytes(":\n\n")
            .then_progress(2.5)
            .then_result(&ok()),
        Reply::error(&refusal()).with_status(StatusCode::BAD_REQUEST),
    ]);
    script.push(
        Reply::stream()
            .then_notify(
                "notifications/subscriptions/acknowledged",
                &json!({ "notifications": {} }),
            )
            .then_notify("notifications/tools/list_changed", &json!({})),
    );
    let client = script.client();
    assert_eq!(call(&client).await.unwrap(), "ok");
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let hear = std::sync::Arc::clone(&heard);
    let call = client.call_tool("t", json!({ "a": 1 }));
    call.on_progress(move |p| hear.lock().unwrap().push(p.progress.as_f64())).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [1.0, 2.5]);
    let error = client.discover().await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
    assert_eq!(error.status(), Some(StatusCode::BAD_REQUEST));
    let mut changes = client.listen(SubscriptionFilter::new()).await.unwrap();
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(script.left(), 0);

    let requests = script.requests();
    let methods: Vec<_> = requests.iter().map(|request| request.method()).collect();
    assert_eq!(methods, ["tools/call", "tools/call", "server/discover", "subscriptions/listen"]);
    assert_eq!(requests[1].json()["params"]["arguments"], json!({ "a": 1 }));
    assert_eq!(requests[1].headers["mcp-name"], "t");
}

type Blame = fn(&Error) -> bool;

// S6, S7, S14, S16, C4: what the network and servers do wrong.
#[tokio::test(start_paused = true)]
async fn each_fault_is_a_typed_error() {
    let second = Duration::from_secs(1);
    let slow = (0..100).fold(Reply::stream(), |slow, _| slow.then_pause(second).then_bytes(":"));
    let table: [(&str, Reply, Blame); 11] = [
        ("no response", Reply::disconnect(), Error::is_transport),
        ("broken at once", Reply::stream().then_break(), Error::is_transport),
        ("broken in between", Reply::stream().then_progress(1.0).then_break(), Error::is_transport),
        ("broken JSON", Reply::raw("application/json", "{").then_break(), Error::is_transport),
        ("ended", Reply::stream().then_progress(1.0), Error::is_protocol),
        ("wrong id", Reply::result(&ok()).with_id("1"), Error::is_protocol),
        ("malformed event", Reply::stream().then_bytes("data: {\n\n"), Error::is_protocol),
        ("empty", Reply::raw("application/json", ""), Error::is_protocol),
        ("page", Reply::raw("text/html", "<html>"), Error::is_protocol),
        ("silent", Reply::stream().then_hang(), Error::is_timeout),
        ("slow bytes", slow, Error::is_timeout),
    ];
    for (name, reply, blame) in table {
        let client = Script::new([reply]).builder().timeout(9 * second).build().unwrap();
        let since = Instant::now();
        let error = call(&client).await.unwrap_err();
        assert!(blame(&error), "{name}: {error:?}");
        assert!(since.elapsed() <= 9 * second, "{name}");
    }
    // No reply is left.
    assert!(call(&Script::new([]).client()).await.unwrap_err().is_transport());
}

#[tokio::test]
async fn a_recorder_notes_what_passes() {
    let script = Script::new([
        Reply::result(&ok()),
        Reply::stream().then_bytes(": hello\n\n").then_result(&ok()),
        Reply::disconnect(),
    ]);
    let recorder = Recorder::new(script);
    let client: Client = ClientBuilder::in_process(recorder.clone()).build().unwrap();
    call(&client).await.unwrap();
    call(&client).await.unwrap();
    call(&client).await.unwrap_err();
    let methods: Vec<_> = recorder.requests().iter().map(|request| request.method()).collect();
    assert_eq!(methods, ["tools/call"; 3]);
    let replies = recorder.replies();
    assert_eq!(replies[0], format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, ok()));
    assert!(replies[1].starts_with(b": hello\n\ndata: {"));
    assert!(replies[2].is_empty());
}
