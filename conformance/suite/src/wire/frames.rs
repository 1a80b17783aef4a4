//! The frames of HTTP/2 as they arrive, which the crate that speaks it does not show.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::http::Io;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its type, by number.
    pub(crate) kind: u8,
    pub(crate) stream: u32,
}

impl Frame {
    /// Whether it carries a part of a response.
    pub(crate) const fn is_message(&self) -> bool {
        matches!(self.kind, 0 | 1)
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            0 => "DATA",
            1 => "HEADERS",
            _ => "another frame",
        };
        write!(f, "{kind} on stream {}", self.stream)
    }
}

/// What has arrived so far. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames(Arc<Mutex<Vec<Frame>>>);

impl Frames {
    pub(crate) fn all(&self) -> Vec<Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, frame: Frame) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < KEPT {
            all.push(frame);
        }
    }
}

/// Frames that are kept.
const KEPT: usize = 100_000;

/// Passes bytes on, and notes the heads of the frames that are read.
pub(crate) struct Tap {
    io: Box<dyn Io>,
    frames: Frames,
    head: Vec<u8>,
    /// Bytes of a payload that are still to come.
    left: usize,
}

impl Tap {
    pub(crate) fn new(io: Box<dyn Io>, frames: Frames) -> Self {
        Self { io, frames, head: Vec::new(), left: 0 }
    }

    fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.left > 0 {
                self.left -= 1;
                continue;
            }
            self.head.push(*byte);
            if let [a, b, c, kind, _, stream @ ..] = &*self.head
                && let Ok(stream) = stream.try_into()
            {
                self.left = u32::from_be_bytes([0, *a, *b, *c]) as usize;
                let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
                self.frames.add(Frame { kind: *kind, stream });
                self.head.clear();
            }
        }
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(cx, buffer))?;
        this.see(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_in_any_pieces() {
        // SETTINGS, PING, DATA of three bytes, the reserved bit set.
        let bytes = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x06\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\x01\x80\0\0\x05abc";
        for at in 0..bytes.len() {
            let frames = Frames::default();
            let mut tap = Tap::new(Box::new(tokio::io::duplex(1).0), frames.clone());
            tap.see(&bytes[..at]);
            tap.see(&bytes[at..]);
            let seen = frames.all();
            let seen = seen.iter().map(|frame| (frame.kind, frame.stream)).collect::<Vec<_>>();
            assert_eq!(seen, [(4, 0), (6, 0), (0, 5)], "cut at {at}");
        }
    }
}
