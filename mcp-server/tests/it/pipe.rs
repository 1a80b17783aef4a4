//! Byte streams: one message a line, all requests at once, and one bad line harms nobody.

mod abuse;
mod ends;
mod listens;

use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use mcp_server::types::{CallToolResult, LoggingLevel, RawJson};
use mcp_server::{
    Args, Caller, Context, Limits, Log, Progress, RequestParts, Server, ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, ReadBuf};

use crate::support::lines::{error, text};
use crate::support::{
    Bell, Flag, Lines, VERSION, builder, limits, message, ok, server, watched, within,
};

#[derive(Deserialize, JsonSchema)]
struct Say {
    text: String,
}

fn echo() -> Tool {
    Tool::new("echo", async |Args(Say { text }): Args<Say>| text)
}

/// A tool that rings when it begins, and answers with its id once it is let go.
fn waits(begun: &Bell, go: &Bell, flag: impl Fn() -> Flag + Send + Sync + 'static) -> Tool {
    let (begun, go) = (begun.clone(), go.clone());
    Tool::new("waits", move |context: Context| {
        let (begun, go, flag) = (begun.clone(), go.clone(), flag());
        async move {
            let _flag = flag;
            begun.ring();
            go.wait().await;
            json!(context.request_id()).to_string()
        }
    })
}

fn limited(change: impl FnOnce(&mut Limits)) -> ServerBuilder {
    builder().tools([ok(), echo()]).limits(limits(change))
}

#[tokio::test]
async fn a_message_is_a_line() {
    const TEXT: &str = "{\n  \"a\":\r\n [1,\r2],\n\n  \"b\": \"x\\ny\"\n}";
    let raw = Tool::new("raw", async || CallToolResult {
        structured_content: Some(RawJson::from_text(TEXT).unwrap()),
        ..Default::default()
    });
    let mut pipe = Lines::serve(&server([raw, echo()]));
    pipe.send("1", "server/discover", json!({})).await;
    let discovered = pipe.message().await;
    assert_eq!(discovered["id"], 1);
    assert_eq!(discovered["result"]["supportedVersions"], json!([VERSION]));
    pipe.send("\"1\"", "tools/list", json!({})).await;
    let listed = pipe.message().await;
    assert_eq!(
        (&listed["id"], &listed["result"]["tools"][1]["name"]),
        (&json!("1"), &json!("echo"))
    );
    pipe.call("2", "raw", json!({})).await;
    let called = pipe.message().await;
    assert_eq!(called["result"]["structuredContent"], json!({ "a": [1, 2], "b": "x\ny" }));
    pipe.call("-9223372036854775808", "echo", json!({ "text": "ü\r\n🦀" })).await;
    let called = pipe.message().await;
    assert_eq!((&called["id"], text(&called)), (&json!(i64::MIN), "ü\r\n🦀"));
}

/// However the input is cut, and whatever its lines end with (D11).
#[tokio::test]
async fn lines_come_in_any_pieces() {
    let call = |id: &str, text: &str| {
        message(id, "tools/call", json!({ "name": "echo", "arguments": { "text": text } }))
    };
    let input =
        [&*call("1", "üüü"), "\r\n\r\n   \n\n", &*call("2", "b"), "\n", &*call("3", "🦀"), "\r\n"];
    let input = input.concat().into_bytes();
    let server = server([echo()]);
    let mut pipe = Lines::serve(&server);
    let mut at_every_place = (1..input.len()).map(|at| vec![&input[..at], &input[at..]]);
    let in_pieces = [1, 2, 3, 5, 64].map(|size| input.chunks(size).collect::<Vec<_>>());
    for pieces in at_every_place.by_ref().step_by(7).chain(in_pieces) {
        for piece in pieces {
            pipe.write(piece).await;
            tokio::task::yield_now().await;
        }
        let mut answers = [pipe.message().await, pipe.message().await, pipe.message().await];
        answers.sort_by_key(|answer| answer["id"].as_i64());
        assert_eq!(answers.each_ref().map(text), ["üüü", "b", "🦀"]);
    }
}

