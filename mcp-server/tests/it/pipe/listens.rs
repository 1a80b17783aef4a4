//! Subscriptions that share a stream, told apart by their ids.

use mcp_server::{Announces, Notify};

use super::*;

fn announcing() -> ServerBuilder {
    let all = Announces::new().tools().prompts().resources().resource_updates();
    builder().announces(all).tools([ok(), echo()])
}

fn of(id: &Value) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

fn tools_changed(id: &Value) -> Value {
    let method = "notifications/tools/list_changed";
    json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": of(id) } })
}

async fn listen(pipe: &mut Lines, id: &str, notifications: Value) {
    pipe.send(id, "subscriptions/listen", json!({ "notifications": notifications })).await;
    let acknowledged = pipe.message().await;
    let id = serde_json::from_str(id).unwrap();
    assert_eq!(
        acknowledged,
        json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": { "_meta": of(&id), "notifications": notifications },
        })
    );
}

/// A subscription over a stream that goes on has its result, and is cancelled. Specification: Subscriptions, Graceful
/// Closure; Cancellation.
fn is_end_of([result, cancelled]: [&Value; 2], id: &Value) -> bool {
    *cancelled == cancellation(id) && is_result_of(result, id)
}

fn cancellation(id: &Value) -> Value {
    let params = json!({ "_meta": of(id), "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

fn is_result_of(message: &Value, id: &Value) -> bool {
    message["id"] == *id
        && message["result"]["resultType"] == "complete"
        && message["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == *id
}

/// U4: each under its own id, which keeps its form; a cancelled one is not heard of again; the end is a result.
#[tokio::test]
async fn subscriptions_share_the_stream() {
    let server = announcing().build().unwrap();
    let notify = server.notify();
    let mut pipe = Lines::serve(&server);
    listen(&mut pipe, "7", json!({ "toolsListChanged": true })).await;
    listen(&mut pipe, "\"7\"", json!({ "toolsListChanged": true, "promptsListChanged": true }))
        .await;
    listen(&mut pipe, "\"ü\"", json!({ "resourceSubscriptions": ["file:///a"] })).await;
    notify.tools_changed();
    let mut heard = [pipe.message().await, pipe.message().await];
    heard.sort_by_key(ToString::to_string);
    assert_eq!(heard, [tools_changed(&json!("7")), tools_changed(&json!(7))]);
    notify.resource_updated("file:///b");
    notify.resource_updated("file:///a");
    let updated = pipe.message().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"], json!({ "_meta": of(&json!("ü")), "uri": "file:///a" }));
    pipe.is_quiet().await;

    pipe.cancel("7").await;
    pipe.is_quiet().await;
    notify.tools_changed();
    assert_eq!(pipe.message().await, tools_changed(&json!("7")));
    pipe.is_quiet().await;

    pipe.end().await;
    let ended = pipe.rest().await;
    assert_eq!(ended.len(), 4);
    for id in [json!("7"), json!("ü")] {
        let at = ended.iter().position(|it| *it == cancellation(&id)).expect("it is cancelled");
        assert!(is_result_of(&ended[at - 1], &id), "{ended:?}");
    }
    pipe.ended().await.unwrap();
}

/// A tool that changes something while it is at work.
#[tokio::test]
async fn a_handler_tells_those_who_listen() {
    let changes = Tool::new("changes", async |notify: Notify| {
        notify.tools_changed();
        "changed"
    });
    let server = announcing().tool(changes).build().unwrap();
    let mut pipe = Lines::serve(&server);
    let mut other = Lines::serve(&server);
    listen(&mut pipe, "1", json!({ "toolsListChanged": true })).await;
    listen(&mut other, "1", json!({ "toolsListChanged": true })).await;
    pipe.call("2", "changes", json!({})).await;
    let mut heard = [pipe.message().await, pipe.message().await];
    heard.sort_by_key(|message| message["id"].as_i64());
    assert_eq!(heard[0], tools_changed(&json!(1)));
    assert_eq!(text(&heard[1]), "changed");
    assert_eq!(other.message().await, tools_changed(&json!(1)));
    // The end of one connection is none of the other's.
    pipe.end().await;
    assert!(is_end_of([&pipe.message().await, &pipe.message().await], &json!(1)));
    other.is_quiet().await;
}

#[tokio::test]
async fn what_is_not_granted_ends_at_once() {
    let mut pipe = Lines::serve(&server([ok()]));
    pipe.send(
        "1",
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
    )
    .await;
    assert_eq!(pipe.message().await["params"]["notifications"], json!({}));
    assert!(is_end_of([&pipe.message().await, &pipe.message().await], &json!(1)));
    pipe.send("1", "subscriptions/listen", json!({ "notifications": [] })).await;
    assert_eq!(error(&pipe.message().await), (-32602, Some(&json!(1))));
}

#[tokio::test]
async fn subscriptions_are_limited() {
    let server =
        announcing().limits(limits(|limits| limits.listens_per_caller = 2)).build().unwrap();
    let mut pipe = Lines::serve(&server);
    let tools = json!({ "toolsListChanged": true });
    for _ in 0..3 {
        listen(&mut pipe, "1", tools.clone()).await;
        listen(&mut pipe, "2", tools.clone()).await;
        pipe.send("3", "subscriptions/listen", json!({ "notifications": tools })).await;
        assert_eq!(error(&pipe.message().await), (-32603, Some(&json!(3))));
        // They are no calls.
        pipe.is_quiet().await;
        pipe.cancel("1").await;
        pipe.cancel("2").await;
    }
}

/// U10: of changes that are alike a client that does not read hears once; when there are too many different ones it is
/// told that the subscription is over, since there is no stream of its own to break off.
#[tokio::test]
async fn a_client_that_does_not_read_loses_its_subscription() {
    let large = Tool::new("large", async || "x".repeat(1 << 16));
    let limits = limits(|limits| limits.queued_events = 2);
    let server = announcing().tool(large).limits(limits).build().unwrap();
    let notify = server.notify();
    let mut pipe = Lines::serve_with(&server, 4096, |serve| serve);
    listen(&mut pipe, "1", json!({ "toolsListChanged": true })).await;
    let uris = json!(["a:1", "a:2", "a:3"]);
    listen(&mut pipe, "2", json!({ "resourceSubscriptions": uris })).await;
    pipe.call("3", "large", json!({})).await;
    // Writing has begun, and can only go on when more is read.
    let buffered = within(pipe.reader.fill_buf()).await;
    assert!(!buffered.unwrap().is_empty());
    for _ in 0..1000 {
        notify.tools_changed();
    }
    for uri in ["a:1", "a:2", "a:3"] {
        notify.resource_updated(uri);
    }
    assert_eq!(pipe.message().await["id"], 3);
    let mut heard = [pipe.message().await, pipe.message().await];
    heard.sort_by_key(|message| message["method"].as_str().map(str::to_owned));
    assert_eq!(heard[0], cancellation(&json!(2)));
    assert_eq!(heard[1], tools_changed(&json!(1)));
    pipe.is_quiet().await;
    listen(&mut pipe, "2", json!({ "resourceSubscriptions": uris })).await;
}

/// A signal ends subscriptions with their result as well.
#[tokio::test]
async fn a_signal_ends_subscriptions() {
    let go = Bell::new();
    let signal = go.clone();
    let server = announcing().build().unwrap();
    let notify = server.notify();
    let mut pipe = Lines::serve_with(&server, 1 << 16, |serve| {
        serve.shutdown_on(async move { signal.wait().await })
    });
    listen(&mut pipe, "1", json!({ "toolsListChanged": true })).await;
    notify.tools_changed();
    go.ring();
    let rest = pipe.rest().await;
    assert_eq!(rest[0], tools_changed(&json!(1)));
    assert!(is_end_of([&rest[1], &rest[2]], &json!(1)) && rest.len() == 3, "{rest:?}");
    pipe.ended().await.unwrap();
}
