//! The exchange by itself, as somebody with an HTTP stack of their own drives it.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_server::{
    Body, Caller, Exchange, ExchangeError, ExchangeOptions, Progress, RequestParts, ResponseMode,
    Server, StreamLost, Tool, scan,
};
use serde_json::{Value, json};

use crate::support::{Bell, Flag, Post, builder, meta, ok, server, tool_text, watched, within};

/// The call with progress token 7.
fn call(tool: &str) -> Post {
    let mut meta = meta();
    meta["progressToken"] = json!(7);
    Post::rpc("tools/call", json!({ "name": tool, "_meta": meta }))
}

fn parts(post: &Post) -> RequestParts {
    let mut request = Request::post("/mcp");
    for (name, value) in post.fields() {
        request = request.header(name, value);
    }
    request.body(()).unwrap().into_parts().0.into()
}

fn options(change: impl FnOnce(&mut ExchangeOptions)) -> ExchangeOptions {
    let mut options = ExchangeOptions::default();
    change(&mut options);
    options
}

fn connected(server: &Server, options: ExchangeOptions) -> Exchange {
    let exchange = Exchange::new(options);
    exchange.connect(server).unwrap();
    exchange
}

async fn handle(exchange: &Exchange, post: &Post) -> Result<Response<Body>, ExchangeError> {
    within(exchange.handle(scan(post.content()).unwrap(), parts(post))).await
}

async fn body(response: Response<Body>) -> Result<Bytes, StreamLost> {
    within(response.into_body().collect()).await.map(http_body_util::Collected::to_bytes)
}

/// The message of a JSON response.
async fn message(response: Response<Body>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(&body(response).await.unwrap()).unwrap()
}

/// The frames of a stream, line by line.
async fn lines(response: Response<Body>) -> Vec<String> {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = body(response).await.unwrap();
    let lines = str::from_utf8(&text).unwrap().lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// A tool that rings when it begins and then waits for ever.
fn hangs(begun: &Bell, flag: impl Fn() -> Flag + Send + Sync + 'static, streams: bool) -> Tool {
    let begun = begun.clone();
    Tool::new("hangs", move |progress: Progress| {
        let (begun, flag) = (begun.clone(), flag());
        async move {
            let _flag = flag;
            if streams {
                progress.report(1);
            }
            begun.ring();
            std::future::pending::<String>().await
        }
    })
}

#[tokio::test]
async fn it_is_connected_once_and_used_once() {
    use ExchangeError::{AlreadyConnected, AlreadyUsed, ConnectionClosed, NotConnected};
    let server = server([ok()]);
    let exchange = Exchange::new(ExchangeOptions::default());
    assert_eq!(handle(&exchange, &call("ok")).await.unwrap_err(), NotConnected);
    assert_eq!(exchange.send("{}").unwrap_err(), NotConnected);
    assert_eq!(exchange.comment("").unwrap_err(), NotConnected);
    // A use that failed uses nothing up.
    exchange.connect(&server).unwrap();
    assert_eq!(exchange.connect(&server).unwrap_err(), AlreadyConnected);
    assert_eq!(exchange.comment("").unwrap_err(), NotConnected);
    let response = handle(&exchange, &call("ok")).await.unwrap();
    assert_eq!(tool_text(&message(response).await), "ok");
    // Nor does a clone make it another exchange.
    for exchange in [exchange.clone(), exchange] {
        assert_eq!(handle(&exchange, &call("ok")).await.unwrap_err(), AlreadyUsed);
        assert_eq!(exchange.connect(&server).unwrap_err(), AlreadyUsed);
        assert_eq!(exchange.comment("late"), Ok(false));
    }
    for exchange in
        [Exchange::new(ExchangeOptions::default()), connected(&server, ExchangeOptions::default())]
    {
        exchange.close();
        exchange.close();
        assert_eq!(handle(&exchange, &call("ok")).await.unwrap_err(), ConnectionClosed);
        assert_eq!(exchange.connect(&server).unwrap_err(), ConnectionClosed);
        assert_eq!(exchange.send("{}").unwrap_err(), ConnectionClosed);
        assert_eq!(exchange.comment("").unwrap_err(), ConnectionClosed);
    }
}

/// Notifications, responses and what is refused use it up as well.
#[tokio::test]
async fn it_serves_every_kind_of_message() {
    let server = server([ok()]);
    for (body, status) in [
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, 202),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 400),
    ] {
        let exchange = connected(&server, ExchangeOptions::default());
        let post = Post::bare(body);
        assert_eq!(handle(&exchange, &post).await.unwrap().status(), status);
        assert_eq!(handle(&exchange, &post).await.unwrap_err(), ExchangeError::AlreadyUsed);
    }
}

