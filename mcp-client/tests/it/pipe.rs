//! Byte streams: one message a line, all calls at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{LoggingLevel, RawJson, SubscriptionFilter};
use mcp_client::{Change, Client, ClientBuilder, End, Limits};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf};
use tokio::io::{WriteHalf, duplex, split};

use crate::support::{OK, call, text};

/// The other end of a stream, whose script is the test.
struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Peer {
    fn builder(capacity: usize) -> (ClientBuilder, Self) {
        let (ours, theirs) = duplex(capacity);
        let (reader, writer) = split(ours);
        let (lines, answers) = split(theirs);
        let peer = Self { lines: BufReader::new(lines).lines(), writer: answers };
        // What is asked before all else has tests of its own.
        (ClientBuilder::over(reader, writer).probe(false), peer)
    }

    fn client() -> (Client, Self) {
        let (builder, peer) = Self::builder(1 << 20);
        (builder.build().unwrap(), peer)
    }

    async fn line(&mut self) -> Option<String> {
        self.lines.next_line().await.unwrap()
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.line().await.unwrap()).unwrap()
    }

    async fn write(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
    }

    async fn answer(&mut self, id: &Value, result: &str) {
        self.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")).await;
    }

    async fn notify(&mut self, method: &str, params: &str) {
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\",\"params\":{params}}}\n"
        );
        self.write(&message).await;
    }
}

fn says(what: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{what}"}}]}}"#)
}

#[tokio::test]
async fn a_message_is_a_line() {
    let (client, mut peer) = Peer::client();
    let arguments = RawJson::from_text("{\n \"a\":\r\n 1.0}").unwrap();
    let serve = async {
        let line = peer.line().await.unwrap();
        assert!(!line.contains(['\r', '\n']), "{line}");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["method"], "tools/call");
        assert_eq!(message["params"]["arguments"], json!({"a": 1.0}));
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        // D11: whatever the line ends with.
        peer.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{OK}}}\r\n")).await;
        peer
    };
    let (result, peer) = tokio::join!(client.call_tool("t", arguments), serve);
    assert_eq!(text(&result.unwrap()), "ok");
    drop(peer);
    assert!(format!("{client:?}").contains("byte stream"));
}

#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        let mut ids = Vec::new();
        for _ in 0..3 {
            let message = peer.message().await;
            ids.push((message["id"].clone(), message["params"]["name"].clone()));
        }
        for (id, name) in ids.iter().rev() {
            peer.answer(id, &says(name.as_str().unwrap())).await;
        }
        peer
    };
    let call = async |name: &str| text(&client.call_tool(name, ()).await.unwrap());
    let (a, b, c, _peer) = tokio::join!(call("a"), call("b"), call("c"), serve);
    assert_eq!([a, b, c], ["a", "b", "c"]);
}

