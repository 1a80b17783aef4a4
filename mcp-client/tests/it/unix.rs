//! HTTP over Unix sockets.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_client::{Cache, Client};

use crate::support::{NO_TOOLS, OK, Reply, Server, call, result};

/// A path for a socket that no other test has, removed when it is dropped.
struct Socket(PathBuf);

impl Socket {
    fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let nth = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-client-{}-{nth}.sock", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn requests_name_the_local_host() {
    let socket = Socket::new();
    let server =
        Server::start_unix(&socket.0, [Reply::json(&result(OK)), Reply::sse(&[&result(OK)])]);
    let client = Client::unix(&socket.0);
    for _ in 0..2 {
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
    let requests = server.requests();
    assert!(requests[0].head.starts_with("POST /mcp HTTP/1.1\r\n"), "{}", requests[0].head);
    assert_eq!(requests[0].header("host"), Some("localhost"));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_url_says_host_and_path() {
    let socket = Socket::new();
    let server = Server::start_unix(&socket.0, [Reply::json(&result(OK))]);
    let client =
        Client::builder("http://tools.example:81/a/mcp?x=1").unix(&socket.0).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    let requests = server.requests();
    assert!(requests[0].head.starts_with("POST /a/mcp?x=1 HTTP/1.1\r\n"), "{}", requests[0].head);
    assert_eq!(requests[0].header("host"), Some("tools.example:81"));
}

#[tokio::test]
async fn no_socket_is_no_connection() {
    let socket = Socket::new();
    let error = call(&Client::unix(&socket.0)).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}

#[tokio::test]
async fn errors_tell_the_socket() {
    let socket = Socket::new();
    let _server =
        Server::start_unix(&socket.0, [Reply::body("502 Bad Gateway", "text/plain", "no")]);
    let client = Client::unix(&socket.0);
    let error = call(&client).await.unwrap_err().to_string();
    let address = format!("unix:{}:/mcp", socket.0.display());
    assert_eq!(error, format!("{address} answered with status 502: no"));
    assert!(format!("{client:?}").contains(&address), "{client:?}");
}

// Two sockets are two servers, though their URL is the same.
#[tokio::test]
async fn caches_tell_sockets_apart() {
    let cache = Cache::new();
    let tools = NO_TOOLS.replace('}', r#","ttlMs":60000,"cacheScope":"public"}"#);
    for _ in 0..2 {
        let socket = Socket::new();
        let server = Server::start_unix(&socket.0, [Reply::json(&result(&tools))]);
        let builder = Client::builder("http://localhost/mcp").unix(&socket.0);
        let client = builder.cache(cache.clone()).build().unwrap();
        for _ in 0..2 {
            client.list_tools().await.unwrap();
        }
        assert_eq!(server.requests().len(), 1);
    }
}
