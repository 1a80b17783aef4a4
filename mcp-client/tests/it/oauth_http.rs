//! What requests for tokens are sent over, and where they do not go.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use mcp_client::Client;
use mcp_client::oauth::{Challenge, Policy};
use serde_json::json;
use tower_service::Service;

use crate::support::provider::{AS, PRM, Provider};

/// An HTTP stack of the application's, which answers from a table and keeps what it was asked.
#[derive(Clone, Default)]
struct Own {
    answers: Arc<Mutex<Vec<(String, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Own {
    fn on(&self, url: &str, body: &serde_json::Value) {
        self.answers.lock().unwrap().push((url.to_owned(), body.to_string()));
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Service<Request<Full<Bytes>>> for Own {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let url = request.uri().to_string();
        let answers = self.answers.lock().unwrap();
        let found = answers.iter().find(|(known, _)| *known == url).map(|(_, body)| body.clone());
        let mut response = Response::new(Full::from(found.clone().unwrap_or_default()));
        if found.is_none() {
            *response.status_mut() = http::StatusCode::NOT_FOUND;
        }
        self.asked.lock().unwrap().push(url);
        ready(Ok(response))
    }
}

const SERVER: &str = "https://mcp.example.com/mcp";
const PLACE: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

// O19: whatever stack the application brings sees every request.
#[tokio::test]
async fn a_service_of_the_application_sees_all() {
    let own = Own::default();
    own.on(
        PLACE,
        &json!({ "resource": SERVER, "authorization_servers": ["https://auth.example.com"] }),
    );
    let metadata = "https://auth.example.com/.well-known/oauth-authorization-server";
    own.on(metadata, &json!({ "issuer": "https://auth.example.com" }));
    let builder = Client::builder(SERVER).service(own.clone()).header("x-key", "s3cret").unwrap();
    let fetcher = builder.build_fetcher(Policy::new()).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    discovered.identify("https://auth.example.com").await.unwrap();
    assert_eq!(own.asked(), [PLACE, metadata]);
}

#[tokio::test]
async fn servers_without_encryption_get_no_tokens() {
    for url in ["http://mcp.example.com/mcp", "http://10.0.0.1/mcp"] {
        let error = Client::builder(url).build_fetcher(Policy::new()).unwrap_err();
        assert!(error.is_usage());
    }
}

// Literal addresses are looked at whoever sends the request; nothing is sent.
#[tokio::test]
async fn addresses_of_private_networks_are_not_asked() {
    let hosts = [
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "127.0.0.1",
        "localhost",
        "a.localhost",
        "[::1]",
        "[::]",
        "[fd00::1]",
        "[fe80::1]",
        "[ff02::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::a00:1]",
        "2130706433",
        "0x7f.1",
        "127.1",
    ];
    for host in hosts {
        let own = Own::default();
        let fetcher = || {
            let builder = Client::builder(SERVER).service(own.clone());
            builder.build_fetcher(Policy::new()).unwrap()
        };
        // Named by a challenge.
        let place = format!("https://{host}/metadata");
        let challenge = Challenge::new("Bearer").with("resource_metadata", &place);
        let error = fetcher().discover(&[challenge]).await.unwrap_err();
        assert!(error.is_unsafe(), "{host}: {error}");
        assert!(!own.asked().iter().any(|url| url.contains("metadata") && !url.contains("mcp.")));
        // Named as an issuer.
        let issuer = format!("https://{host}");
        own.on(PLACE, &json!({ "resource": SERVER, "authorization_servers": [issuer] }));
        let discovered = fetcher().discover(&[]).await.unwrap();
        let error = discovered.identify(&issuer).await.unwrap_err();
        assert!(error.is_unsafe() || error.is_discovery(), "{host}: {error}");
        assert!(
            own.asked().iter().all(|url| url.starts_with("https://mcp.example.com/")),
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_policy_allows_a_host_by_its_name() {
    let own = Own::default();
    own.on(PLACE, &json!({ "resource": SERVER, "authorization_servers": ["https://10.0.0.1"] }));
    own.on(
        "https://10.0.0.1/.well-known/oauth-authorization-server",
        &json!({ "issuer": "https://10.0.0.1" }),
    );
    let policy = Policy::new().allow_private_host("10.0.0.1");
    let fetcher = Client::builder(SERVER).service(own.clone()).build_fetcher(policy).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    discovered.identify("https://10.0.0.1").await.unwrap();
}

#[tokio::test]
async fn without_encryption_nobody_is_asked() {
    let own = Own::default();
    own.on(
        PLACE,
        &json!({ "resource": SERVER, "authorization_servers": ["http://auth.example.com"] }),
    );
    let fetcher = Client::builder(SERVER).service(own.clone());
    let fetcher = fetcher.build_fetcher(Policy::new()).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    let error = discovered.identify("http://auth.example.com").await.unwrap_err();
    assert!(error.is_unsafe(), "{error}");
    assert_eq!(own.asked(), [PLACE]);
}

#[tokio::test(start_paused = true)]
async fn silence_has_an_end() {
    /// Never answers.
    #[derive(Clone)]
    struct Silent;

    impl Service<Request<Full<Bytes>>> for Silent {
        type Response = Response<Full<Bytes>>;
        type Error = Infallible;
        type Future = std::future::Pending<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _request: Request<Full<Bytes>>) -> Self::Future {
            std::future::pending()
        }
    }

    let fetcher = Client::builder(SERVER).service(Silent).build_fetcher(Policy::new()).unwrap();
    let error = fetcher.discover(&[]).await.unwrap_err();
    assert!(error.is_transport());
    assert!(error.to_string().contains("no answer within 30s"), "{error}");
}

// O19.
#[cfg(feature = "proxy")]
#[tokio::test]
async fn proxies_are_taken() {
    let proxy = Provider::start().await;
    let builder = proxy.builder().proxy(&proxy.origin).unwrap();
    let fetcher = builder.build_fetcher(Policy::new()).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    discovered.identify(&proxy.origin).await.unwrap();
    assert_eq!(proxy.lines(), [PRM, AS]);
    // A server whose name nobody but the proxy knows.
    let server = Client::builder("http://nowhere.localhost:1/mcp").proxy(&proxy.origin).unwrap();
    let fetcher = server.build_fetcher(Policy::new()).unwrap();
    fetcher.discover(&[]).await.unwrap_err();
    let line = "GET http://nowhere.localhost:1/.well-known/oauth-protected-resource/mcp";
    assert_eq!(proxy.lines()[2], line);
}

// O19.
#[cfg(feature = "tls")]
#[tokio::test]
async fn roots_of_the_application_are_trusted() {
    let authority = crate::support::Authority::new();
    let config = authority.identity("localhost").server(&[]);
    let provider = Provider::bare_tls(config).await;
    provider.describe();
    let builder = provider.builder().root_certificates(authority.pem()).unwrap();
    let fetcher = builder.build_fetcher(Policy::new()).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    discovered.identify(&provider.origin).await.unwrap();
    assert_eq!(provider.lines(), [PRM, AS]);

    let error = provider.fetcher().discover(&[]).await.unwrap_err();
    assert!(error.is_transport(), "{error}");
    assert_eq!(provider.lines().len(), 2);
}

/// The server's socket is the way to the server, and to nobody else.
#[cfg(unix)]
#[tokio::test]
async fn a_socket_leads_to_the_server_alone() {
    let provider = Provider::start().await;
    let path = std::env::temp_dir().join(format!("mcp-oauth-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let socket = Provider::bare_unix(&path);
    socket.on(
        PRM,
        "200 OK",
        &json!({ "resource": "http://localhost/mcp", "authorization_servers": [provider.origin] }),
    );
    let builder = Client::builder("http://localhost/mcp").unix(&path);
    let fetcher = builder.build_fetcher(Policy::new()).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    discovered.identify(&provider.origin).await.unwrap();
    assert_eq!(socket.lines(), [PRM]);
    assert_eq!(provider.lines(), [AS]);
    std::fs::remove_file(&path).unwrap();
}
