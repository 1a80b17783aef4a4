//! Answers, right and wrong: response bytes to result or error.

use mcp_client::types::{EmptyParams, Outcome, request};
use mcp_client::{Client, Error};

use crate::support::{OK, Reply, Server, call, error, result};

/// What a call of a tool comes to.
#[derive(Debug)]
enum Expected {
    Text(&'static str),
    /// The error's predicate, its status and a part of its text.
    Fails(Blame, u16, &'static str),
}
use Expected::{Fails, Text};

#[derive(Debug, PartialEq)]
enum Blame {
    Protocol,
    Rpc(i64),
    Transport,
    Status,
}
use Blame::{Protocol, Rpc, Status, Transport};

fn blame(error: &Error) -> Blame {
    match error.rpc() {
        Some(error) => Rpc(error.code.0),
        None if error.is_protocol() => Protocol,
        None if error.is_transport() => Transport,
        None => Status,
    }
}

async fn check(name: &str, reply: Reply, expected: Expected) {
    let server = Server::start([reply]).await;
    let outcome = call(&server.client()).await;
    match (&outcome, &expected) {
        (Ok(text), Text(expected)) => assert_eq!(text, expected, "{name}"),
        (Err(error), Fails(expected, status, part)) => {
            let text = all(error);
            assert_eq!(blame(error), *expected, "{name}: {text}");
            assert_eq!(error.status().map_or(0, |status| status.as_u16()), *status, "{name}");
            assert!(text.contains(part), "{name}: {text}");
            assert!(!error.is_timeout() && !error.is_usage() && error.input_required().is_none());
            assert_eq!(error.is_auth(), matches!(status, 401 | 403), "{name}");
        }
        _ => panic!("{name}: {outcome:?} is not {expected:?}"),
    }
}

/// The texts of an error and its causes.
fn all(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn json_answers() {
    let ok = result(OK);
    let untyped = result(r#"{"content":[{"type":"text","text":"ok"}]}"#);
    let table = [
        ("plain", Reply::json(&ok), Text("ok")),
        ("charset", Reply::body("200 OK", "Application/JSON; charset=\"UTF-8\"", &ok), Text("ok")),
        ("white space", Reply::json(&format!("\r\n {ok}\n")), Text("ok")),
        ("201", Reply::body("201 Created", "application/json", &ok), Text("ok")),
        ("no resultType is complete", Reply::json(&untyped), Text("ok")),
        ("error", Reply::json(&error(-32602, "null")), Fails(Rpc(-32602), 200, "no (-32602)")),
        (
            // S16: an error need not have read the id.
            "error without id",
            Reply::json(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#),
            Fails(Rpc(-32700), 200, "m"),
        ),
        (
            "error with null id",
            Reply::json(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#),
            Fails(Rpc(1), 200, "m"),
        ),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
}

// S16
#[tokio::test]
async fn answers_to_something_else() {
    let numbered = |id: &str| Reply::json(&result(OK).replace("{id}", id));
    let table = [
        ("stringified id", numbered("\"1\""), Fails(Protocol, 200, "request \"1\", not 1")),
        ("foreign id", numbered("77"), Fails(Protocol, 200, "request 77, not 1")),
        ("null id", numbered("null"), Fails(Protocol, 200, "JSON-RPC")),
        ("no id", Reply::json(r#"{"jsonrpc":"2.0","result":{}}"#), Fails(Protocol, 200, "the id")),
        (
            "request",
            Reply::json(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            Fails(Protocol, 200, "no response"),
        ),
        (
            "notification",
            Reply::json(r#"{"jsonrpc":"2.0","method":"ping"}"#),
            Fails(Protocol, 200, "no response"),
        ),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
}

// S14
#[tokio::test]
async fn answers_of_another_kind() {
    let typed = |content_type: &str, body: &str| Reply::body("200 OK", content_type, body);
    let twice = "content-type: a/b\r\ncontent-type: application/json\r\n";
    let accepted = Reply::body("202 Accepted", "application/json", &result(OK));
    let table = [
        ("empty", Reply::json(""), Fails(Protocol, 200, "status 200 is empty")),
        ("blank", Reply::json(" \n"), Fails(Protocol, 200, "status 200 is empty")),
        ("no type, empty", Reply::head("200 OK", "", ""), Fails(Protocol, 200, "is empty")),
        (
            "no type",
            Reply::head("200 OK", "", &result(OK)),
            Fails(Protocol, 200, "no Content-Type"),
        ),
        ("two types", Reply::head("200 OK", twice, "{}"), Fails(Protocol, 200, "a/b")),
        ("page", typed("text/html; a=b", "<html>"), Fails(Protocol, 200, "text/html; a=b")),
        ("jsonx", typed("application/jsonx", &result(OK)), Fails(Protocol, 200, "/jsonx")),
        ("202", Reply::head("202 Accepted", "", ""), Fails(Protocol, 202, "status 202 alone")),
        ("202 with a body", accepted, Fails(Protocol, 202, "status 202 alone")),
        ("204", Reply::raw("HTTP/1.1 204 No Content\r\n\r\n"), Fails(Protocol, 204, "204 alone")),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
}

// J5, J8
#[tokio::test]
async fn bodies_that_are_no_response() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let not_utf8 =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n\"\xff\"";
    let both = r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#;
    let table = [
        ("garbage", Reply::json("garbage"), Fails(Protocol, 200, "JSON-RPC")),
        ("half", Reply::json(r#"{"jsonrpc":"2.0","#), Fails(Protocol, 200, "JSON-RPC")),
        ("batch", Reply::json(&format!("[{}]", result(OK))), Fails(Protocol, 200, "a batch")),
        ("no message", Reply::json("{}"), Fails(Protocol, 200, "JSON-RPC")),
        ("both", Reply::json(both), Fails(Protocol, 200, "more than one")),
        ("not UTF-8", Reply::raw(not_utf8.as_slice()), Fails(Protocol, 200, "UTF-8")),
        ("deep", Reply::json(&result(&deep)), Fails(Protocol, 200, "JSON-RPC")),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
}

// J14
#[tokio::test]
async fn results_that_are_none_of_the_method() {
    let json = |result: &str| Reply::json(&self::result(result));
    let no_code = Reply::json(r#"{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}"#);
    let table = [
        ("unknown resultType", json(r#"{"resultType":"task"}"#), Fails(Protocol, 200, "task")),
        (
            "resultType 1",
            json(r#"{"resultType":1,"content":[]}"#),
            Fails(Protocol, 200, "not what"),
        ),
        ("resultType null", json(r#"{"resultType":null,"content":[]}"#), Fails(Protocol, 200, "")),
        ("no content", json(r#"{"resultType":"complete"}"#), Fails(Protocol, 200, "content")),
        ("content 1", json(r#"{"content":1}"#), Fails(Protocol, 200, "not what")),
        ("error without code", no_code, Fails(Protocol, 200, "code")),
        (
            "input that asks for nothing",
            json(r#"{"resultType":"input_required"}"#),
            Fails(Protocol, 200, "inputRequests"),
        ),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
}

#[tokio::test]
async fn error_statuses() {
    let json = |status: &str, body: &str| Reply::body(status, "application/json", body);
    let bare = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}"#;
    let long = "x".repeat(5000);
    let table = [
        // The body is decoded whatever the status.
        ("400", json("400 Bad Request", &error(-32602, "{}")), Fails(Rpc(-32602), 400, "no")),
        ("404", json("404 Not Found", &error(-32601, "{}")), Fails(Rpc(-32601), 404, "no")),
        ("403", json("403 Forbidden", bare), Fails(Rpc(-32600), 403, "m")),
        ("503", json("503 Busy", bare), Fails(Rpc(-32600), 503, "m")),
        // L8: the address is in the message.
        ("bare 404", Reply::head("404 Not Found", "", ""), Fails(Status, 404, "/mcp answered")),
        (
            "text",
            Reply::body("500 Oops", "text/plain", "it\nbroke"),
            Fails(Status, 500, ": it broke"),
        ),
        (
            "page",
            Reply::body("502 Bad Gateway", "text/html", "<h1>Bad gateway</h1>"),
            Fails(Status, 502, "502: <h1>Bad gateway</h1>"),
        ),
        ("other json", json("400 Bad Request", r#"{"detail":"d"}"#), Fails(Status, 400, r#""d""#)),
        (
            "foreign id",
            json("400 Bad Request", &error(1, "1").replace("{id}", "9")),
            Fails(Status, 400, "\"message\":\"no\""),
        ),
        ("a result", json("500 Oops", &result(OK)), Fails(Status, 500, "resultType")),
        ("long", Reply::body("500 Oops", "text/plain", &long), Fails(Status, 500, "xxx...")),
        ("401", Reply::head("401 Unauthorized", "", ""), Fails(Status, 401, "status 401")),
        ("300", Reply::head("300 Many", "", ""), Fails(Protocol, 300, "status 300")),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
}

#[tokio::test]
async fn challenges_are_at_hand() {
    let headers = "www-authenticate: Bearer scope=\"a\"\r\nwww-authenticate: DPoP\r\nx-id: 7\r\n";
    let server = Server::start([Reply::head("401 Unauthorized", headers, "")]).await;
    let error = call(&server.client()).await.unwrap_err();
    assert!(error.is_auth());
    let challenges: Vec<_> = error.www_authenticate().collect();
    assert_eq!(challenges, ["Bearer scope=\"a\"", "DPoP"]);
    assert_eq!(error.headers().unwrap()["x-id"], "7");
}

#[tokio::test]
async fn lost_answers() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let table = [
        ("closed", Reply::raw("").close(), Fails(Transport, 0, "HTTP exchange failed")),
        ("no HTTP", Reply::raw("hello\r\n\r\n").close(), Fails(Transport, 0, "exchange failed")),
        (
            "cut short",
            Reply::raw(format!("{head}content-length: 500\r\n\r\n{{")).close(),
            Fails(Transport, 200, "broke off"),
        ),
        // S6
        ("stream without events", Reply::sse(&[]), Fails(Protocol, 200, "without a response")),
        (
            "stream with a comment only",
            Reply::chunks([":\n\n"]).ended(),
            Fails(Protocol, 200, "without a response"),
        ),
        (
            "stream cut within its response",
            Reply::chunks(["data: {\"jsonrpc\""]).ended(),
            Fails(Protocol, 200, "without a response"),
        ),
        ("stream reset", Reply::chunks([":\n\n"]).close(), Fails(Transport, 200, "broke off")),
    ];
    for (name, reply, expected) in table {
        check(name, reply, expected).await;
    }
    // The connection was refused: nothing was seen of the call.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = call(&Client::http(url).unwrap()).await.unwrap_err();
    assert!(error.is_connect() && error.is_transport(), "{error:?}");
}

const ASKING: &str = r#"{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list","params":{}}}}"#;

#[tokio::test]
async fn input_is_handed_over() {
    let server = Server::start([Reply::json(&result(ASKING)), Reply::json(&result(ASKING))]).await;
    let client = server.client();
    let error = call(&client).await.unwrap_err();
    let input = error.input_required().unwrap();
    assert_eq!(input.input_requests().len(), 1);
    assert!(!error.is_protocol() && error.status().unwrap() == 200);

    let params = mcp_client::types::CallToolParams::new("t");
    let outcome = client.call::<request::CallTool>(params).await.unwrap();
    assert!(matches!(outcome, Outcome::InputRequired(input) if input.request_state().is_some()));
}

// M10
#[tokio::test]
async fn input_is_refused_where_the_method_has_none() {
    let replies = [Reply::json(&result(ASKING)), Reply::json(&result(ASKING))];
    let server = Server::start(replies).await;
    let client = server.client();
    let error = client.list_tools().await.unwrap_err();
    assert!(error.is_protocol() && error.input_required().is_none(), "{error}");
    let error = client.call::<request::Discover>(EmptyParams::default()).await.unwrap_err();
    assert!(error.is_protocol(), "{error}");
}

// J19
#[tokio::test]
async fn a_server_without_a_name_is_served() {
    let table = ["", r#","_meta":{"io.modelcontextprotocol/serverInfo":5}"#, r#","_meta":{}"#];
    for meta in table {
        let body = format!(
            r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}{meta}}}"#
        );
        let server = Server::start([Reply::json(&result(&body))]).await;
        assert!(server.client().discover().await.unwrap().meta.server_info.is_none());
    }
}