/// J7, J8: what is wrong with a line is told, and the next is read as usual.
#[tokio::test]
async fn a_bad_line_is_answered_and_ends_nothing() {
    let mut pipe = Lines::serve(&server([ok()]));
    let deep = [b'['; 100_000];
    let call = message("9", "tools/call", json!({ "name": "ok" }));
    let batch = format!("[{call}]");
    let cut = &call.as_bytes()[..call.len() - 1];
    let table: [(&[u8], i64, Value); 22] = [
        (b"hello", -32700, json!(null)),
        (b"\xff\xfe", -32700, json!(null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, json!(null)),
        (b"{", -32700, json!(null)),
        (b"{}{}", -32700, json!(null)),
        (cut, -32700, json!(9)),
        (&deep, -32700, json!(null)),
        (b"[]", -32600, json!(null)),
        (batch.as_bytes(), -32600, json!(null)),
        (b"42", -32600, json!(null)),
        (b"null", -32600, json!(null)),
        (b"\"text\"", -32600, json!(null)),
        (b"{}", -32600, json!(null)),
        (br#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, -32600, json!(3)),
        (br#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":[],"method":"tools/list"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":[]}"#, -32600, json!(4)),
        (br#"{"jsonrpc":"2.0","id":4,"id":5,"method":"tools/list"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#, -32602, json!("a")),
        (br#"{"jsonrpc":"2.0","id":6,"method":""}"#, -32600, json!(6)),
        (br#"{"jsonrpc":"2.0","id":7,"result":5}"#, -32600, json!(7)),
    ];
    for (line, code, id) in table {
        pipe.write([line, b"\n"].concat()).await;
        let refused = pipe.message().await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        assert_eq!(error(&refused), (code, Some(&id).filter(|id| !id.is_null())), "{shown}");
        pipe.is_quiet().await;
    }
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("prompts/list", json!({}), -32601),
        ("tools/call", json!({ "name": "nope" }), -32602),
        ("tools/call", json!({ "name": 5 }), -32602),
        ("tools/list", json!({ "_meta": {} }), -32602),
    ] {
        pipe.send("1", method, params).await;
        assert_eq!(error(&pipe.message().await), (code, Some(&json!(1))), "{method}");
    }
}

/// Specification: Versioning, Backward Compatibility.
#[tokio::test]
async fn a_client_of_an_earlier_revision_is_told_the_versions() {
    let mut pipe = Lines::serve(&server([ok()]));
    pipe.write(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    )
    .await;
    pipe.write("\n").await;
    let refused = pipe.message().await;
    assert_eq!(refused["id"], 0);
    assert!(refused["error"]["message"].as_str().unwrap().contains(VERSION), "{refused}");
    // It goes on in its own way, without an answer.
    pipe.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await;
    let mut meta = crate::support::meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    pipe.send("1", "server/discover", json!({ "_meta": meta })).await;
    let refused = pipe.message().await;
    assert_eq!(error(&refused), (-32022, Some(&json!(1))));
    assert_eq!(refused["error"]["data"]["supported"], json!([VERSION]));
}

/// D6: told once, as soon as it is seen to be too long, and passed over without being kept.
#[tokio::test]
async fn a_line_that_is_too_long_is_answered() {
    let server = limited(|limits| limits.body = 1000).build().unwrap();
    let mut pipe = Lines::serve(&server);
    let call = |length: usize| {
        let text = |text: &str| {
            message("1", "tools/call", json!({ "name": "echo", "arguments": { "text": text } }))
        };
        text(&"x".repeat(length - text("").len()))
    };
    for (length, end, fits) in
        [(999, "\n", true), (1000, "\n", true), (1000, "\r\n", true), (1001, "\n", false)]
    {
        pipe.write(call(length) + end).await;
        let answer = pipe.message().await;
        if fits {
            assert_eq!(answer["id"], 1);
            text(&answer);
        } else {
            assert_eq!(error(&answer), (-32600, None));
            assert!(answer["error"]["message"].as_str().unwrap().contains("1000 bytes"));
        }
    }
    for _ in 0..1000 {
        pipe.write(&[b'x'; 10_000]).await;
    }
    assert_eq!(error(&pipe.message().await), (-32600, None));
    pipe.write("\n").await;
    pipe.is_quiet().await;
}

/// Clients do not send any; an answer to one could be answered in its turn.
#[tokio::test]
async fn responses_are_passed_over() {
    let mut pipe = Lines::serve(&server([ok()]));
    pipe.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await;
    pipe.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}\n").await;
    pipe.write("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}\n").await;
    pipe.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\"}\n").await;
    pipe.is_quiet().await;
}

#[tokio::test]
async fn a_thousand_calls_at_once_get_their_own_answers() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let builder = limited(|limits| limits.exchanges_per_caller = 1000);
    let mut pipe = Lines::serve(&builder.tool(waits(&begun, &go, flag)).build().unwrap());
    for id in 0..1000 {
        let id = if id % 2 == 0 { format!("{id}") } else { format!("\"{id}\"") };
        pipe.call(&id, "waits", json!({})).await;
    }
    for _ in 0..1000 {
        begun.rung().await;
    }
    for _ in 0..1000 {
        go.ring();
    }
    let mut ids = Vec::new();
    for _ in 0..1000 {
        let answer = pipe.message().await;
        assert_eq!(text(&answer), answer["id"].to_string());
        ids.push(answer["id"].to_string());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

/// C9: what takes long holds up nothing, be it a call or its cancellation.
#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag), ok()]));
    pipe.call("1", "waits", json!({})).await;
    pipe.call("2", "waits", json!({})).await;
    begun.rung().await;
    begun.rung().await;
    pipe.is_quiet().await;
    pipe.cancel("1").await;
    dropped.dropped().await;
    go.ring();
    assert_eq!(text(&pipe.message().await), "2");
}

/// C2: the handler is dropped, and nothing more is written.
#[tokio::test]
async fn a_cancelled_request_is_not_heard_of_again() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let bell = begun.clone();
    let streams_flag = flag.clone();
    let streams = Tool::new("streams", move |progress: Progress, log: Log| {
        let (begun, flag) = (bell.clone(), streams_flag());
        async move {
            let _flag = flag;
            for step in 1.. {
                progress.report(step);
                log.send(LoggingLevel::Info, "step");
                if step == 50 {
                    begun.ring();
                }
                tokio::task::yield_now().await;
            }
        }
    });
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag), streams, ok()]));
    for id in ["1", "\"1\"", "-5"] {
        pipe.call(id, "waits", json!({})).await;
        begun.rung().await;
        pipe.cancel(id).await;
        dropped.dropped().await;
        pipe.is_quiet().await;
        // It may be used again now.
        pipe.call(id, "ok", json!({})).await;
        assert_eq!(text(&pipe.message().await), "ok");
    }
    pipe.call_listening("7", "streams").await;
    begun.rung().await;
    pipe.cancel("7").await;
    dropped.dropped().await;
    pipe.call("8", "ok", json!({})).await;
    // What was written before it was cancelled; nothing of it comes behind a later answer.
    let last = loop {
        let message = pipe.message().await;
        if message.get("id").is_some() {
            break message;
        }
    };
    assert_eq!(last["id"], 8);
    pipe.is_quiet().await;
}