#[tokio::test]
async fn its_options_are_its_own() {
    let noisy = Tool::new("noisy", async |progress: Progress| {
        progress.report(1);
        "ok"
    });
    // The server's own mode and interval are for HTTP.
    let server = builder().tool(noisy).tool(ok()).response_mode(ResponseMode::Sse).build().unwrap();
    type Row = (fn(&mut ExchangeOptions), &'static str, bool);
    let table: [Row; 6] = [
        (|_| {}, "ok", false),
        (|_| {}, "noisy", true),
        (|options| options.mode = ResponseMode::Sse, "ok", true),
        (|options| options.mode = ResponseMode::Json, "noisy", false),
        (|options| options.accepts.sse = false, "noisy", false),
        (|options| options.accepts.json = false, "ok", true),
    ];
    for (change, tool, streams) in table {
        let exchange = connected(&server, options(change));
        let response = handle(&exchange, &call(tool)).await.unwrap();
        let media = if streams { "text/event-stream" } else { "application/json" };
        assert_eq!(response.headers()["content-type"], media, "{tool}");
    }
    // Off HTTP there are no headers to agree with.
    let exchange = connected(&server, options(|options| options.http = false));
    let bare = Post::bare(call("ok").content());
    assert_eq!(handle(&exchange, &bare).await.unwrap().status(), 200);
    let exchange = connected(&server, ExchangeOptions::default());
    assert_eq!(handle(&exchange, &bare).await.unwrap().status(), 400);
}

/// What is awaited ends when it is closed, and the handler with it.
#[tokio::test]
async fn closing_ends_what_is_awaited() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    for mode in [ResponseMode::Auto, ResponseMode::Json] {
        let exchange = connected(
            &server([hangs(&begun, flag.clone(), false)]),
            options(|options| options.mode = mode),
        );
        let closing = exchange.clone();
        let waiting = begun.clone();
        let closer = tokio::spawn(async move {
            waiting.rung().await;
            closing.close();
        });
        assert_eq!(
            handle(&exchange, &call("hangs")).await.unwrap_err(),
            ExchangeError::ConnectionClosed
        );
        dropped.dropped().await;
        closer.await.unwrap();
        assert_eq!(exchange.comment("").unwrap_err(), ExchangeError::ConnectionClosed);
    }
    // An open stream breaks off instead of ending.
    let exchange = connected(&server([hangs(&begun, flag, true)]), ExchangeOptions::default());
    let response = handle(&exchange, &call("hangs")).await.unwrap();
    assert!(dropped.none_dropped());
    let closing = exchange.clone();
    let closer = tokio::spawn(async move { closing.close() });
    assert_eq!(body(response).await.unwrap_err(), StreamLost);
    dropped.dropped().await;
    closer.await.unwrap();
}

/// However early it is closed: between handling and awaiting, and while the handler is being called.
#[tokio::test]
async fn closing_is_never_too_early() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    let exchange = connected(&server([hangs(&begun, flag, false)]), ExchangeOptions::default());
    let post = call("hangs");
    let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
    exchange.close();
    assert_eq!(within(response).await.unwrap_err(), ExchangeError::ConnectionClosed);
    dropped.dropped().await;

    let exchange = Exchange::new(ExchangeOptions::default());
    let closing = exchange.clone();
    let closes = Tool::new("closes", move || {
        closing.close();
        std::future::pending::<String>()
    });
    exchange.connect(&server([closes])).unwrap();
    assert_eq!(
        handle(&exchange, &call("closes")).await.unwrap_err(),
        ExchangeError::ConnectionClosed
    );
}

#[tokio::test]
async fn dropping_the_future_or_the_body_cancels() {
    let begun = Bell::new();
    let (flag, mut dropped) = watched();
    let exchange =
        connected(&server([hangs(&begun, flag.clone(), false)]), ExchangeOptions::default());
    let post = call("hangs");
    let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
    drop(response);
    dropped.dropped().await;
    let exchange = connected(&server([hangs(&begun, flag, true)]), ExchangeOptions::default());
    let response = handle(&exchange, &call("hangs")).await.unwrap();
    drop(response);
    dropped.dropped().await;
    assert_eq!(exchange.comment("late"), Ok(false));
}

/// A tool that never answers, to be answered for.
fn silent() -> Tool {
    Tool::new("silent", std::future::pending::<String>)
}

#[tokio::test]
async fn a_comment_goes_into_an_open_stream() {
    let sse = options(|options| {
        options.mode = ResponseMode::Sse;
        options.keep_alive = Duration::ZERO;
    });
    let exchange = connected(&server([silent()]), sse);
    let post = call("silent");
    let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
    assert_eq!(exchange.comment("too early"), Ok(false), "no stream is open yet");
    let response = within(response).await.unwrap();
    assert_eq!(exchange.comment("still here"), Ok(true));
    assert_eq!(exchange.comment("two\nlines\rthree"), Ok(true));
    assert_eq!(exchange.comment(""), Ok(true));
    assert_eq!(exchange.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(true));
    assert_eq!(exchange.comment("late"), Ok(false));
    let lines = lines(response).await;
    let last = r#"data: {"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(lines, [": still here", ": two", ": lines", ": three", ": ", last]);
    assert_eq!(exchange.comment("late"), Ok(false));
}

