//! What a server over a byte stream is asked before all else. Specification: stdio, Backward Compatibility.

use std::future::IntoFuture as _;
use std::time::Duration;

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Client, ClientBuilder, Error, Retry};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf};
use tokio::io::{WriteHalf, duplex, split};

/// The server, line by line.
struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Server {
    fn builder() -> (ClientBuilder, Self) {
        let (ours, theirs) = duplex(1 << 16);
        let (reader, writer) = split(ours);
        let (lines, answers) = split(theirs);
        let server = Self { lines: BufReader::new(lines).lines(), writer: answers };
        (ClientBuilder::over(reader, writer), server)
    }

    fn client() -> (Client, Self) {
        let (builder, server) = Self::builder();
        (builder.build().unwrap(), server)
    }

    async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The next message, which must be of this method.
    async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await.unwrap();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    async fn write(&mut self, to: &Value, member: &str, value: &Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": to["id"], member: value });
        self.writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }

    async fn result(&mut self, to: &Value, result: Value) {
        self.write(to, "result", &result).await;
    }

    async fn error(&mut self, to: &Value, code: i64, data: Value) {
        let error = json!({ "code": code, "message": "no", "data": data });
        self.write(to, "error", &error).await;
    }

    /// Serves a client of whose calls each gets the same, until the client is gone; gives the methods it was asked for.
    async fn serve(mut self, discovered: &Result<Value, (i64, Value)>) -> Vec<String> {
        let mut methods = Vec::new();
        while let Some(message) = self.next().await {
            let method = message["method"].as_str().unwrap();
            methods.push(method.to_owned());
            match (method, discovered) {
                ("server/discover", Ok(result)) => self.result(&message, result.clone()).await,
                ("server/discover", Err((code, data))) => {
                    self.error(&message, *code, data.clone()).await;
                }
                _ => self.result(&message, all()).await,
            }
        }
        methods
    }
}

fn discovered() -> Value {
    json!({ "supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete" })
}

/// A result of whatever the calls here ask for.
fn all() -> Value {
    json!({ "content": [], "tools": [], "prompts": [], "resultType": "complete" })
}

async fn call(client: &Client) -> Result<(), Error> {
    client.call_tool("t", ()).await.map(drop)
}

#[tokio::test]
async fn discovery_comes_first_and_once() {
    let (client, server) = Server::client();
    let good = Ok(discovered());
    let calls = async move {
        // However many begin at once.
        let (one, two, three) = tokio::join!(call(&client), call(&client), client.list_tools());
        one.and(two).unwrap();
        three.unwrap();
        call(&client).await.unwrap();
        drop(client);
    };
    let ((), methods) = tokio::join!(calls, server.serve(&good));
    assert_eq!(methods[0], "server/discover");
    assert_eq!(methods.iter().filter(|method| *method == "server/discover").count(), 1);
    assert_eq!(methods.len(), 5);
}