#[tokio::test]
async fn a_cancellation_that_means_nothing_is_ignored() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag), ok()]));
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    for id in ["2", "\"1\"", "null", "1.0", "{}", "[1]", "true"] {
        pipe.cancel(id).await;
    }
    pipe.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n").await;
    for params in ["[1]", "7", "{\"requestId\":1,\"requestId\":1}", "{\"_meta\":{\"a\":1,\"a\":1}}"]
    {
        let method = "notifications/cancelled";
        pipe.write(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await;
        pipe.write("\n").await;
    }
    pipe.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/Cancelled\",\"params\":{\"requestId\":1}}\n")
        .await;
    pipe.is_quiet().await;
    pipe.cancel("\"quiet\"").await;
    assert!(dropped.none_dropped());
    go.ring();
    assert_eq!(text(&pipe.message().await), "1");
    pipe.cancel("1").await;
    pipe.is_quiet().await;
}

#[tokio::test]
async fn an_id_in_flight_is_refused() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag), ok()]));
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    for method in ["tools/call", "subscriptions/listen", "server/discover", "initialize"] {
        pipe.send("1", method, json!({ "name": "ok", "notifications": {} })).await;
        assert_eq!(error(&pipe.message().await), (-32600, Some(&json!(1))), "{method}");
    }
    pipe.call("\"1\"", "ok", json!({})).await;
    assert_eq!(pipe.message().await["id"], "1");
    assert!(dropped.none_dropped());
    for _ in 0..2 {
        go.ring();
        assert_eq!(text(&pipe.message().await), "1");
        pipe.call("1", "waits", json!({})).await;
    }
}

