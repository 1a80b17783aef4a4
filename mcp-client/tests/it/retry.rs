//! Calls that are made again.

use std::time::Duration;

use mcp_client::types::LoggingLevel;
use mcp_client::{Backoff, Client, Retry};
use tokio::time::Instant;

use crate::support::{Memory, OK, Piece, Reply, Server, call, error, result};

const PROMPTS: &str = r#"{"prompts":[]}"#;

fn quick() -> Retry {
    Retry::new().backoff(Backoff::new().first(Duration::ZERO))
}

fn lost() -> [(&'static str, Reply); 6] {
    let busy = |status| Reply::head(status, "", "");
    [
        ("closed", Reply::raw("").close()),
        (
            "cut off",
            Reply::raw(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
            )
            .close(),
        ),
        ("stream without response", Reply::sse(&[])),
        ("429", busy("429 Too Many Requests")),
        ("502", busy("502 Bad Gateway")),
        ("503", busy("503 Service Unavailable")),
    ]
}

#[tokio::test]
async fn what_only_reads_is_called_again() {
    for (name, reply) in lost() {
        let server = Server::start([reply.clone(), reply, Reply::json(&result(PROMPTS))]).await;
        let client = server.builder().retry(quick()).build().unwrap();
        client.list_prompts().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let ids: Vec<_> = server.requests().iter().map(|r| r.json()["id"].clone()).collect();
        // Each under an id of its own.
        assert_eq!(ids, [1, 2, 3], "{name}");
    }
}

#[tokio::test]
async fn a_tool_is_called_again_only_if_it_may_be() {
    for (name, reply) in lost() {
        let server = Server::start([reply.clone(), reply, Reply::json(&result(OK))]).await;
        let client = server.builder().retry(quick()).build().unwrap();
        assert!(call(&client).await.is_err(), "{name}");
        assert_eq!(server.requests().len(), 1);
        client.call_tool("t", ()).idempotent().await.unwrap();
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn other_errors_are_final() {
    let refused = |status, code| Reply::body(status, "application/json", &error(code, "null"));
    let table = [
        ("RPC", Reply::json(&error(-32603, "null"))),
        ("400", refused("400 Bad Request", -32602)),
        ("401", Reply::head("401 Unauthorized", "", "")),
        ("404", Reply::head("404 Not Found", "", "")),
        ("500", Reply::head("500 Oops", "", "")),
        ("garbage", Reply::json("{")),
        ("wrong id", Reply::json(&result(PROMPTS).replace("{id}", "99"))),
    ];
    for (name, reply) in table {
        let server = Server::start([reply, Reply::json(&result(PROMPTS))]).await;
        let client = server.builder().retry(quick()).build().unwrap();
        assert!(client.list_prompts().await.is_err(), "{name}");
        assert_eq!(server.requests().len(), 1, "{name}");
    }
    // Nor is anything called again unasked.
    let server = Server::start([Reply::raw("").close(), Reply::json(&result(PROMPTS))]).await;
    assert!(server.client().list_prompts().await.is_err());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn it_gives_up() {
    let lost = (0..9).map(|_| Reply::raw("").close());
    let server = Server::start(lost).await;
    let client = server.builder().retry(quick().times(3)).build().unwrap();
    assert!(client.list_prompts().await.unwrap_err().is_transport());
    assert_eq!(server.requests().len(), 4);
}

// A state may be good for one use.
#[tokio::test]
async fn a_round_with_input_is_not_repeated() {
    let asking = result(r#"{"resultType":"input_required","requestState":"s"}"#);
    let server = Server::start([Reply::json(&asking), Reply::raw("").close()]).await;
    let client = server.builder().retry(quick()).build().unwrap();
    assert!(client.read_resource("a:b").await.unwrap_err().is_transport());
    assert_eq!(server.requests().len(), 2);
}

/// A connector whose door is shut.
async fn unreachable(retry: Retry, total: Duration) -> (Duration, mcp_client::Error) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::builder(url).retry(retry).total_timeout(total).build().unwrap();
    let since = Instant::now();
    let error = client.call_tool("t", ()).await.unwrap_err();
    (since.elapsed(), error)
}

#[tokio::test]
async fn without_a_connection_every_call_is_made_again() {
    let short = Backoff::new().first(Duration::from_millis(40));
    let (took, error) = unreachable(Retry::new().backoff(short), Duration::from_secs(60)).await;
    assert!(error.is_connect(), "{error:?}");
    assert!(took >= Duration::from_millis(20 + 40), "{took:?}");
    // The total timeout ends the pauses, with the error that was there.
    let long = Backoff::new().first(Duration::from_secs(1000)).most(Duration::from_secs(1000));
    let total = Duration::from_millis(50);
    let (_, error) = unreachable(Retry::new().backoff(long), total).await;
    assert!(error.is_connect(), "{error:?}");
}

#[tokio::test]
async fn retry_after_is_kept_to() {
    let busy = |seconds: &str| Reply::head("503 Busy", &format!("retry-after: {seconds}\r\n"), "");
    let backoff = Backoff::new().first(Duration::ZERO).most(Duration::from_secs(2));
    let retry = Retry::new().backoff(backoff);
    let server = Server::start([busy("1"), Reply::json(&result(PROMPTS))]).await;
    let since = Instant::now();
    let client = server.builder().retry(retry).build().unwrap();
    client.list_prompts().await.unwrap();
    assert!(since.elapsed() >= Duration::from_secs(1));

    // Years as well, however many digits they have.
    for years in ["3", "99999999999", "18446744073709551616", &"9".repeat(1000)] {
        let server = Server::start([busy(years), Reply::json(&result(PROMPTS))]).await;
        let client = server.builder().retry(retry).build().unwrap();
        assert!(client.list_prompts().await.is_err(), "{years}");
    }
    // What is no number of seconds says nothing.
    for nothing in ["-1", "+1000", "", "1e9", "0.5", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let server = Server::start([busy(nothing), Reply::json(&result(PROMPTS))]).await;
        let client = server.builder().retry(retry).build().unwrap();
        client.list_prompts().await.unwrap();
    }
}

// The callbacks of a call go on hearing, whichever attempt it is.
#[tokio::test(start_paused = true)]
async fn what_is_set_on_a_call_counts_for_all_attempts() {
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let memory = Memory::new([
        ("text/event-stream", vec![Piece::event(log), Piece::Fail]),
        ("text/event-stream", vec![Piece::event(log), Piece::event(&result(PROMPTS))]),
    ]);
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let hear = std::sync::Arc::clone(&heard);
    let client = memory.builder().retry(Retry::new()).build().unwrap();
    let list = client.list_prompts().on_log(LoggingLevel::Info, move |_| {
        hear.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    list.await.unwrap();
    assert_eq!(heard.load(std::sync::atomic::Ordering::Relaxed), 2);
}
