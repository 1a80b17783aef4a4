//! https:// URLs.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_client::rustls::{self, AlertDescription, CertificateError, ServerConfig};
use mcp_client::types::SubscriptionFilter;
use mcp_client::{Cache, Change, Client, Error, Retry};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{Authority, OK, Reply, Server, call, result, story};

const ACK: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":{id}},"notifications":{"toolsListChanged":true}}}"#;
const CHANGE: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":{id}}}}"#;

fn client(url: &str, authority: &Authority) -> Client {
    let builder = Client::builder(url).root_certificates(authority.pem()).unwrap();
    builder.build().unwrap()
}

/// A server that is known as `localhost`, and a client that trusts it.
async fn pair(replies: impl IntoIterator<Item = Reply>) -> (Server, Client) {
    let authority = Authority::new();
    let server = Server::start_tls(authority.identity("localhost").server(&[]), replies).await;
    let client = client(&server.url, &authority);
    (server, client)
}

/// What rustls says, and that nothing reached the server.
async fn refused(client: &Client) -> rustls::Error {
    let error = call(client).await.unwrap_err();
    assert!(error.is_connect(), "{}", story(&error));
    cause(&error).unwrap_or_else(|| panic!("{}", story(&error)))
}

fn cause(error: &Error) -> Option<rustls::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(rustls::Error::clone(error));
        }
        cause = error.source();
    }
    None
}

#[tokio::test]
async fn calls_share_a_connection() {
    let kinds = [Reply::json(&result(OK)), Reply::sse(&[&result(OK)])];
    let (server, client) = pair(kinds.iter().cycle().take(10).cloned()).await;
    for _ in 0..10 {
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
    assert_eq!(server.requests()[0].header("host"), Some(&*server.host));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_large_result_comes_whole() {
    let text = "x".repeat(1 << 20);
    let big = OK.replace("\"ok\"", &format!("\"{text}\""));
    let (_server, client) = pair([Reply::json(&result(&big))]).await;
    assert_eq!(call(&client).await.unwrap(), text);
}

#[tokio::test]
async fn a_subscription_goes_on() {
    let (server, client) = pair([Reply::open_sse(&[ACK, CHANGE])]).await;
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    assert!(matches!(changes.next().await, Some(Change::Tools)));
    drop(changes);
    server.closed().await;
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (server, client) = pair([Reply::raw("").hang()]).await;
    let call = tokio::spawn(client.call_tool("t", ()).into_future());
    server.received().await;
    call.abort();
    server.closed().await;
}

#[tokio::test]
async fn both_agree_on_a_protocol() {
    for (alpn, version) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0"),
        (&["h2"], "HTTP/2.0"),
        (&["http/1.1"], "HTTP/1.1"),
        (&[], "HTTP/1.1"),
    ] {
        let authority = Authority::new();
        let url = versions(authority.identity("localhost").server(alpn)).await;
        let client = client(&url, &authority);
        for _ in 0..2 {
            assert_eq!(call(&client).await.unwrap(), version, "{alpn:?}");
        }
    }
}

#[tokio::test]
async fn http2_alone_is_offered_where_nothing_else_is_spoken() {
    let authority = Authority::new();
    for (alpn, speaks) in [("h2", true), ("http/1.1", false)] {
        let url = versions(authority.identity("localhost").server(&[alpn])).await;
        let builder = Client::builder(url).root_certificates(authority.pem()).unwrap();
        let client = builder.http2_prior_knowledge().build().unwrap();
        if speaks {
            assert_eq!(call(&client).await.unwrap(), "HTTP/2.0");
        } else {
            let alert = AlertDescription::NoApplicationProtocol;
            assert_eq!(refused(&client).await, rustls::Error::AlertReceived(alert));
        }
    }
}

/// A server whose tool says which version of HTTP it was called in.
async fn versions(config: ServerConfig) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let (io, service) = (TokioIo::new(stream), service_fn(version));
                if is_http2 {
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    drop(server.serve_connection(io, service).await);
                } else {
                    let server = hyper::server::conn::http1::Builder::new();
                    drop(server.serve_connection(io, service).await);
                }
            });
        }
    });
    url
}