#[tokio::test]
async fn calls_in_flight_are_limited() {
    for server_wide in [false, true] {
        let (begun, go) = (Bell::new(), Bell::new());
        let (flag, mut dropped) = watched();
        let builder = limited(|limits| {
            let limit =
                if server_wide { &mut limits.exchanges } else { &mut limits.exchanges_per_caller };
            *limit = 2;
        });
        let server = builder.tool(waits(&begun, &go, flag)).build().unwrap();
        let mut pipe = Lines::serve(&server);
        for id in ["1", "2"] {
            pipe.call(id, "waits", json!({})).await;
            begun.rung().await;
        }
        for (id, method) in [("3", "tools/call"), ("4", "tools/list"), ("5", "server/discover")] {
            pipe.send(id, method, json!({ "name": "ok" })).await;
            let id = serde_json::from_str(id).unwrap();
            assert_eq!(error(&pipe.message().await), (-32600, Some(&id)), "{method}");
        }
        let mut other = Lines::serve(&server);
        if server_wide {
            other.call("1", "ok", json!({})).await;
            assert_eq!(error(&other.message().await).0, -32600);
        } else {
            other.is_quiet().await;
        }
        pipe.cancel("1").await;
        dropped.dropped().await;
        pipe.is_quiet().await;
        go.ring();
        assert_eq!(text(&pipe.message().await), "2");
    }
}

/// Callers are told apart over all of their connections, and handlers see who they are.
#[tokio::test]
async fn what_is_known_of_the_client_reaches_handlers() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let who = Tool::new("who", async |context: Context| {
        let caller = context.caller().map(|caller| caller.principal().to_owned());
        let extension = context.extensions().get::<u8>().copied();
        assert!(context.headers().is_empty());
        json!([caller, context.peer_addr(), extension]).to_string()
    });
    let builder = limited(|limits| limits.exchanges_per_caller = 1);
    let server = builder.tools([who, waits(&begun, &go, flag)]).build().unwrap();
    let parts = |caller: &str| {
        let mut parts = RequestParts { caller: Some(Caller::new(caller)), ..Default::default() };
        parts.peer_addr = Some(([127, 0, 0, 1], 7).into());
        parts.extensions.insert(5_u8);
        parts
    };
    let connect = |caller: &str| {
        let parts = parts(caller);
        Lines::serve_with(&server, 1 << 16, |serve| serve.parts(parts))
    };
    let mut ada = connect("ada");
    for id in ["1", "2"] {
        ada.call(id, "who", json!({})).await;
        assert_eq!(text(&ada.message().await), r#"["ada","127.0.0.1:7",5]"#);
    }
    ada.call("1", "waits", json!({})).await;
    begun.rung().await;
    let mut again = connect("ada");
    again.call("1", "ok", json!({})).await;
    assert_eq!(error(&again.message().await).0, -32600);
    connect("bob").is_quiet().await;
}

#[tokio::test]
async fn progress_and_logs_come_before_the_answer() {
    let tool = Tool::new("steps", async |progress: Progress, log: Log| {
        progress.report_of(1, 2);
        log.send(LoggingLevel::Info, "half way");
        tokio::task::yield_now().await;
        progress.report_of(2, 2);
        "done"
    });
    let mut pipe = Lines::serve(&server([tool]));
    for id in ["7", "\"7\""] {
        pipe.call_listening(id, "steps").await;
        let token: Value = serde_json::from_str(id).unwrap();
        for step in ["1", "log", "2"] {
            let message = pipe.message().await;
            if step == "log" {
                assert_eq!(message["method"], "notifications/message");
                assert_eq!(message["params"]["data"], "half way");
            } else {
                assert_eq!(message["params"]["progressToken"], token);
                assert_eq!(message["params"]["progress"].to_string(), step);
            }
        }
        assert_eq!(text(&pipe.message().await), "done");
    }
    // Nothing that was not asked for.
    pipe.call("8", "steps", json!({})).await;
    assert_eq!(text(&pipe.message().await), "done");
}