/// A reply carries what belongs to its request. U4: an id of another type is another id.
#[tokio::test]
async fn messages_of_other_requests_are_dropped() {
    let exchange = connected(&server([silent()]), ExchangeOptions::default());
    let post = call("silent");
    let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
    let progress = |token: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        )
    };
    let foreign = [
        progress("8"),
        progress("\"7\""),
        progress("null"),
        progress("[]"),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"m"}}"#.to_owned(),
    ];
    for message in &foreign {
        assert_eq!(exchange.send(message), Ok(false), "{message}");
    }
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
        "{",
        "[]",
        "",
    ] {
        assert_eq!(exchange.send(message), Err(ExchangeError::NotSendable), "{message}");
    }
    let own = [
        progress("7"),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#
            .to_owned(),
    ];
    for message in &own {
        assert_eq!(exchange.send(message), Ok(true), "{message}");
    }
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#;
    assert_eq!(exchange.send(answer), Ok(true));
    for message in [&own[0], answer] {
        assert_eq!(exchange.send(message), Ok(false), "nothing comes behind the answer");
    }
    let expected = [&own[0], &own[1], answer].map(|message| format!("data: {message}"));
    assert_eq!(lines(within(response).await.unwrap()).await, expected);
}

#[tokio::test]
async fn without_a_token_there_is_no_progress_of_this_request() {
    let exchange = connected(&server([silent()]), ExchangeOptions::default());
    let post = Post::call("silent", json!({}));
    let _response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
    for token in [r#""progressToken":7,"#, r#""progressToken":null,"#, ""] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{{token}"progress":1}}}}"#
        );
        assert_eq!(exchange.send(&message), Ok(false), "{message}");
    }
}

/// The response that was sent first is the response, also if the handler is quicker to end than the reply to begin.
#[tokio::test]
async fn a_response_sent_in_the_place_of_the_handler() {
    let quick = Tool::new("quick", async || "the handler's");
    let server = server([quick, silent()]);
    for tool in ["quick", "silent"] {
        for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
            let exchange = connected(&server, options(|options| options.mode = mode));
            let post = call(tool);
            let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
            assert_eq!(
                exchange.send(r#"{"jsonrpc":"2.0","id":1,"result":{"mine":true}}"#),
                Ok(true)
            );
            let response = within(response).await.unwrap();
            let text = body(response).await.unwrap();
            assert!(
                text.windows(11).any(|found| found == br#""mine":true"#),
                "{tool} {mode:?}: {text:?}"
            );
        }
    }
    // -32021 keeps its status wherever it comes from.
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let exchange = connected(&server, options(|options| options.mode = mode));
        let post = call("silent");
        let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}"#;
        assert_eq!(exchange.send(error), Ok(true));
        let response = within(response).await.unwrap();
        assert_eq!(response.status(), 400, "{mode:?}");
        assert_eq!(message(response).await["error"]["code"], -32021);
    }
}

/// In JSON there is no place for notifications, only for the response (C7).
#[tokio::test]
async fn json_takes_only_the_response() {
    let exchange =
        connected(&server([silent()]), options(|options| options.mode = ResponseMode::Json));
    let post = call("silent");
    let response = exchange.handle(scan(post.content()).unwrap(), parts(&post));
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
    assert_eq!(exchange.send(progress), Ok(false));
    assert_eq!(exchange.comment("c"), Ok(false));
    assert_eq!(exchange.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(true));
    assert_eq!(message(within(response).await.unwrap()).await["result"], json!({}));
}

/// The caller is who the code around the exchange says it is, and no header's word counts.
#[tokio::test]
async fn the_caller_is_passed_through() {
    let who = Tool::new("who", async |caller: Option<Caller>| {
        caller.map_or_else(|| "nobody".to_owned(), |caller| caller.principal().to_owned())
    });
    let server = server([who]);
    let post = call("who")
        .add("Authorization", "Bearer alice")
        .add("X-Caller", "alice")
        .add("X-Forwarded-User", "alice")
        .add("X-Forwarded-For", "10.0.0.1");
    for (caller, expected) in
        [(None, "nobody"), (Some(Caller::new("bob")), "bob"), (Some(Caller::new("")), "")]
    {
        let exchange = connected(&server, ExchangeOptions::default());
        let parts = RequestParts { caller, ..parts(&post) };
        let response = within(exchange.handle(scan(post.content()).unwrap(), parts)).await.unwrap();
        assert_eq!(tool_text(&message(response).await), expected);
    }
    assert!(!format!("{:?}", Caller::new("bob")).contains("bob"));
}
