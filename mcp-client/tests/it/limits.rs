//! What a server may send, and not a byte more. S9, S10.

use mcp_client::Limits;

use crate::support::{OK, Reply, Server, call, result};

fn limits(set: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits);
    limits
}

/// The response to the first request.
fn response() -> String {
    result(OK).replace("{id}", "1")
}

#[tokio::test]
async fn a_json_reply_is_bounded() {
    let size = response().len();
    let chunked = |body: &str| {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
        Reply::raw(format!("{head}\r\n\r\n{:x}\r\n{body}\r\n", body.len()))
    };
    for (limit, fits) in [(size, true), (size - 1, false), (0, false)] {
        for reply in [Reply::json(&response()), chunked(&response()).ended()] {
            let server = Server::start([reply]).await;
            let limits = limits(|limits| limits.body = limit);
            let answer = call(&server.builder().limits(limits).build().unwrap()).await;
            assert_eq!(answer.is_ok(), fits);
            assert!(answer.is_ok() || answer.is_err_and(|error| error.is_too_large()));
        }
    }
    // Without an end.
    let server = Server::start([chunked(&"x".repeat(1000)).hang()]).await;
    let limits = limits(|limits| limits.body = 999);
    let error = call(&server.builder().limits(limits).build().unwrap()).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");
    assert_eq!(error.status().unwrap(), 200);
    server.closed().await;
}

#[tokio::test]
async fn an_event_is_bounded() {
    let size = response().len();
    for (limit, fits) in [(size, true), (size - 1, false)] {
        let server = Server::start([Reply::sse(&[&response()])]).await;
        let limits = limits(|limits| limits.event = limit);
        let answer = call(&server.builder().limits(limits).build().unwrap()).await;
        assert_eq!(answer.is_ok(), fits);
        assert!(answer.is_ok() || answer.is_err_and(|error| error.is_too_large()));
    }
    let server = Server::start([Reply::chunks(["data: ", &"x".repeat(5000)]).hang()]).await;
    let limits = limits(|limits| limits.event = 4000);
    let error = call(&server.builder().limits(limits).build().unwrap()).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");
    server.closed().await;
}

#[tokio::test]
async fn error_bodies_are_bounded_and_the_status_counts() {
    let endless = |status: &str, content_type: &str| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}");
        let body = "x".repeat(1000);
        let chunk = format!("{:x}\r\n{body}\r\n", body.len());
        Reply::raw(format!("{head}\r\ntransfer-encoding: chunked\r\n\r\n{}", chunk.repeat(20)))
            .hang()
    };
    for (status, content_type) in [
        ("500 Oops", "text/plain"),
        ("401 Unauthorized", "text/html"),
        ("400 No", "application/json"),
    ] {
        let server = Server::start([endless(status, content_type)]).await;
        let limits = limits(|limits| limits.error_body = 10_000);
        let error = call(&server.builder().limits(limits).build().unwrap()).await.unwrap_err();
        assert!(status.starts_with(error.status().unwrap().as_str()));
        assert!(error.to_string().len() < 400);
        server.closed().await;
    }
}