async fn version(request: Request<Incoming>) -> hyper::Result<Response<Full<bytes::Bytes>>> {
    let version = format!("\"{:?}\"", request.version());
    let body = request.into_body().collect().await?.to_bytes();
    let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let answer =
        result(&OK.replace("\"ok\"", &version)).replace("{id}", &message["id"].to_string());
    let response = Response::builder().header("content-type", "application/json");
    Ok(response.body(Full::new(answer.into())).unwrap())
}

#[tokio::test]
async fn a_certificate_that_does_not_verify_is_no_connection() {
    let (authority, other) = (Authority::new(), Authority::new());
    let table = [
        ("another name", authority.identity("example.com")),
        ("another root", other.identity("localhost")),
        ("over", authority.expired("localhost")),
    ];
    for (name, identity) in table {
        let server = Server::start_tls(identity.server(&[]), [Reply::json(&result(OK))]).await;
        let client = client(&server.url, &authority);
        let rustls::Error::InvalidCertificate(error) = refused(&client).await else {
            panic!("{name}");
        };
        let expected = match name {
            "another name" => matches!(error, CertificateError::NotValidForNameContext { .. }),
            "another root" => matches!(error, CertificateError::UnknownIssuer),
            _ => matches!(error, CertificateError::ExpiredContext { .. }),
        };
        assert!(expected, "{name}: {error:?}");
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn a_certificate_is_not_tried_again() {
    let (authority, other) = (Authority::new(), Authority::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let acceptor = TlsAcceptor::from(Arc::new(other.identity("localhost").server(&[])));
    let handshakes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&handshakes);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            drop(acceptor.accept(stream).await);
        }
    });
    let builder = Client::builder(url).root_certificates(authority.pem()).unwrap();
    let client = builder.retry(Retry::new()).build().unwrap();
    let error = client.call_tool("t", ()).idempotent().await.unwrap_err();
    assert_eq!(error.to_string(), "the certificate of the server is not trusted");
    assert_eq!(handshakes.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn addresses_have_certificates_too() {
    let authority = Authority::new();
    let config = authority.identity("127.0.0.1").server(&[]);
    let server = Server::start_tls(config, [Reply::json(&result(OK))]).await;
    let client = client(&server.url.replace("localhost", "127.0.0.1"), &authority);
    assert_eq!(call(&client).await.unwrap(), "ok");
}

#[tokio::test]
async fn plain_http_is_no_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
            drop(tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await);
        }
    });
    let error = refused(&client(&url, &Authority::new())).await;
    assert!(matches!(error, rustls::Error::InvalidMessage(_)), "{error:?}");
}

#[tokio::test]
async fn tls_is_no_plain_http() {
    let (server, _) = pair([]).await;
    let client = Client::http(server.url.replace("https", "http")).unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_transport(), "{error:?}");
}

// S17: what is beside the message was meant for nobody on the way.
#[tokio::test]
async fn no_redirect_leads_out_of_tls() {
    let plain = Server::start([Reply::json(&result(OK))]).await;
    let port = plain.host.rsplit_once(':').unwrap().1;
    let location = format!("location: http://localhost:{port}/mcp\r\n");
    let (server, client) = pair([Reply::head("307 Elsewhere", &location, "moved")]).await;
    let error = call(&client).await.unwrap_err();
    assert!(error.is_protocol() && error.to_string().contains("another origin"), "{error}");
    assert_eq!((server.requests().len(), plain.requests().len()), (1, 0));
}

#[tokio::test]
async fn a_client_shows_who_it_is() {
    let authority = Authority::new();
    let start = || {
        let config = authority.server_for_known(authority.identity("localhost"));
        Server::start_tls(config, [Reply::json(&result(OK))])
    };
    let server = start().await;
    let known = authority.client(Some(authority.identity("client")));
    let client = Client::builder(&server.url).tls(known).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");

    // With TLS 1.3 that is found out when the handshake is over on this side.
    let server = start().await;
    let client = Client::builder(&server.url).tls(authority.client(None)).build().unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_transport(), "{}", story(&error));
    assert!(story(&error).contains("CertificateRequired"), "{}", story(&error));
    assert!(server.requests().is_empty());
}

