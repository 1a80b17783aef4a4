//! Subscriptions: what is sent, what is heard, how they end.

use std::time::Duration;

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Backoff, Change, Changes, End, Error};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Memory, Piece, Reply, Server, error, item, result};

const SECOND: Duration = Duration::from_secs(1);
const ACK: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":{id}},"notifications":{"toolsListChanged":true}}}"#;
const END: &str =
    r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":{id}}}"#;

fn notification(method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{{id}}}}{more}}}}}"#
    )
}

fn tools() -> String {
    notification("tools/list_changed", "")
}

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().tools().resource("a:b")
}

/// Everything until the end.
async fn heard(changes: &mut Changes) -> Vec<Change> {
    let mut heard = Vec::new();
    while let Some(change) = changes.next().await {
        heard.push(change);
    }
    heard
}

async fn listen(messages: &[&str]) -> Changes {
    let server = Server::start([Reply::sse(messages)]).await;
    server.client().listen(filter()).await.unwrap()
}

fn lost(changes: &Changes) -> &Error {
    match changes.end() {
        Some(End::Lost(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn changes_are_typed() {
    let messages = [
        ACK.to_owned(),
        tools(),
        notification("prompts/list_changed", ""),
        notification("resources/list_changed", ""),
        notification("resources/updated", r#","uri":"a:b/c""#),
        notification("resources/updated", r#","uri":5"#),
        notification("progress", r#","progressToken":1,"progress":1"#),
        notification("cancelled", r#","requestId":99"#),
        r#"{"jsonrpc":"2.0","method":"x/y"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#.to_owned(),
        ACK.to_owned(),
        // U4: the stream says whose it is.
        tools().replace("{id}", "\"1\""),
        result(END),
    ];
    let messages: Vec<_> = messages.iter().map(String::as_str).collect();
    let server = Server::start([Reply::sse(&messages)]).await;
    let mut changes = server.client().listen(filter()).header("x-own", "1").await.unwrap();
    assert_eq!(*changes.acknowledged(), SubscriptionFilter::new().tools());
    assert!(changes.end().is_none());

    let heard = heard(&mut changes).await;
    let [
        Change::Tools,
        Change::Prompts,
        Change::Resources,
        Change::Resource(updated),
        other,
        Change::Tools,
    ] = &heard[..]
    else {
        panic!("{heard:?}");
    };
    assert_eq!(updated.uri, "a:b/c");
    let Change::Other { method, params } = other else { panic!("{other:?}") };
    assert_eq!((method.as_str(), params.get()), ("x/y", "{}"));
    assert!(matches!(changes.end(), Some(End::Graceful)));
    assert!(changes.next().await.is_none());

    let request = &server.requests()[0];
    assert_eq!(request.header("mcp-method"), Some("subscriptions/listen"));
    assert_eq!(request.header("x-own"), Some("1"));
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]});
    assert_eq!(request.json()["params"]["notifications"], wanted);
    assert!(!request.body.contains("null"));
}

// U9: the last result need not say who the server is.
#[tokio::test]
async fn every_end_is_told() {
    let failed = error(-32603, "null");
    let foreign = result(END).replace("\"id\":{id}", "\"id\":99");
    let cancelled = notification("cancelled", r#","requestId":{id}"#);
    let table = [
        ("result", result(END), None),
        ("cancelled", cancelled, None),
        ("error", failed, Some("-32603")),
        ("wrong id", foreign, Some("request 99")),
        ("garbage", "{".to_owned(), Some("no JSON-RPC")),
    ];
    for (name, last, expected) in table {
        let mut changes = listen(&[ACK, &tools(), &last, &tools()]).await;
        assert_eq!(heard(&mut changes).await, [Change::Tools], "{name}");
        match (changes.end(), expected) {
            (Some(End::Graceful), None) => {}
            (Some(End::Lost(error)), Some(part)) => {
                assert!(error.to_string().contains(part), "{name}: {error}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let mut changes = listen(&[ACK]).await;
    assert!(heard(&mut changes).await.is_empty());
    assert!(lost(&changes).is_protocol());

    let cut = Reply::chunks([format!("data: {ACK}\n\n")]).close();
    let server = Server::start([cut]).await;
    let mut changes = server.client().listen(filter()).await.unwrap();
    assert!(heard(&mut changes).await.is_empty());
    assert!(lost(&changes).is_transport());
}

#[tokio::test]
async fn what_does_not_begin_is_an_error() {
    let refused = error(-32601, "null");
    let refused = Reply::body("404 Not Found", "application/json", &refused);
    let table = [
        ("refused", refused, "(-32601)"),
        ("JSON", Reply::json(&result(END)), "before it began"),
        ("ended", Reply::sse(&[&result(END)]), "before it began"),
        ("empty", Reply::sse(&[]), "before it began"),
        ("error", Reply::sse(&[&error(-32602, "null")]), "(-32602)"),
        ("malformed", Reply::sse(&[&ACK.replace("true", "5")]), "not what"),
        ("login", Reply::body("200 OK", "text/html", "<html>"), "text/html"),
    ];
    for (name, reply, part) in table {
        let server = Server::start([reply]).await;
        let error = server.client().listen(filter()).await.unwrap_err();
        assert!(error.to_string().contains(part), "{name}: {error}");
        assert!(error.status().is_some(), "{name}");
    }
    let server = Server::start([]).await;
    let listen = server.client().listen(filter()).header("mcp-method", "x");
    assert!(listen.await.unwrap_err().is_usage());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn another_version_is_tried() {
    let data = r#"{"supported":["2026-07-28"],"requested":"2030-01-01"}"#;
    let refused = Reply::body("400 Bad Request", "application/json", &error(-32022, data));
    let server = Server::start([refused, Reply::sse(&[ACK, &result(END)])]).await;
    let client = server.builder().protocol_version("2030-01-01").build().unwrap();
    drop(client.listen(filter()).await.unwrap());
    assert_eq!(server.requests()[1].header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(server.requests()[1].json()["id"], 2);
}

#[tokio::test]
async fn closing_closes_the_connection() {
    let server = Server::start([Reply::open_sse(&[ACK]), Reply::open_sse(&[ACK])]).await;
    let mut changes = server.client().listen(filter()).await.unwrap();
    changes.close();
    server.closed().await;
    assert!(changes.next().await.is_none());
    changes.close();
    assert!(matches!(changes.end(), Some(End::Closed)));

    let changes = server.client().listen(filter()).await.unwrap();
    drop(changes);
    server.closed().await;
    // H10: no message tells of it.
    assert_eq!(server.methods(), ["subscriptions/listen"; 2]);
}

// Several at once, on their own streams.
#[tokio::test]
async fn subscriptions_do_not_mix() {
    let streams = [Reply::sse(&[ACK, &tools(), &result(END)]), Reply::sse(&[ACK, &result(END)])];
    let server = Server::start(streams).await;
    let client = server.client();
    let mut first = client.listen(filter()).await.unwrap();
    let mut second = client.listen(SubscriptionFilter::new().prompts()).await.unwrap();
    assert!(heard(&mut second).await.is_empty());
    assert_eq!(heard(&mut first).await, [Change::Tools]);
}

fn stream(pieces: impl IntoIterator<Item = Piece>) -> (&'static str, Vec<Piece>) {
    ("text/event-stream", [Piece::event(ACK)].into_iter().chain(pieces).collect())
}

#[tokio::test(start_paused = true)]
async fn the_timeout_is_for_the_acknowledgment_alone() {
    let memory = Memory::sse(vec![Piece::Hang]);
    let since = Instant::now();
    let error = memory.client().listen(filter()).timeout(2 * SECOND).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(since.elapsed(), 2 * SECOND);

    let day = 24 * 60 * 60 * SECOND;
    let memory = Memory::new([stream([Piece::Wait(day), Piece::event(&tools())])]);
    let mut changes = memory.client().listen(filter()).await.unwrap();
    assert_eq!(changes.next().await, Some(Change::Tools));
}

// U2: comments are signs of life, silence is not.
#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_lost() {
    let comment = [Piece::Wait(15 * SECOND), Piece::Data(":\n\n".to_owned())];
    let comments = std::iter::repeat_n(comment, 20).flatten();
    let memory = Memory::new([stream(comments.chain([Piece::Hang]))]);
    let mut changes = memory.client().listen(filter()).lost_after(40 * SECOND).await.unwrap();
    let since = Instant::now();
    assert!(changes.next().await.is_none());
    assert!(lost(&changes).is_timeout());
    assert_eq!(since.elapsed(), (20 * 15 + 40) * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_lost_subscription_is_opened_again() {
    let end = || Piece::event(&result(END));
    let memory = Memory::new([
        stream([Piece::event(&tools()), Piece::Fail]),
        // Not acknowledged at first.
        ("text/event-stream", vec![]),
        stream([end()]),
        stream([Piece::event(&tools()), Piece::Hang]),
    ]);
    let backoff = Backoff::new().first(SECOND).most(10 * SECOND);
    let mut changes = memory.client().listen(filter()).relisten(backoff).await.unwrap();
    assert_eq!(changes.next().await, Some(Change::Tools));
    let since = Instant::now();
    assert_eq!(changes.next().await, Some(Change::Stale));
    // A second and two, each shortened by a half at the most.
    assert!((1500..=3001).contains(&since.elapsed().as_millis()), "{:?}", since.elapsed());
    let since = Instant::now();
    assert_eq!(changes.next().await, Some(Change::Stale));
    assert!((2000..=4001).contains(&since.elapsed().as_millis()), "{:?}", since.elapsed());
    assert_eq!(changes.next().await, Some(Change::Tools));
    // Waiting can be given up without harm.
    tokio::time::timeout(SECOND, changes.next()).await.unwrap_err();
    assert!(changes.end().is_none());
    changes.close();
    assert!(matches!(changes.end(), Some(End::Closed)));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_tried_again() {
    let gone = ("application/json", vec![Piece::Data(error(-32601, "null"))]);
    let memory = Memory::new([stream([Piece::Fail]), gone, stream([])]);
    let mut changes = memory.client().listen(filter()).relisten(Backoff::default()).await.unwrap();
    assert!(changes.next().await.is_none());
    assert_eq!(lost(&changes).rpc().unwrap().code.0, -32601);
}

#[tokio::test(start_paused = true)]
async fn pauses_begin_anew_once_a_stream_held() {
    let backoff = Backoff::new().first(SECOND).most(64 * SECOND);
    let short = || stream([]);
    let long = stream([Piece::Wait(64 * SECOND)]);
    let memory = Memory::new([short(), short(), short(), long, stream([Piece::Hang])]);
    let mut changes = memory.client().listen(filter()).relisten(backoff).await.unwrap();
    for _ in 0..3 {
        assert_eq!(changes.next().await, Some(Change::Stale));
    }
    let since = Instant::now();
    assert_eq!(changes.next().await, Some(Change::Stale));
    assert!(since.elapsed() <= 65 * SECOND + Duration::from_millis(2), "{:?}", since.elapsed());
}

#[tokio::test]
async fn changes_are_a_stream() {
    let mut changes = listen(&[ACK, &tools(), &result(END)]).await;
    assert_eq!(item(&mut changes).await, Some(Change::Tools));
    assert!(item(&mut changes).await.is_none());
    assert!(matches!(changes.end(), Some(End::Graceful)));
}

// A server that always has more leaves the thread to others now and then.
#[tokio::test]
async fn a_flood_of_changes_holds_up_nobody() {
    let ack = notification("subscriptions/acknowledged", r#","notifications":{}"#);
    let change = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let flood = Piece::Flood(format!("data: {change}\n\n"));
    let client = Memory::sse(vec![Piece::event(&ack), flood]).client();
    let mut changes = client.listen(filter()).await.unwrap();
    let reading = async { while changes.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_millis(20), reading).await.unwrap_err();
    let reading = async { while item(&mut changes).await.is_some() {} };
    tokio::time::timeout(Duration::from_millis(20), reading).await.unwrap_err();
    changes.close();
    for _ in 0..3 {
        assert!(changes.next().await.is_none() && item(&mut changes).await.is_none());
    }
}