#[tokio::test]
async fn notifications_find_their_call() {
    let (client, mut peer) = Peer::client();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let call = |name: &'static str| {
        let (progress, logs) = (Arc::clone(&heard), Arc::clone(&heard));
        client
            .call_tool(name, ())
            .on_progress(move |p| progress.lock().unwrap().push(format!("{name} {}", p.progress)))
            .on_log(LoggingLevel::Info, move |log| {
                logs.lock().unwrap().push(format!("{name} {}", log.data));
            })
    };
    let serve = async {
        let first = peer.message().await;
        let second = peer.message().await;
        for message in [&second, &first] {
            let token = &message["params"]["_meta"]["progressToken"];
            peer.notify("progress", &format!(r#"{{"progressToken":{token},"progress":5}}"#)).await;
            peer.notify("progress", &format!(r#"{{"progressToken":"{token}","progress":6}}"#))
                .await;
        }
        peer.answer(&first["id"], OK).await;
        peer.notify("message", r#"{"level":"info","data":"late"}"#).await;
        peer.answer(&second["id"], OK).await;
        peer
    };
    let (a, b, _peer) = tokio::join!(call("a"), call("b"), serve);
    assert!(a.is_ok() && b.is_ok());
    let mut heard = heard.lock().unwrap().clone();
    heard.sort();
    assert_eq!(heard, ["a 5", "b \"late\"", "b 5"]);
}

// C2, Specification: stdio, Cancellation.
#[tokio::test]
async fn a_dropped_call_is_cancelled() {
    let (client, mut peer) = Peer::client();
    let dropped = tokio::spawn(client.call_tool("slow", ()).into_future());
    let slow = peer.message().await;
    dropped.abort();
    let cancelled = peer.message().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"], json!({"requestId": slow["id"]}));
    assert!(cancelled.get("id").is_none());

    let serve = async {
        let id = peer.message().await["id"].clone();
        // The answer that came too late is nobody's.
        peer.answer(&slow["id"], &says("late")).await;
        peer.answer(&id, OK).await;
        peer
    };
    let (result, mut peer) = tokio::join!(call(&client), serve);
    assert_eq!(result.unwrap(), "ok");
    // What was answered is not cancelled: nothing more is written.
    drop(client);
    assert_eq!(peer.line().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cancelled() {
    let (client, mut peer) = Peer::client();
    let error = client.call_tool("t", ()).timeout(Duration::from_secs(2)).await.unwrap_err();
    assert!(error.is_timeout() && error.status().is_none());
    let id = peer.message().await["id"].clone();
    assert_eq!(peer.message().await["params"]["requestId"], id);
}

// D4, D6, J7
#[tokio::test]
async fn an_answer_that_is_too_long_is_no_timeout() {
    let (builder, mut peer) = Peer::builder(1 << 20);
    let mut limits = Limits::default();
    limits.event = 1000;
    let client = builder.limits(limits).timeout(None).total_timeout(None).build().unwrap();
    let serve = async {
        let id = peer.message().await["id"].clone();
        peer.answer(&id, &says(&"x".repeat(5000))).await;
        // The server is told, for what was passed over may have been something else.
        assert_eq!(peer.message().await["method"], "notifications/cancelled");
        let id = peer.message().await["id"].clone();
        peer.answer(&id, OK).await;
    };
    let calls = async {
        let error = call(&client).await.unwrap_err();
        assert!(error.is_too_large(), "{error:?}");
        assert_eq!(call(&client).await.unwrap(), "ok");
    };
    tokio::join!(serve, calls);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_passed_over() {
    let (builder, mut peer) = Peer::builder(1 << 16);
    let mut limits = Limits::default();
    limits.event = 1000;
    let client = builder.limits(limits).build().unwrap();
    let serve = async {
        peer.write("Server v1.0 is ready!\n\x1b[32mgreen\x1b[0m\n\n  \n[]\n{}\n42\nnull\n").await;
        let ids = [peer.message().await["id"].clone(), peer.message().await["id"].clone()];
        // Nobody knows for which of the two it was, if for any.
        peer.write(&format!("{}\n", "x".repeat(100_000))).await;
        peer.write(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).await;
        peer.write("\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"m\"}}\n").await;
        for _ in 0..2 * Limits::JUNK_WARNINGS {
            peer.write("log line\n").await;
        }
        for id in &ids {
            peer.answer(id, OK).await;
        }
        peer
    };
    let (first, second, _peer) = tokio::join!(call(&client), call(&client), serve);
    assert_eq!([first.unwrap(), second.unwrap()], ["ok", "ok"]);
}

// C10: who waits is told, at once.
#[tokio::test]
async fn the_end_of_the_stream_ends_all() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        peer.message().await;
        peer.message().await;
        drop(peer);
    };
    let listen = client.listen(SubscriptionFilter::new());
    let (result, changes, ()) = tokio::join!(call(&client), listen.into_future(), serve);
    for error in [result.unwrap_err(), changes.unwrap_err()] {
        assert!(error.is_transport() && !error.is_connect(), "{error:?}");
    }
    let error = call(&client).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection to the server has ended");
}

// D9: an answer without a line end behind it is one.
#[tokio::test]
async fn the_last_line_counts() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        let id = peer.message().await["id"].clone();
        peer.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{OK}}}"#)).await;
        drop(peer);
    };
    let (result, ()) = tokio::join!(call(&client), serve);
    assert_eq!(result.unwrap(), "ok");
}

#[tokio::test]
async fn an_error_is_an_answer() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        peer.message().await;
        peer.write(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}\n",
        )
        .await;
        peer
    };
    let (result, _peer) = tokio::join!(call(&client), serve);
    assert_eq!(result.unwrap_err().rpc().unwrap().code.0, -32602);
}

