//! HTTP/2: the same requests as over HTTP/1.1, as far as it can carry them.

use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Ping, PingPong, Reason, RecvStream};
use http::{HeaderName, HeaderValue, Method, Request};
use tokio::time::timeout;

pub(crate) use super::frames::Frame;
use super::frames::{Frames, Tap};
use super::http::{Head, Io, Post, WHOLE, endless};
use super::log::Log;
use crate::verdict::Stop;

/// A connection, which may carry several requests at once.
pub(crate) struct H2 {
    requests: SendRequest<Bytes>,
    pings: Option<PingPong>,
    frames: Frames,
    log: Log,
    patience: Duration,
}

impl H2 {
    /// Begins HTTP/2 without having asked, unless it was over TLS.
    pub(crate) async fn over(io: Box<dyn Io>, log: &Log, patience: Duration) -> Result<Self, Stop> {
        let frames = Frames::default();
        let io = Tap::new(io, frames.clone());
        let handshake = Builder::new().enable_push(false).handshake(io);
        let (requests, mut connection) = within(patience, handshake).await?;
        let pings = connection.ping_pong();
        // It ends by itself, once there is no stream and no handle left, and tells the peer of those that were dropped.
        tokio::spawn(connection);
        Ok(Self { requests, pings, frames, log: log.clone(), patience })
    }

    /// Sends a request, and reads the head of what comes back. Dropping that resets the stream.
    pub(crate) async fn send(&self, post: &Post, scheme: &str) -> Result<Stream, Stop> {
        let (request, body) = framed(post, scheme).map_err(Stop::skip)?;
        self.log.note("over HTTP/2, though written as HTTP/1.1");
        self.log.sent(&post.encode());
        let mut requests = within(self.patience, self.requests.clone().ready()).await?;
        let (response, mut sending) =
            requests.send_request(request, body.is_empty()).map_err(|error| lost(&error))?;
        if !body.is_empty() {
            sending.send_data(body, true).map_err(|error| lost(&error))?;
        }
        let response = within(self.patience, response).await?;
        let (parts, body) = response.into_parts();
        let headers = parts.headers.iter().map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let head = Head::new(format!("HTTP/2 {}", parts.status.as_u16()), headers.collect());
        self.log.seen(told(&head).as_bytes());
        let (log, patience) = (self.log.clone(), self.patience);
        Ok(Stream { head, body, left: WHOLE, log, patience })
    }

    /// The frames that have arrived so far.
    pub(crate) fn frames(&self) -> Vec<Frame> {
        self.frames.all()
    }

    /// Sends a ping, and waits until it is acknowledged.
    pub(crate) async fn ping(&mut self) -> Result<(), Stop> {
        let Some(pings) = &mut self.pings else { return Ok(()) };
        within(self.patience, pings.ping(Ping::opaque())).await.map(drop)
    }
}

/// What comes of it, unless that takes too long.
async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, h2::Error>>,
) -> Result<T, Stop> {
    match timeout(patience, work).await {
        Ok(done) => done.map_err(|error| lost(&error)),
        Err(_) => Err(Stop::silent(patience)),
    }
}

/// What comes back for one request.
pub(crate) struct Stream {
    pub(crate) head: Head,
    body: RecvStream,
    /// Bytes that may still be read.
    left: usize,
    log: Log,
    patience: Duration,
}

impl Stream {
    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.body.stream_id().as_u32()
    }

    /// The next piece of the body; nothing at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        match timeout(self.patience, self.body.data()).await {
            Err(_) => Err(Stop::silent(self.patience)),
            Ok(None) => Ok(None),
            // The rest of the request is not wanted any more, and the response is whole.
            Ok(Some(Err(error))) if error.reason() == Some(Reason::NO_ERROR) => Ok(None),
            Ok(Some(Err(error))) => Err(lost(&error)),
            Ok(Some(Ok(_))) if self.left == 0 => Err(endless()),
            Ok(Some(Ok(piece))) => {
                self.left = self.left.saturating_sub(piece.len());
                let _ = self.body.flow_control().release_capacity(piece.len());
                self.log.seen(&piece);
                Ok(Some(piece.to_vec()))
            }
        }
    }
}

/// The request that `post` is over HTTP/2: `Host` becomes `:authority`, names lose their upper case.
///
/// # Errors
/// Says what of it HTTP/2, or the crate that speaks it, cannot carry.
pub(crate) fn framed(post: &Post, scheme: &str) -> Result<(Request<()>, Bytes), String> {
    let (method, target, headers, body) = post.parts();
    let mut hosts = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let is_absolute = !target.starts_with('/');
    let uri = if is_absolute {
        target.to_owned()
    } else {
        let host = hosts.next().map_or(&[][..], |(_, value)| value);
        format!("{scheme}://{}{target}", String::from_utf8_lossy(host))
    };
    let method = Method::from_bytes(method.as_bytes()).map_err(|error| error.to_string())?;
    let request = Request::builder().method(method).uri(uri);
    let mut rest =
        headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")).chain(hosts);
    let request = rest.try_fold(request, |request, (name, value)| {
        let (name, value) = carried(name, value)?;
        Ok::<_, String>(request.header(name, value))
    })?;
    let request = request.body(()).map_err(|error| error.to_string())?;
    Ok((request, Bytes::copy_from_slice(body)))
}

fn carried(name: &str, value: &[u8]) -> Result<(HeaderName, HeaderValue), String> {
    let cannot = || format!("HTTP/2 cannot carry {name:?} as it is");
    if OF_ONE_CONNECTION.iter().any(|it| it.eq_ignore_ascii_case(name)) {
        return Err(cannot());
    }
    let is_padded = [value.first(), value.last()].contains(&Some(&b' '))
        || [value.first(), value.last()].contains(&Some(&b'\t'));
    if is_padded {
        return Err(cannot());
    }
    match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value)) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        _ => Err(cannot()),
    }
}

/// Headers that are about a connection of HTTP/1.1, and that HTTP/2 forbids.
const OF_ONE_CONNECTION: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

fn told(head: &Head) -> String {
    let headers = head.headers().map(|(name, value)| format!("{name}: {value}\n"));
    format!("{}\n{}", head.line, headers.collect::<String>())
}

fn lost(error: &h2::Error) -> Stop {
    Stop::lost(format!("an end of HTTP/2: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post() -> Post {
        Post::bytes("{}", "h:1", "/mcp").header("Mcp-Method", "x")
    }

    #[test]
    fn what_it_can_carry() {
        let (request, body) = framed(&post(), "http").unwrap();
        assert_eq!(request.uri(), "http://h:1/mcp");
        assert!(!request.headers().contains_key("host"));
        assert_eq!((request.headers()["mcp-method"].as_bytes(), &*body), (&b"x"[..], &b"{}"[..]));
        for value in [&b" x"[..], b"x\t", b"\x01", b"\x7f"] {
            assert!(framed(&post().header("Mcp-Name", value), "http").is_err());
        }
        for name in ["Connection", "Transfer-Encoding", "a b"] {
            assert!(framed(&post().header(name, "close"), "http").is_err(), "{name}");
        }
    }

    #[test]
    fn hosts_that_differ() {
        let (request, _) = framed(&post().header("Host", "evil"), "http").unwrap();
        assert_eq!(
            (request.uri().host(), &request.headers()["host"]),
            (Some("h"), &HeaderValue::from_static("evil"))
        );
        let (request, _) = framed(&post().target("http://evil/mcp"), "http").unwrap();
        assert_eq!(
            (request.uri().host(), &request.headers()["host"]),
            (Some("evil"), &HeaderValue::from_static("h:1"))
        );
    }
}
