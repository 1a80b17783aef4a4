//! Answers in streams, with notifications before them.

use std::future::Future;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mcp_client::types::{LoggingLevel, ProgressToken, SubscriptionFilter};

use crate::support::{Memory, OK, Piece, Reply, Server, call, result, text};

fn progress(token: &str, progress: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
}

const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"a":1}}}"#;

// S3, S4, S7, S8, S9, U2: whatever a stream looks like and however it is cut.
#[tokio::test]
async fn the_response_is_found() {
    let ok = format!("data: {}\n\n", result(OK));
    let pretty = "data: {\ndata:  \"jsonrpc\": \"2.0\",\ndata:\"id\": {id},\ndata: \"result\":\n\
        data:{\"content\":[{\"type\":\"text\",\ndata: \"text\":\"ok\"}]}}\n\n";
    let notes = format!("data: {LOG}\n\n").repeat(3);
    let big = format!(
        "data: {{\"jsonrpc\":\"2.0\",\"id\":{{id}},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"ok\"}}],\"_meta\":{{\"x/y\":\"{}\"}}}}}}\n\n",
        "x".repeat(10 << 20)
    );
    let unasked = r#"data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#;
    let table = [
        ("plain", ok.clone()),
        ("comments", format!(":\n\n: keep-alive\n\n{ok}")),
        ("no data first", format!("id: 1\ndata:\n\n{ok}")),
        ("id, retry, unknown", format!("retry: 5\nid: 7\nwhat: ever\nevent: message\n{ok}")),
        ("another event first", format!("event: ping\ndata: {{}}\n\n{ok}")),
        ("CR", ok.replace('\n', "\r")),
        ("CRLF and BOM", format!("\u{feff}{}", ok.replace('\n', "\r\n"))),
        ("six lines", pretty.to_owned()),
        ("three notifications", format!("{notes}{ok}")),
        ("a request that must not be", format!("{unasked}\n\n{ok}")),
        (
            "an unknown notification",
            format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n\n{ok}"),
        ),
        ("no event behind it counts", format!("{ok}data: garbage\n\n")),
        ("10 MiB", big),
    ];
    for (name, stream) in table {
        let server = Server::start([Reply::chunks([&stream]).ended()]).await;
        assert_eq!(call(&server.client()).await.unwrap(), "ok", "{name}");
        if stream.len() < 5000 {
            let stream = stream.replace("{id}", "1");
            let pieces = stream.as_bytes().chunks(3);
            let server = Server::start([Reply::chunks(pieces).ended()]).await;
            assert_eq!(call(&server.client()).await.unwrap(), "ok", "{name} in pieces");
        }
    }
}

#[tokio::test]
async fn events_that_are_no_messages_are_errors_at_once() {
    let deep = "[".repeat(100_000);
    let foreign = result(OK).replace("{id}", "\"{id}\"");
    for event in ["garbage", "[]", "{}", &deep, &foreign] {
        let server = Server::start([Reply::open_sse(&[event])]).await;
        let error = call(&server.client()).await.unwrap_err();
        assert!(error.is_protocol(), "{error:?}");
        assert_eq!(error.status().unwrap(), 200);
        // Nobody reads on, so nobody keeps the connection.
        server.closed().await;
    }
}

// C6: the token's type is part of it.
#[tokio::test]
async fn callbacks_hear_what_is_theirs_in_order() {
    let messages = [
        progress("1", "0.5"),
        LOG.to_owned(),
        progress("\"1\"", "60"),
        progress("2", "70"),
        progress("1", "\"bad\""),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#.to_owned(),
        progress("1", "50"),
        result(OK),
        progress("1", "99"),
    ];
    let messages: Vec<_> = messages.iter().map(String::as_str).collect();
    let server = Server::start([Reply::sse(&messages), Reply::sse(&messages[1..])]).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (in_progress, in_log) = (Arc::clone(&heard), Arc::clone(&heard));
    let client = server.client();
    let result = client
        .call_tool("t", ())
        .on_progress(move |progress| {
            assert_eq!(progress.progress_token, ProgressToken::from(1));
            in_progress.lock().unwrap().push(progress.progress.to_string());
        })
        .on_log(LoggingLevel::Debug, move |message| {
            assert_eq!(message.level, LoggingLevel::Error);
            in_log.lock().unwrap().push(message.data.to_string());
        })
        .await
        .unwrap();
    assert_eq!(text(&result), "ok");
    assert_eq!(*heard.lock().unwrap(), ["0.5", r#"{"a":1}"#, "50"]);

    // C5: without callbacks they are harmless.
    assert_eq!(call(&client).await.unwrap(), "ok");
}

#[tokio::test]
async fn a_callers_own_token_is_kept() {
    let server = Server::start([Reply::sse(&[&progress("\"mine\"", "1"), &result(OK)])]).await;
    let heard = Arc::new(Mutex::new(0));
    let count = Arc::clone(&heard);
    let mut params = mcp_client::types::CallToolParams::new("t");
    params.meta.progress_token = Some("mine".into());
    let call = server.client().call::<mcp_client::types::request::CallTool>(params);
    call.on_progress(move |_| *count.lock().unwrap() += 1).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), 1);
    assert!(server.requests()[0].body.contains(r#""progressToken":"mine""#));
}

/// What `future` gives, on a runtime with a single thread, which a future that never waits would keep for itself.
fn on_one_thread<T, F>(future: F) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        sender.send(runtime.block_on(future))
    });
    receiver.recv_timeout(Duration::from_secs(30)).expect("it comes to an end")
}

#[test]
fn a_stream_that_never_pauses_keeps_no_thread() {
    const MILLI: Duration = Duration::from_millis(1);
    let flood = Piece::Flood(format!("data: {LOG}\n\n"));

    // Behind the response.
    let memory = Memory::sse(vec![Piece::event(&result(OK)), flood.clone()]);
    let answer = on_one_thread(async move { call(&memory.client()).await });
    assert_eq!(answer.unwrap(), "ok");

    // In its place.
    let memory = Memory::sse(vec![flood.clone()]);
    let answer = on_one_thread(async move {
        call(&memory.builder().total_timeout(100 * MILLI).build().unwrap()).await
    });
    assert!(answer.unwrap_err().is_timeout());

    // Before a subscription is acknowledged.
    let memory = Memory::sse(vec![flood]);
    let listening = on_one_thread(async move {
        let listen = memory.client().listen(SubscriptionFilter::new().tools());
        listen.timeout(100 * MILLI).await.err()
    });
    assert!(listening.unwrap().is_timeout());

    // And behind that, where a progress notification is no change.
    let acknowledged = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#;
    let flood = Piece::Flood(format!("data: {}\n\n", progress("1", "1")));
    let memory = Memory::sse(vec![Piece::event(acknowledged), flood]);
    let change = on_one_thread(async move {
        let filter = SubscriptionFilter::new().tools();
        let mut changes = memory.client().listen(filter).await.unwrap();
        tokio::time::timeout(100 * MILLI, changes.next()).await.is_err()
    });
    assert!(change);
}