fn of(id: &Value) -> String {
    format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#)
}

// U4: two subscriptions, told apart by their ids.
#[tokio::test]
async fn subscriptions_share_the_stream() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        let first = peer.message().await["id"].clone();
        let second = peer.message().await["id"].clone();
        for id in [&second, &first] {
            let params = format!(r#"{{{},"notifications":{{"toolsListChanged":true}}}}"#, of(id));
            peer.notify("subscriptions/acknowledged", &params).await;
        }
        peer.notify("tools/list_changed", &format!("{{{}}}", of(&first))).await;
        peer.notify("prompts/list_changed", &format!("{{{}}}", of(&second))).await;
        // Of another type, of none, of nobody.
        peer.notify("tools/list_changed", &format!("{{{}}}", of(&json!(first.to_string())))).await;
        peer.notify("tools/list_changed", "{}").await;
        peer.notify("tools/list_changed", &format!("{{{}}}", of(&json!(99)))).await;
        peer.notify("cancelled", &format!(r#"{{"requestId":{second}}}"#)).await;
        (peer, first)
    };
    let filter = || SubscriptionFilter::new().tools();
    let (first, second, (mut peer, id)) = tokio::join!(
        client.listen(filter()).into_future(),
        client.listen(filter()).into_future(),
        serve
    );
    let (mut first, mut second) = (first.unwrap(), second.unwrap());
    assert_eq!(second.next().await, Some(Change::Prompts));
    assert_eq!(second.next().await, None);
    assert!(matches!(second.end(), Some(End::Graceful)));
    assert_eq!(first.next().await, Some(Change::Tools));
    tokio::select! {
        biased;
        change = first.next() => panic!("{change:?}"),
        () = tokio::task::yield_now() => {}
    }
    // The one that the server has ended is not cancelled.
    drop(second);
    first.close();
    let cancelled = peer.message().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], id);
    drop((first, client));
    assert_eq!(peer.line().await, None);
}

