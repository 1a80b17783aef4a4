//! Redirects. S17.

use crate::support::{OK, Reply, Server, call, result};

fn redirect(status: u16, location: &str) -> Reply {
    Reply::head(&format!("{status} Elsewhere"), &format!("location: {location}\r\n"), "moved")
}

#[tokio::test]
async fn the_same_origin_gets_the_same_request() {
    for status in [307, 308] {
        let server = Server::start([redirect(status, "/mcp/"), Reply::json(&result(OK))]).await;
        let client = server.builder().header("authorization", "Bearer x").unwrap().build().unwrap();
        assert_eq!(call(&client).await.unwrap(), "ok");
        let requests = server.requests();
        assert!(requests[1].head.starts_with("POST /mcp/ HTTP/1.1\r\n"));
        assert_eq!(requests[0].body, requests[1].body);
        let lines = |nth: usize| requests[nth].head.lines().skip(1).collect::<Vec<_>>();
        assert_eq!(lines(0), lines(1));
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn not_for_ever() {
    let server = Server::start((0..10).map(|_| redirect(307, "/mcp"))).await;
    let error = call(&server.client()).await.unwrap_err();
    assert!(error.is_protocol(), "{error:?}");
    assert_eq!(server.requests().len(), 1 + mcp_client::Limits::REDIRECTS);
}

#[tokio::test]
async fn elsewhere_is_an_error() {
    for (status, location) in [(301, "/mcp/"), (302, "/"), (303, "/"), (307, "http://example.com/")]
    {
        let server = Server::start([redirect(status, location)]).await;
        let error = call(&server.client()).await.unwrap_err();
        assert_eq!(error.status().unwrap().as_u16(), status);
        let text = error.to_string();
        assert!(text.contains(&status.to_string()) && text.contains(location), "{text}");
        assert_eq!(error.headers().unwrap()["location"], location);
        assert_eq!(server.requests().len(), 1);
    }
}