/// C4: a call has a deadline; a panic is one call's own.
#[tokio::test]
async fn calls_that_go_wrong_are_answered() {
    let (flag, mut dropped) = watched();
    let hangs = Tool::new("hangs", move || {
        let flag = flag();
        async move {
            let _flag = flag;
            std::future::pending::<String>().await
        }
    });
    let panics = Tool::new("panics", async || -> String { panic!("secret") });
    let builder = limited(|limits| limits.call_time = Duration::from_millis(80));
    let mut pipe = Lines::serve(&builder.tools([hangs, panics]).build().unwrap());
    pipe.call("1", "panics", json!({})).await;
    let answer = pipe.message().await;
    assert_eq!(error(&answer), (-32603, Some(&json!(1))));
    assert!(!answer.to_string().contains("secret"));
    pipe.call("2", "hangs", json!({})).await;
    assert_eq!(error(&pipe.message().await), (-32603, Some(&json!(2))));
    dropped.dropped().await;
    pipe.is_quiet().await;
}

/// The same rounds as over HTTP.
#[cfg(feature = "asking")]
#[tokio::test]
async fn a_handler_may_ask() {
    use mcp_server::{Ask, Elicited};

    let greet =
        Tool::new("greet", async |ask: Ask| match ask.form::<Say>("name", "Who are you?").await {
            Elicited::Accept(Say { text }) => format!("Hello, {text}!"),
            _ => "no".to_owned(),
        });
    let mut pipe = Lines::serve(&server([greet]));
    let meta = crate::support::capable(json!({ "elicitation": { "form": {} } }));
    let params = |more: Value| {
        let mut params = json!({ "name": "greet", "_meta": meta.clone() });
        if !more.is_null() {
            params["inputResponses"] = more;
        }
        params
    };
    pipe.send("1", "tools/call", params(json!(null))).await;
    let asked = pipe.message().await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(asked["result"]["inputRequests"]["name"]["method"], "elicitation/create");
    let answers = json!({ "name": { "action": "accept", "content": { "text": "Ada" } } });
    pipe.send("2", "tools/call", params(answers)).await;
    assert_eq!(text(&pipe.message().await), "Hello, Ada!");
    // One that cannot be asked is told so.
    pipe.call("3", "greet", json!({})).await;
    assert_eq!(error(&pipe.message().await), (-32021, Some(&json!(3))));
}

fn serving(server: &Server, room: usize) -> Lines {
    Lines::serve_with(server, room, |serve| serve)
}

/// What a client does not read waits where it is made, coalesced and bounded, and no handler waits for it.
#[tokio::test]
async fn a_client_that_does_not_read_holds_up_no_handler() {
    let done = Bell::new();
    let bell = done.clone();
    let floods = Tool::new("floods", move |progress: Progress, log: Log| {
        let done = bell.clone();
        async move {
            for step in 1..=20_000 {
                progress.report(step);
                log.send(LoggingLevel::Info, "x");
                if step % 1000 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            done.ring();
            "done"
        }
    });
    let mut pipe = serving(&server([floods]), 256);
    for id in ["1", "2", "3"] {
        pipe.call_listening(id, "floods").await;
    }
    for _ in 0..3 {
        done.rung().await;
    }
    let (mut answers, mut events) = (0, 0);
    let mut last = [0; 4];
    while answers < 3 {
        let message = pipe.message().await;
        if message.get("id").is_some() {
            let id = usize::try_from(message["id"].as_u64().unwrap()).unwrap();
            assert_eq!((text(&message), last[id]), ("done", 20_000));
            answers += 1;
        } else {
            events += 1;
            if let Some(token) = message["params"]["progressToken"].as_u64() {
                last[usize::try_from(token).unwrap()] =
                    message["params"]["progress"].as_u64().unwrap();
            }
        }
    }
    // Each has its queue, and what was written before the client's end was full.
    assert!(events < 3 * (Limits::QUEUED_EVENTS + 1000), "{events}");
}

/// Requests whose answers are not read are not read either; nothing is lost once they are.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_read() {
    let server = server([ok()]);
    let (ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(theirs);
    let task = tokio::spawn(server.serve_stream(reader, writer).into_future());
    let (reader, mut writer) = tokio::io::split(ours);
    let writing = tokio::spawn(async move {
        let mut sent = 0;
        for id in 0..20_000 {
            let list = message(&id.to_string(), "tools/list", json!({})) + "\n";
            if tokio::time::timeout(Duration::from_secs(1), writer.write_all(list.as_bytes()))
                .await
                .is_err()
            {
                break;
            }
            sent += 1;
        }
        (sent, writer)
    });
    let (sent, writer) = within(writing).await.unwrap();
    assert!(sent < 2000, "{sent} requests were taken while nothing was read");
    drop(writer);
    let mut lines = tokio::io::BufReader::new(reader).lines();
    let mut answers = 0;
    while answers < sent {
        let line = within(lines.next_line()).await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], answers);
        answers += 1;
    }
    task.abort();
}