// Specification: Cancellation, Behavior Requirements: nothing else is the server's to cancel.
#[tokio::test]
async fn a_server_cancels_subscriptions_alone() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        for _ in 0..2 {
            let id = peer.message().await["id"].clone();
            for params in
                [format!(r#"{{"requestId":{id}}}"#), "{}".into(), r#"{"requestId":[]}"#.into()]
            {
                peer.notify("cancelled", &params).await;
            }
            peer.answer(&id, &OK.replace("content", r#"prompts":[],"content"#)).await;
        }
    };
    let calls = async {
        call(&client).await.unwrap();
        client.list_prompts().await.unwrap();
    };
    tokio::join!(calls, serve);
}

#[tokio::test]
async fn a_subscription_ends_with_its_response() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        let id = peer.message().await["id"].clone();
        let params = format!(r#"{{{},"notifications":{{}}}}"#, of(&id));
        peer.notify("subscriptions/acknowledged", &params).await;
        peer.answer(&id, &format!("{{{}}}", of(&id))).await;
        peer
    };
    let (changes, mut peer) =
        tokio::join!(client.listen(SubscriptionFilter::new()).into_future(), serve);
    let mut changes = changes.unwrap();
    assert_eq!(changes.next().await, None);
    assert!(matches!(changes.end(), Some(End::Graceful)));
    drop((changes, client));
    assert_eq!(peer.line().await, None);
}

// U10: a subscription that nobody reads holds up nobody, and takes bounded memory.
#[tokio::test]
async fn an_unread_subscription_is_lost() {
    let (client, mut peer) = Peer::client();
    let serve = async {
        let id = peer.message().await["id"].clone();
        let params = format!(r#"{{{},"notifications":{{}}}}"#, of(&id));
        peer.notify("subscriptions/acknowledged", &params).await;
        (peer, id)
    };
    let listen = client.listen(SubscriptionFilter::new()).into_future();
    let (changes, (mut peer, id)) = tokio::join!(listen, serve);
    let mut changes = changes.unwrap();
    let serve = async {
        for _ in 0..=Limits::PIPE_MESSAGES {
            peer.notify("tools/list_changed", &format!("{{{}}}", of(&id))).await;
        }
        let id = peer.message().await["id"].clone();
        peer.answer(&id, OK).await;
        peer
    };
    let (result, _peer) = tokio::join!(call(&client), serve);
    assert_eq!(result.unwrap(), "ok");
    let mut heard = 0;
    while changes.next().await.is_some() {
        heard += 1;
    }
    assert_eq!(heard, Limits::PIPE_MESSAGES);
    let Some(End::Lost(error)) = changes.end() else { panic!("{changes:?}") };
    assert_eq!(error.to_string(), "the subscription was not read in time");
}

// M: the same loop over the same calls.
#[tokio::test]
async fn input_is_asked_for_over_lines() {
    let (builder, mut peer) = Peer::builder(1 << 16);
    let client = builder.on_roots(async || Vec::new()).build().unwrap();
    let serve = async {
        let asks = r#"{"resultType":"input_required","requestState":"s","inputRequests":{"r":{"method":"roots/list"}}}"#;
        let id = peer.message().await["id"].clone();
        peer.answer(&id, asks).await;
        let retry = peer.message().await;
        assert_eq!(retry["params"]["requestState"], "s");
        assert_eq!(retry["params"]["inputResponses"], json!({"r": {"roots": []}}));
        peer.answer(&retry["id"], OK).await;
        peer
    };
    let (result, _peer) = tokio::join!(call(&client), serve);
    assert_eq!(result.unwrap(), "ok");
}

// A server that does not read holds up a call for its time only, and what waits is bounded.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_is_a_timeout() {
    let (builder, _peer) = Peer::builder(64);
    let client = builder.build().unwrap();
    let calls: Vec<_> = (0..3 * Limits::PIPE_WRITES)
        .map(|_| tokio::spawn(client.call_tool("t", ()).into_future()))
        .collect();
    for call in calls {
        assert!(call.await.unwrap().unwrap_err().is_timeout());
    }
}

#[test]
fn a_runtime_is_needed() {
    let (ours, _theirs) = duplex(64);
    let (reader, writer) = split(ours);
    assert!(Client::over(reader, writer).unwrap_err().is_usage());
    let (ours, _theirs) = duplex(64);
    let (reader, writer) = split(ours);
    assert!(ClientBuilder::over(reader, writer).build_transport().unwrap_err().is_usage());
}

/// Specification: stdio, Backward Compatibility. Any error but those of this revision will do, to discovery alone.
#[tokio::test]
async fn a_server_of_earlier_revisions_is_told_by_discovery() {
    for (code, is_legacy) in [(-32601, true), (-32602, true), (-32000, true), (-32022, false)] {
        let (client, mut peer) = Peer::client();
        let serve = async {
            for _ in 0..2 {
                let id = &peer.message().await["id"];
                let error = json!({ "code": code, "message": "no" });
                let message = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                peer.write(&format!("{message}\n")).await;
            }
        };
        let calls = async {
            let discovered = client.discover().await.unwrap_err();
            assert_eq!(discovered.is_legacy(), is_legacy, "{code}");
            assert_eq!(discovered.rpc().unwrap().code.0, code);
            assert!(!call(&client).await.unwrap_err().is_legacy(), "{code}");
        };
        tokio::join!(calls, serve);
    }
}
