//! `Receiver`: a server on this machine for one redirect. RFC 8252, section 7.3.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::form;
use crate::future::first;

/// Waits at an address of the loopback interface for a browser that is sent back.
#[derive(Debug)]
pub(super) struct Receiver {
    listener: TcpListener,
    path: Arc<str>,
    uri: String,
}

impl Receiver {
    /// Takes a port: this one, or with 0 any. `host` is the interface's name in the URI. Nothing but the interface itself is listened at, so that nobody else
    /// on the network gets there.
    pub(super) async fn bind(host: &str, port: u16, path: &Arc<str>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let uri = format!("http://{host}:{}{path}", listener.local_addr()?.port());
        Ok(Self { listener, path: Arc::clone(path), uri })
    }

    /// Where the browser is to be sent.
    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// The query of the first redirect that carries `state`. Whatever else comes is answered and changes nothing: pages
    /// of other sites can make requests here too, and browsers open connections that they never use.
    ///
    /// It waits as long as it is polled. The port is free again when it has ended or is dropped.
    pub(super) async fn redirect(self, state: &str) -> io::Result<String> {
        let (found, mut redirect) = mpsc::channel(1);
        let wanted = Arc::new(Wanted { path: self.path, state: state.into(), found });
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let accepting = async {
            let mut open = JoinSet::new();
            loop {
                while open.try_join_next().is_some() {}
                let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
                // One that failed is the peer's loss.
                let Ok((stream, _)) = self.listener.accept().await else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                let wanted = Arc::clone(&wanted);
                open.spawn(async move {
                    let _ = timeout(TIME, converse(stream, &wanted)).await;
                    drop(place);
                });
            }
        };
        match first(redirect.recv(), accepting).await.flatten() {
            Some(query) => Ok(query),
            None => Err(io::Error::other("the loopback receiver has ended")),
        }
    }
}

/// Which redirect is waited for, and who waits.
struct Wanted {
    path: Arc<str>,
    state: Box<str>,
    found: mpsc::Sender<String>,
}

/// Answers one request.
async fn converse(mut stream: TcpStream, wanted: &Wanted) -> io::Result<()> {
    let head = read_head(&mut stream).await?;
    let judged = wanted.judge(&head);
    let (status, text) = match judged {
        Ok(_) => ("200 OK", RECEIVED),
        Err(status) => (status, NOTHING),
    };
    // Nothing that came in is on the page: it is anybody's, and the issuer is not checked yet.
    let page = format!("<!doctype html><meta charset=utf-8><title>Sign-in</title><p>{text}</p>");
    let answer =
        format!("HTTP/1.1 {status}\r\n{HEADERS}content-length: {}\r\n\r\n{page}", page.len());
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    if let Ok(query) = judged {
        // Full when another was first.
        let _ = wanted.found.try_send(query.to_owned());
    }
    // What is left unread when a socket is closed takes the answer with it.
    let mut rest = (&mut stream).take(HEAD as u64);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.map(drop)
}

/// The head of a request, or as much of it as there may be.
async fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut stream = stream.take(HEAD as u64);
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    Ok(head)
}

impl Wanted {
    /// The query of the redirect that is waited for, or the status for what is none.
    fn judge<'a>(&self, head: &'a [u8]) -> Result<&'a str, &'static str> {
        if head.len() >= HEAD {
            return Err("431 Request Header Fields Too Large");
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = str::from_utf8(line).unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("400 Bad Request");
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if *path != *self.path {
            return Err("404 Not Found");
        }
        if method != "GET" {
            return Err("405 Method Not Allowed\r\nallow: GET");
        }
        let params = form::decode(query);
        let mut states = params.iter().filter(|(name, _)| name == "state");
        match (states.next(), states.next()) {
            (Some((_, state)), None) if **state == *self.state => Ok(query),
            _ => Err("400 Bad Request"),
        }
    }
}

const RECEIVED: &str =
    "The browser has done its part. You can close this page and go back to the application.";
const NOTHING: &str = "There is nothing here.";

const HEADERS: &str = "content-type: text/html; charset=utf-8\r\ncache-control: no-store\r\n\
    content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n\
    referrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\nconnection: close\r\n";