/// A stream that never pauses leaves the thread to others.
#[tokio::test]
async fn a_flood_of_nothing_starves_nobody() {
    struct Flood(&'static [u8]);

    impl tokio::io::AsyncRead for Flood {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut task::Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            while buf.remaining() >= self.0.len() {
                buf.put_slice(self.0);
            }
            Poll::Ready(Ok(()))
        }
    }

    for flood in ["\n", "x", "{}\n"] {
        let serve = server([ok()]).serve_stream(Flood(flood.as_bytes()), tokio::io::sink());
        let served = tokio::time::timeout(Duration::from_millis(20), serve.into_future()).await;
        assert!(served.is_err(), "{flood:?}");
    }
}

/// Whatever the order in which things happen: what is not cancelled is answered once, and in its own name.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_of_calls_loses_nothing() {
    let steps = Tool::new("steps", |context: Context, progress: Progress| async move {
        for step in 1..=5 {
            progress.report(step);
            tokio::task::yield_now().await;
        }
        json!(context.request_id()).to_string()
    });
    let server = server([steps, ok()]);
    for room in [1, 7, 64, 1 << 16] {
        let (ours, theirs) = tokio::io::duplex(room);
        let (reader, writer) = tokio::io::split(theirs);
        let task = tokio::spawn(server.clone().serve_stream(reader, writer).into_future());
        let (reader, mut writer) = tokio::io::split(ours);
        // One after the other, so that no limit is met; a third of them is cancelled at once.
        let writing = tokio::spawn(async move {
            for id in 0..200 {
                let mut meta = crate::support::meta();
                meta["progressToken"] = json!(id);
                let params = json!({ "name": "steps", "_meta": meta });
                let mut lines = message(&id.to_string(), "tools/call", params) + "\n";
                if id % 3 == 0 {
                    let params = json!({ "requestId": id });
                    let method = "notifications/cancelled";
                    lines += &json!({ "jsonrpc": "2.0", "method": method, "params": params })
                        .to_string();
                    lines += "\n";
                }
                writer.write_all(lines.as_bytes()).await.unwrap();
            }
            writer
        });
        let mut lines = tokio::io::BufReader::new(reader).lines();
        let (mut answered, mut progress) = (vec![false; 200], vec![0; 200]);
        while let Some(line) = within(lines.next_line()).await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = message.get("id").and_then(Value::as_u64) {
                assert_eq!(text(&message), id.to_string());
                assert!(!std::mem::replace(&mut answered[usize::try_from(id).unwrap()], true));
            } else {
                let token = usize::try_from(message["params"]["progressToken"].as_u64().unwrap());
                let step = message["params"]["progress"].as_u64().unwrap();
                let token = token.unwrap();
                assert!(step > progress[token] && !answered[token], "{message}");
                progress[token] = step;
            }
            if (0..200).all(|id| id % 3 == 0 || answered[id]) {
                break;
            }
        }
        // Dropped alone, it would leave the stream open.
        within(writing).await.unwrap().shutdown().await.unwrap();
        within(task).await.unwrap().unwrap();
    }
}
