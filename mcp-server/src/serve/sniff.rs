//! Which HTTP a peer speaks, found out before hyper reads from it.
//!
//! hyper-util would find out as well, but reads no more than the preface for it, and a first piece as small as
//! that makes hyper double the buffer of every connection.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;

use crate::subscription::Group;

/// How a connection begins.
pub(super) struct Opening {
    /// Whether it is one of HTTP/2; all others are left to HTTP/1.1.
    #[cfg_attr(not(feature = "http2"), expect(dead_code, reason = "all are left to HTTP/1.1"))]
    pub(super) is_http2: bool,
    /// What was read to find it out, and has to be read again.
    pub(super) first: Bytes,
}

/// Waits for as much as tells the two apart; `None` when the connection ends or fails before, takes longer than
/// `limit`, or when those of `group` end: a peer that has not said a word is not kept waiting for.
pub(super) async fn sniff(stream: &TcpStream, group: &Group, limit: Duration) -> Option<Opening> {
    let mut ended = pin!(group.ended());
    let mut opening = pin!(tokio::time::timeout(limit, open(stream)));
    poll_fn(|cx| match ended.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => opening.as_mut().poll(cx).map(|opening| opening.ok()?.ok()),
    })
    .await
}

async fn open(stream: &TcpStream) -> io::Result<Opening> {
    let mut first = Vec::new();
    loop {
        stream.readable().await?;
        // Lives between two waits, so that the future has no room for it.
        let mut piece = [0; PIECE];
        match stream.try_read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => first.extend_from_slice(piece.get(..length).unwrap_or(&piece)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if let Some(is_http2) = is_http2(&first) {
            return Ok(Opening { is_http2, first: first.into() });
        }
    }
}

/// `None` when there is not enough to tell.
fn is_http2(first: &[u8]) -> Option<bool> {
    if first.starts_with(PREFACE) {
        Some(true)
    } else if PREFACE.starts_with(first) {
        None
    } else {
        Some(false)
    }
}

/// What begins a connection of HTTP/2, and no request of HTTP/1.1. Specification: RFC 9113, section 3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// 4 KiB: the head of a request and often its body too.
const PIECE: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preface_is_told_from_requests_wherever_it_is_cut() {
        for cut in 0..PREFACE.len() {
            let (whole, _) = PREFACE.split_at(cut);
            assert_eq!(is_http2(whole), None, "{cut}");
            let other = [whole, b"X"].concat();
            assert_eq!(is_http2(&other), Some(false), "{cut}");
        }
        assert_eq!(is_http2(PREFACE), Some(true));
        assert_eq!(is_http2(&[PREFACE, b"more"].concat()), Some(true));
        for request in ["P", "PR", "POST /mcp HTTP/1.1\r\n", "GET / HTTP/1.1", "\r\n", "PRIX"] {
            let expected = (!b"PRI *".starts_with(request.as_bytes())).then_some(false);
            assert_eq!(is_http2(request.as_bytes()), expected, "{request}");
        }
    }
}