#[tokio::test]
async fn a_probe_is_a_request_like_any_other() {
    let (client, mut server) = Server::client();
    let serve = async {
        let probe = server.expect("server/discover").await;
        let meta = &probe["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "mcp-client");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        assert!(meta.get("progressToken").is_none(), "what the call asks for is not the probe's");
        server.result(&probe, discovered()).await;
        let listen = server.expect("subscriptions/listen").await;
        assert_ne!(listen["id"], probe["id"]);
        server.error(&listen, -32601, Value::Null).await;
        server
    };
    let (listened, _server) =
        tokio::join!(client.listen(SubscriptionFilter::new().tools()).into_future(), serve);
    assert_eq!(listened.unwrap_err().rpc().unwrap().code.0, -32601);
}

#[tokio::test]
async fn an_application_that_discovers_has_asked() {
    let (client, server) = Server::client();
    let good = Ok(discovered());
    let calls = async move {
        client.discover().await.unwrap();
        call(&client).await.unwrap();
        drop(client);
    };
    let ((), methods) = tokio::join!(calls, server.serve(&good));
    assert_eq!(methods, ["server/discover", "tools/call"]);
}

// What was learnt is kept for as long as the server said.
#[tokio::test]
async fn the_answer_is_kept_for_the_application() {
    let (client, server) = Server::client();
    let mut result = discovered();
    result["ttlMs"] = 600_000.into();
    let good = Ok(result);
    let calls = async move {
        call(&client).await.unwrap();
        client.discover().await.unwrap();
        drop(client);
    };
    let ((), methods) = tokio::join!(calls, server.serve(&good));
    assert_eq!(methods, ["server/discover", "tools/call"]);
}

#[tokio::test]
async fn who_does_not_want_it_sends_none() {
    let (builder, server) = Server::builder();
    let client = builder.probe(false).build().unwrap();
    let good = Ok(discovered());
    let calls = async move {
        call(&client).await.unwrap();
        drop(client);
    };
    let ((), methods) = tokio::join!(calls, server.serve(&good));
    assert_eq!(methods, ["tools/call"]);
}

// Specification: stdio, Backward Compatibility. No one code decides, and the answer is remembered.
#[tokio::test]
async fn servers_of_earlier_revisions_are_told_and_never_called() {
    let of_old = json!({ "supported": ["2025-06-18", "2025-11-25"], "requested": "2026-07-28" });
    for (code, data) in [
        (-32601, Value::Null),
        (-32602, Value::Null),
        (-32600, Value::Null),
        (-32603, Value::Null),
        (-32000, Value::Null),
        (1, Value::Null),
        (-32022, of_old),
    ] {
        let (client, server) = Server::client();
        let legacy = Err((code, data));
        let calls = async move {
            for _ in 0..3 {
                let error = call(&client).await.unwrap_err();
                assert!(error.is_legacy(), "{code}: {error:?}");
                assert_eq!(error.rpc().unwrap().code.0, code);
            }
            let listened = client.listen(SubscriptionFilter::new().tools()).await;
            assert!(listened.unwrap_err().is_legacy(), "{code}");
            drop(client);
        };
        let ((), methods) = tokio::join!(calls, server.serve(&legacy));
        assert_eq!(methods, ["server/discover"], "{code}");
    }
}

// A server that refuses by an error of this revision is of this revision, and is called.
#[tokio::test]
async fn errors_of_this_revision_are_no_reason_to_give_up() {
    let refused = |supported: &[&str]| json!({ "supported": supported, "requested": "2026-07-28" });
    for (code, data) in [
        (-32021, json!({ "requiredCapabilities": { "sampling": {} } })),
        (-32022, refused(&["2026-07-28"])),
        (-32022, refused(&["2099-01-01"])),
    ] {
        let (client, server) = Server::client();
        let modern = Err((code, data));
        let calls = async move {
            call(&client).await.unwrap();
            call(&client).await.unwrap();
            drop(client);
        };
        let ((), methods) = tokio::join!(calls, server.serve(&modern));
        assert_eq!(methods, ["server/discover", "tools/call", "tools/call"], "{code}");
    }
}

// L5: what is no result of discovery is a fault of the server's, and tells nothing of what it speaks.
#[tokio::test]
async fn a_result_that_is_none_is_a_fault() {
    for wrong in [json!({}), json!({ "protocolVersion": "2025-11-25", "capabilities": {} })] {
        let (client, server) = Server::client();
        let wrong = Ok(wrong);
        let calls = async move {
            let error = call(&client).await.unwrap_err();
            assert!(error.is_protocol() && !error.is_legacy(), "{error:?}");
            drop(client);
        };
        let ((), methods) = tokio::join!(calls, server.serve(&wrong));
        assert_eq!(methods, ["server/discover"]);
    }
}

// L2: a silent server is not waited for longer than the call would have been, and the next one asks again.
#[tokio::test(start_paused = true)]
async fn silence_ends_with_the_time_of_the_call() {
    let (client, mut server) = Server::client();
    let brief = client.call_tool("t", ()).timeout(Duration::from_secs(1));
    let error = brief.await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(why, "the server was asked server/discover before all else");
    let probe = server.expect("server/discover").await;
    let cancelled = server.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], probe["id"]);
    let serve = async {
        let probe = server.expect("server/discover").await;
        server.result(&probe, discovered()).await;
        let called = server.expect("tools/call").await;
        server.result(&called, all()).await;
        server
    };
    let (called, _server) = tokio::join!(call(&client), serve);
    called.unwrap();
}

// Whoever waits for another's probe is not left behind when that one goes.
#[tokio::test]
async fn a_dropped_probe_is_taken_over() {
    let (client, mut server) = Server::client();
    let first = tokio::spawn(client.call_tool("first", ()).into_future());
    let probe = server.expect("server/discover").await;
    let second = tokio::spawn(client.call_tool("second", ()).into_future());
    tokio::task::yield_now().await;
    first.abort();
    let cancelled = server.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], probe["id"]);
    let again = server.expect("server/discover").await;
    server.result(&again, discovered()).await;
    let called = server.expect("tools/call").await;
    assert_eq!(called["params"]["name"], "second");
    server.result(&called, all()).await;
    second.await.unwrap().unwrap();
}

// The probe goes on the turn of its call, of which there may be one only.
#[tokio::test]
async fn a_probe_takes_no_turn_of_its_own() {
    let (builder, server) = Server::builder();
    let client = builder.max_in_flight(1).retry(Retry::new()).build().unwrap();
    let good = Ok(discovered());
    let calls = async move {
        let (one, two) = tokio::join!(call(&client), call(&client));
        one.and(two).unwrap();
        drop(client);
    };
    let ((), methods) = tokio::join!(calls, server.serve(&good));
    assert_eq!(methods, ["server/discover", "tools/call", "tools/call"]);
}
