//! Proxies. What the environment may say is tested where it is read; nothing here touches the variables of the process.

use std::sync::{Arc, Mutex};

use mcp_client::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Log, OK, Reply, Server, call, hear, result, story};

/// Of `user:s3cret`.
const BASIC: &str = "Basic dXNlcjpzM2NyZXQ=";

/// A client of a server far away, that goes through what these variables say.
fn client(url: &str, variables: &[(&str, &str)]) -> Client {
    let lookup = |name: &str| {
        let found = variables.iter().find(|(set, _)| *set == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Client::builder(url).proxy_variables(lookup).build().unwrap()
}

/// A proxy that opens tunnels, all of them to the same server, and keeps what it was asked for.
struct Tunnels {
    host: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Tunnels {
    /// Answers each CONNECT with this status.
    async fn start(server: String, status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (server, seen) = (server.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    seen.lock().unwrap().push(String::from_utf8(head).unwrap());
                    let answer = format!("HTTP/1.1 {status}\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    if status.starts_with("200") {
                        let mut server = TcpStream::connect(server).await.unwrap();
                        let _ = copy_bidirectional(&mut stream, &mut server).await;
                    }
                });
            }
        });
        Self { host, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn requests_are_forwarded_in_absolute_form() {
    let proxy = Server::start([Reply::json(&result(OK)), Reply::json(&result(OK))]).await;
    let address = format!("http://user:s3cret@{}", proxy.host);
    let client = client("http://tools.example/mcp?x=1", &[("HTTP_PROXY", &address)]);
    for _ in 0..2 {
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
    for request in proxy.requests() {
        let first = request.head.lines().next();
        assert_eq!(first, Some("POST http://tools.example/mcp?x=1 HTTP/1.1"));
        assert_eq!(request.header("host"), Some("tools.example"));
        assert_eq!(request.header("proxy-authorization"), Some(BASIC));
    }
    assert_eq!(proxy.connections(), 1);
}

// In a process of its own, which has variables of its own.
#[tokio::test]
async fn the_environment_is_asked_by_default() {
    let proxy = Server::start([Reply::json(&result(OK))]).await;
    let mut process = tokio::process::Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "proxy::as_the_environment_says", "--ignored"]);
    for name in ["HTTP_PROXY", "NO_PROXY", "no_proxy", "REQUEST_METHOD"] {
        process.env_remove(name);
    }
    let output = process.env("http_proxy", &proxy.host).env(ASKED, "yes").output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(proxy.requests()[0].head.starts_with("POST http://tools.example/mcp "));
}

/// Set where the environment is that of the test above.
const ASKED: &str = "MCP_CLIENT_TEST_PROXY";

#[tokio::test]
#[ignore = "is run by the test above"]
async fn as_the_environment_says() {
    if std::env::var_os(ASKED).is_some() {
        let client = Client::http("http://tools.example/mcp").unwrap();
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn without_credentials_none_are_sent() {
    let proxy = Server::start([Reply::json(&result(OK))]).await;
    assert_eq!(call(&client("http://h/", &[("all_proxy", &proxy.host)])).await.unwrap(), "ok");
    assert_eq!(proxy.requests()[0].header("proxy-authorization"), None);
}

// A server that is no proxy never sees what was meant for one.
#[tokio::test]
async fn hosts_that_are_excepted_are_called_directly() {
    let nowhere = "http://user:s3cret@127.0.0.1:1";
    let server = Server::start([Reply::json(&result(OK)), Reply::json(&result(OK))]).await;
    // As a local one, and because it is named.
    for variables in [&[("ALL_PROXY", nowhere)][..], &[("ALL_PROXY", nowhere), ("NO_PROXY", "*")]] {
        assert_eq!(call(&client(&server.url, variables)).await.unwrap(), "ok");
    }
    for request in server.requests() {
        assert!(request.head.starts_with("POST /mcp "), "{}", request.head);
        assert_eq!(request.header("proxy-authorization"), None);
    }
}

#[tokio::test]
async fn one_that_is_set_is_for_all() {
    let proxy = Server::start([Reply::json(&result(OK))]).await;
    let client = Client::builder("http://localhost:1/mcp").proxy(&proxy.host).unwrap();
    assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
    assert!(proxy.requests()[0].head.starts_with("POST http://localhost:1/mcp "));

    let server = Server::start([Reply::json(&result(OK))]).await;
    let client = server.builder().proxy("http://127.0.0.1:1").unwrap().no_proxy();
    assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
}

// What speaks HTTP/2 at once has to speak to the server itself.
#[tokio::test]
async fn http2_goes_through_a_tunnel() {
    let proxy = Tunnels::start(String::new(), "403 Forbidden").await;
    let builder = Client::builder("http://tools.example/mcp").proxy(&proxy.host).unwrap();
    let client = builder.http2_prior_knowledge().build().unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_connect(), "{}", story(&error));
    assert!(proxy.asked()[0].starts_with("CONNECT tools.example:80 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_proxy_that_wants_credentials_says_so() {
    let proxy = Server::start([Reply::body("407 Proxy Auth", "text/plain", "who are you?")]).await;
    let error = call(&client("http://h/", &[("http_proxy", &proxy.host)])).await.unwrap_err();
    assert_eq!(error.status().unwrap().as_u16(), 407);

    let proxy = Tunnels::start(String::new(), "407 Proxy Authentication Required").await;
    let builder = Client::builder("http://h/").proxy(format!("user:s3cret@{}", proxy.host));
    let client = builder.unwrap().http2_prior_knowledge().build().unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_connect() && story(&error).contains("authorization"), "{}", story(&error));
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_no_connection() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for scheme in ["http", "socks5", "socks5h"] {
        let builder = Client::builder("http://h/").proxy(format!("{scheme}://{closed}")).unwrap();
        let builder = if scheme == "http" { builder } else { builder.http2_prior_knowledge() };
        let error = call(&builder.build().unwrap()).await.unwrap_err();
        assert!(error.is_connect(), "{scheme}: {}", story(&error));
    }
}

#[tokio::test]
async fn passwords_are_told_to_nobody() {
    let log = Log::default();
    let _heard = hear(log.clone());
    let proxy = Server::start([Reply::body("502 Bad Gateway", "text/plain", "no")]).await;
    for url in [
        format!("http://user:s3cret@{}", proxy.host),
        "http://user:s3cret@127.0.0.1:1".to_owned(),
        "socks5h://user:s3cret@127.0.0.1:1".to_owned(),
    ] {
        let builder = Client::builder("http://h/").proxy(url).unwrap();
        let shown = format!("{builder:?}");
        let client = builder.build().unwrap();
        let error = call(&client).await.unwrap_err();
        let told = format!("{shown} {client:?} {error:?} {}", story(&error));
        assert!(!told.contains("s3cret") && !told.contains("dXNlc"), "{told}");
    }
    let error = Client::builder("http://h/").proxy("ftp://user:s3cret@p").unwrap_err();
    assert!(error.is_usage() && !format!("{error:?}").contains("s3cret"), "{error:?}");
    for line in log.lines() {
        assert!(!line.contains("s3cret") && !line.contains("dXNlc"), "{line}");
    }
}

/// A SOCKS 5 proxy for one connection, and the message that asked it for one.
async fn socks(server: String) -> (String, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = vec![0; 3];
        stream.read_exact(&mut asked).await.unwrap();
        stream.write_all(&[5, asked[2]]).await.unwrap();
        if asked[2] == 2 {
            let mut login = [0; 13];
            stream.read_exact(&mut login).await.unwrap();
            assert_eq!(&login, b"\x01\x04user\x06s3cret");
            stream.write_all(&[1, 0]).await.unwrap();
        }
        let mut wanted = vec![0; 4];
        stream.read_exact(&mut wanted).await.unwrap();
        let rest = match wanted[3] {
            1 => 4,
            3 => usize::from(stream.read_u8().await.unwrap()),
            4 => 16,
            kind => panic!("{kind}"),
        };
        let mut address = vec![0; rest + 2];
        stream.read_exact(&mut address).await.unwrap();
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        wanted.extend(address);
        let mut server = TcpStream::connect(server).await.unwrap();
        tokio::spawn(async move { copy_bidirectional(&mut stream, &mut server).await });
        wanted
    });
    (host, asked)
}

#[tokio::test]
async fn socks_looks_names_up_here_or_there() {
    for scheme in ["socks5", "socks5h"] {
        let server = Server::start([Reply::json(&result(OK))]).await;
        let (host, asked) = socks(server.host.clone()).await;
        let builder = Client::builder("http://localhost/mcp");
        let client = builder.proxy(format!("{scheme}://user:s3cret@{host}")).unwrap();
        assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
        let asked = asked.await.unwrap();
        if scheme == "socks5h" {
            assert_eq!(asked, b"\x05\x01\x00\x03localhost\x00\x50");
        } else {
            // Of version 4 or 6, as this machine has it.
            assert!(matches!(asked[3], 1 | 4) && asked.ends_with(b"\x01\x00\x50"), "{asked:?}");
        }
        let requests = server.requests();
        assert!(requests[0].head.starts_with("POST /mcp HTTP/1.1\r\n"), "{}", requests[0].head);
        assert_eq!(requests[0].header("proxy-authorization"), None);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_has_no_proxy() {
    let path = std::env::temp_dir().join(format!("mcp-client-proxy-{}.sock", std::process::id()));
    let _server = Server::start_unix(&path, [Reply::json(&result(OK))]);
    let builder = Client::builder("http://h/mcp").proxy("http://127.0.0.1:1").unwrap();
    let client = builder.unix(&path).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    std::fs::remove_file(path).unwrap();
}

#[cfg(feature = "tls")]
mod secured {
    use mcp_client::ClientBuilder;

    use super::*;
    use crate::support::Authority;

    fn builder(url: &str, authority: &Authority) -> ClientBuilder {
        Client::builder(url).root_certificates(authority.pem()).unwrap()
    }

    #[tokio::test]
    async fn https_goes_through_a_tunnel() {
        let authority = Authority::new();
        let config = authority.identity("tools.example").server(&[]);
        let server = Server::start_tls(config, [Reply::json(&result(OK))]).await;
        let proxy = Tunnels::start(server.host.clone(), "200 OK").await;
        let client = builder("https://tools.example/mcp", &authority)
            .header("authorization", "Bearer t0ken")
            .unwrap()
            .proxy(format!("http://user:s3cret@{}", proxy.host))
            .unwrap();
        assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
        let connect = format!(
            "CONNECT tools.example:443 HTTP/1.1\r\nHost: tools.example:443\r\n\
             Proxy-Authorization: {BASIC}\r\n\r\n"
        );
        assert_eq!(proxy.asked(), [connect]);
        let requests = server.requests();
        assert!(requests[0].head.starts_with("POST /mcp HTTP/1.1\r\n"), "{}", requests[0].head);
        assert_eq!(requests[0].header("authorization"), Some("Bearer t0ken"));
        assert_eq!(requests[0].header("proxy-authorization"), None);
    }

    // The proxy may point anywhere, but cannot be somebody.
    #[tokio::test]
    async fn the_name_is_that_of_the_server() {
        let authority = Authority::new();
        let config = authority.identity("evil.example").server(&[]);
        let server = Server::start_tls(config, [Reply::json(&result(OK))]).await;
        let proxy = Tunnels::start(server.host.clone(), "200 OK").await;
        let client = builder("https://tools.example/mcp", &authority).proxy(&proxy.host).unwrap();
        let error = call(&client.build().unwrap()).await.unwrap_err();
        assert!(error.is_connect() && story(&error).contains("evil.example"), "{}", story(&error));
    }

    #[tokio::test]
    async fn a_proxy_may_be_behind_tls() {
        let authority = Authority::new();
        let config = authority.identity("localhost").server(&["h2", "http/1.1"]);
        let proxy = Server::start_tls(config, [Reply::json(&result(OK))]).await;
        let client = builder("http://tools.example/mcp", &authority)
            .proxy(format!("https://user:s3cret@{}", proxy.host))
            .unwrap();
        assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
        let requests = proxy.requests();
        assert!(requests[0].head.starts_with("POST http://tools.example/mcp HTTP/1.1\r\n"));
        assert_eq!(requests[0].header("proxy-authorization"), Some(BASIC));
    }

    #[tokio::test]
    async fn socks_is_below_tls() {
        let authority = Authority::new();
        let config = authority.identity("tools.example").server(&[]);
        let server = Server::start_tls(config, [Reply::json(&result(OK))]).await;
        let (host, asked) = socks(server.host.clone()).await;
        let client = builder("https://tools.example/mcp", &authority)
            .proxy(format!("socks5h://{host}"))
            .unwrap();
        assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
        assert_eq!(asked.await.unwrap(), b"\x05\x01\x00\x03tools.example\x01\xbb");
    }
}