// K3: a certificate is an authorization as well as a header is.
#[tokio::test]
async fn private_answers_belong_to_a_certificate() {
    let authority = Authority::new();
    let tools = r#"{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"private"}"#;
    let config = authority.server_for_known(authority.identity("localhost"));
    let server = Server::start_tls(config, (0..2).map(|_| Reply::json(&result(tools)))).await;
    let cache = Cache::new();
    for name in ["one", "other"] {
        let config = authority.client(Some(authority.identity(name)));
        let builder = Client::builder(&server.url).tls(config).cache(cache.clone());
        let client = builder.build().unwrap();
        client.list_tools().await.unwrap();
        client.list_tools().await.unwrap();
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn what_a_configuration_says_of_protocols_is_replaced() {
    let authority = Authority::new();
    let url = versions(authority.identity("localhost").server(&["h2", "http/1.1"])).await;
    let mut config = authority.client(None);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let client = Client::builder(url).tls(config).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "HTTP/2.0");
}

#[test]
fn roots_are_checked() {
    let authority = Authority::new();
    let broken = authority.pem().replace("MII", "!!!");
    for pem in ["", "no PEM", &broken] {
        let error = Client::builder("https://h/").root_certificates(pem).unwrap_err();
        assert!(error.is_usage(), "{error:?}");
    }
    let empty = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
    let builder = Client::builder("https://h/").root_certificates(empty).unwrap();
    assert!(builder.build().unwrap_err().is_usage());

    let builder = Client::builder("https://h/").tls(authority.client(None));
    let error = builder.root_certificates(authority.pem()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("of its own"), "{error}");
}

// Several roots are one file as a rule.
#[tokio::test]
async fn all_roots_of_a_file_are_trusted() {
    let authorities = [Authority::new(), Authority::new()];
    let pem = format!("# ours\n{}\n{}", authorities[0].pem(), authorities[1].pem());
    for authority in &authorities {
        let config = authority.identity("localhost").server(&[]);
        let server = Server::start_tls(config, [Reply::json(&result(OK))]).await;
        let client = Client::builder(&server.url).root_certificates(&pem).unwrap().build().unwrap();
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
}

// A company's own authority is one of the system. In a process of its own, which has variables of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn whom_the_system_trusts_is_trusted() {
    let authority = Authority::new();
    let config = authority.identity("localhost").server(&[]);
    let server = Server::start_tls(config, [Reply::json(&result(OK))]).await;
    let roots = std::env::temp_dir().join(format!("mcp-client-{}.pem", std::process::id()));
    std::fs::write(&roots, authority.pem()).unwrap();
    let mut told = Vec::new();
    for file in [&*roots, std::path::Path::new("/nowhere/at/all.pem")] {
        let mut process = tokio::process::Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "tls::as_the_system_says", "--ignored", "--nocapture"]);
        process.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", file).env(ASKED, &server.url);
        let output = process.output().await.unwrap();
        told.push(String::from_utf8(output.stdout).unwrap());
    }
    std::fs::remove_file(roots).unwrap();
    assert!(told[0].contains("called: ok"), "{told:?}");
    assert!(told[1].contains("TLS cannot be set up: ") && told[1].contains("No CA"), "{told:?}");
    assert_eq!(server.requests().len(), 1);
}

/// Has the URL where the environment is that of the test above.
#[cfg(target_os = "linux")]
const ASKED: &str = "MCP_CLIENT_TEST_TLS";

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "is run by the test above"]
async fn as_the_system_says() {
    if let Ok(url) = std::env::var(ASKED) {
        match Client::http(url) {
            Ok(client) => println!("called: {}", call(&client).await.unwrap()),
            Err(error) => println!("{}", story(&error)),
        }
    }
}
