//! The transport alone.

use std::sync::{Arc, Mutex};

use crate::support::{OK, Reply, Server, error, result};

const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0", "id":"a","method":"tools/call","params":{"name":"ä","_meta":{"io.modelcontextprotocol/protocolVersion":"v7"}}}"#;

/// What a subscriber has heard.
type Heard = Arc<Mutex<Vec<String>>>;

fn listen(transport: &mcp_client::HttpTransport) -> (Heard, mcp_client::Subscription) {
    let heard = Heard::default();
    let hear = Arc::clone(&heard);
    let subscription = transport.subscribe(move |message| {
        hear.lock().unwrap().push(String::from_utf8(message.to_vec()).unwrap());
    });
    (heard, subscription)
}

#[tokio::test]
async fn messages_pass_through_as_they_are() {
    let server = Server::start([
        Reply::sse(&[LOG, &result(OK)]),
        Reply::json(&error(1, "2")),
        Reply::body("400 Bad Request", "application/json", &error(-32602, "2")),
        Reply::head("202 Accepted", "", ""),
    ])
    .await;
    let transport = server.builder().header("x-all", "1").unwrap().build_transport().unwrap();
    transport.start().unwrap();
    let (heard, subscription) = listen(&transport);

    transport.send(CALL).header("x-one", "2").header("Mcp-Param-P", "v").await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.body, CALL);
    for (name, value) in [
        ("mcp-protocol-version", "v7"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?w6Q=?="),
        ("mcp-param-p", "v"),
        ("x-all", "1"),
        ("x-one", "2"),
    ] {
        assert_eq!(request.header(name), Some(value));
    }
    // An error is an answer, unless the status says so as well.
    transport.send(CALL).await.unwrap();
    let refused = transport.send(CALL).await.unwrap_err();
    assert_eq!((refused.status().unwrap().as_u16(), refused.rpc().is_some()), (400, true));

    transport.set_protocol_version("v8");
    drop(subscription);
    transport.send(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await.unwrap();
    assert_eq!(server.requests()[3].header("mcp-protocol-version"), Some("v8"));
    assert_eq!(server.requests()[3].header("mcp-method"), Some("notifications/x"));

    let id = |text: String| text.replace("{id}", "\"a\"");
    let expected = [LOG.to_owned(), id(result(OK)), id(error(1, "2")), id(error(-32602, "2"))];
    assert_eq!(*heard.lock().unwrap(), expected);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn starting_and_stopping() {
    let server = Server::start([Reply::raw("").hang(), Reply::json(&result(OK))]).await;
    let transport = server.builder().build_transport().unwrap();
    assert!(!transport.is_running());
    assert!(transport.send(CALL).await.unwrap_err().is_stopped());
    transport.start().unwrap();
    assert!(transport.is_running());
    assert!(transport.start().unwrap_err().is_usage());

    let stuck = tokio::spawn(transport.send(CALL).into_future());
    server.received().await;
    transport.stop();
    transport.stop();
    assert!(!transport.is_running());
    transport.start().unwrap();
    assert!(stuck.await.unwrap().unwrap_err().is_stopped());
    server.closed().await;
    transport.send(CALL).await.unwrap();
}

#[tokio::test]
async fn what_is_no_request_is_not_sent() {
    let server = Server::start([]).await;
    let transport = server.builder().build_transport().unwrap();
    transport.start().unwrap();
    for message in ["", "{}", "[]", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
        assert!(transport.send(message).await.unwrap_err().is_usage(), "{message}");
    }
    assert!(transport.send(CALL).header("mcp-method", "x").await.unwrap_err().is_usage());
    assert!(server.requests().is_empty());
}

// S13
#[tokio::test]
async fn whatever_answers_a_notification_is_fine() {
    let replies = [
        Reply::head("200 OK", "", ""),
        Reply::raw("HTTP/1.1 204 No Content\r\n\r\n"),
        Reply::json(&error(1, "2")),
        Reply::body("200 OK", "text/html", "<html>"),
        Reply::json(&result(OK)),
    ];
    let server = Server::start(replies.clone()).await;
    let transport = server.builder().build_transport().unwrap();
    transport.start().unwrap();
    for _ in 1..replies.len() {
        transport.send(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await.unwrap();
    }
    transport.send(CALL).await.unwrap();
}

#[tokio::test]
async fn a_reply_has_a_listener_of_its_own() {
    let refusal = Reply::body("400 Bad Request", "application/json", &error(-32602, "2"));
    let server = Server::start([Reply::sse(&[LOG, &result(OK)]), refusal]).await;
    let transport = server.builder().build_transport().unwrap();
    transport.start().unwrap();
    let hear = |heard: &Heard| {
        let heard = Arc::clone(heard);
        move |message: &bytes::Bytes| {
            heard.lock().unwrap().push(String::from_utf8(message.to_vec()).unwrap());
        }
    };
    let (everything, _subscription) = listen(&transport);
    let (first, second) = (Heard::default(), Heard::default());
    transport.send(CALL).on_message(hear(&first)).await.unwrap();
    transport.send(CALL).on_message(hear(&second)).await.unwrap_err();

    let id = |text: String| text.replace("{id}", "\"a\"");
    assert_eq!(*first.lock().unwrap(), [LOG.to_owned(), id(result(OK))]);
    assert_eq!(*second.lock().unwrap(), [id(error(-32602, "2"))]);
    assert_eq!(everything.lock().unwrap().len(), 3);
}