/// 32 KiB of a request: codes and states are long with some providers, cookies of other ports come along.
const HEAD: usize = 32 * 1024;
/// 16 connections at once: a browser opens a few.
const CONNECTIONS: usize = 16;
/// 10 s for a connection: it comes from this machine.
const TIME: Duration = Duration::from_secs(10);
/// A pause when nothing can be accepted, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;

    const PATH: &str = "/callback";

    /// A receiver at work, and its address.
    async fn start() -> (String, JoinHandle<io::Result<String>>) {
        let receiver = Receiver::bind("127.0.0.1", 0, &PATH.into()).await.unwrap();
        let address =
            receiver.uri().trim_start_matches("http://").trim_end_matches(PATH).to_owned();
        (address, tokio::spawn(receiver.redirect("s")))
    }

    /// All that is answered to these bytes.
    async fn send(address: &str, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    async fn get(address: &str, target: &str) -> String {
        send(address, format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await
    }

    #[tokio::test]
    async fn the_redirect_is_received_whatever_comes_before_it() {
        let (address, redirect) = start().await;
        let table: [(&[u8], &str); 10] = [
            (b"GET /favicon.ico HTTP/1.1\r\n\r\n", "404"),
            (b"GET / HTTP/1.1\r\n\r\n", "404"),
            (b"GET /callback/?code=c&state=s HTTP/1.1\r\n\r\n", "404"),
            (b"POST /callback?code=c&state=s HTTP/1.1\r\ncontent-length: 0\r\n\r\n", "405"),
            (b"GET /callback HTTP/1.1\r\n\r\n", "400"),
            (b"GET /callback?code=c HTTP/1.1\r\n\r\n", "400"),
            (b"GET /callback?code=c&state=S HTTP/1.1\r\n\r\n", "400"),
            (b"GET /callback?code=c&state=s&state=s HTTP/1.1\r\n\r\n", "400"),
            (b"GET /callback?code=c&state=s\r\n\r\n", "400"),
            (b"\x16\x03\x01\x00\xff\r\n\r\n", "400"),
        ];
        for (bytes, status) in table {
            let answer = send(&address, bytes).await;
            let head = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&head), "{}: {answer}", String::from_utf8_lossy(bytes));
        }
        assert!(!redirect.is_finished());
        let answer = get(&address, "/callback?code=c%2Fd&state=%73&iss=i").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert_eq!(redirect.await.unwrap().unwrap(), "code=c%2Fd&state=%73&iss=i");
        // The port is free again.
        assert!(TcpStream::connect(&address).await.is_err());
    }

    #[tokio::test]
    async fn a_page_repeats_nothing() {
        let (address, redirect) = start().await;
        for target in ["/<script>", "/callback?state=s&error=%3Cscript%3E<script>alert(1)</script>"]
        {
            let answer = get(&address, target).await.to_lowercase();
            assert!(!answer.contains("script"), "{answer}");
            for header in ["cache-control: no-store", "default-src 'none'", "no-referrer"] {
                assert!(answer.contains(header), "{answer}");
            }
        }
        redirect.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_request_has_a_limit() {
        let (address, redirect) = start().await;
        let long = format!("/callback?state=s&code={}", "x".repeat(HEAD));
        let answer = get(&address, &long).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
        assert!(!redirect.is_finished());
        redirect.abort();
    }

    #[tokio::test]
    async fn idle_and_slow_connections_hold_nobody_up() {
        let (address, redirect) = start().await;
        // Fewer than there is room for.
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS - 1 {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.write_all(b"GET /callback?co").await.unwrap();
            idle.push(stream);
        }
        get(&address, "/callback?code=c&state=s").await;
        assert_eq!(redirect.await.unwrap().unwrap(), "code=c&state=s");
        for mut stream in idle {
            // Cut off with the rest, by an end or a reset.
            assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_stall_make_room() {
        let (address, redirect) = start().await;
        let mut stalled = Vec::new();
        for _ in 0..CONNECTIONS * 2 {
            stalled.push(TcpStream::connect(&address).await.unwrap());
        }
        get(&address, "/callback?code=c&state=s").await;
        assert_eq!(redirect.await.unwrap().unwrap(), "code=c&state=s");
    }

    #[tokio::test]
    async fn a_redirect_in_pieces() {
        let (address, redirect) = start().await;
        let mut stream = TcpStream::connect(&address).await.unwrap();
        for byte in b"GET /callback?code=c&state=s HTTP/1.1\r\n\r\n" {
            stream.write_all(&[*byte]).await.unwrap();
            stream.flush().await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(redirect.await.unwrap().unwrap(), "code=c&state=s");
    }
}
