//! `Output`: the one who writes, and what is still to be written.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

use super::Writer;

pub(super) struct Output {
    writer: Writer,
    bytes: Vec<u8>,
    /// How many of them are written.
    written: usize,
    is_flushed: bool,
    /// Whether the client has yet to take some of them.
    is_stuck: bool,
    /// How long the client may let bytes wait; for ever without.
    stall: Option<Duration>,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Output {
    pub(super) const fn new(writer: Writer, stall: Option<Duration>) -> Self {
        Self {
            writer,
            bytes: Vec::new(),
            written: 0,
            is_flushed: true,
            is_stuck: false,
            stall,
            stalled: None,
        }
    }

    /// Where what is to be written is appended.
    pub(super) const fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends `frames`, without a copy where there is nothing else.
    pub(super) fn push(&mut self, frames: Vec<u8>) {
        if self.bytes.is_empty() {
            self.bytes = frames;
        } else {
            self.bytes.extend_from_slice(&frames);
        }
    }

    /// Whether so much is to be written that nothing may be added.
    pub(super) const fn is_full(&self) -> bool {
        self.bytes.len() - self.written >= FULL
    }

    /// Whether there is nothing to be written, and nothing of it waits.
    pub(super) const fn is_done(&self) -> bool {
        self.bytes.is_empty() && !self.is_stuck
    }

    /// Whether writing has begun, and waits for the client.
    pub(super) const fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Writes until nothing is left, which has reached the client then as far as flushing does that.
    ///
    /// # Errors
    /// When writing fails, [`io::ErrorKind::TimedOut`] when the client takes nothing for too long.
    pub(super) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = self.poll_write_all(cx);
        self.is_stuck = polled.is_pending();
        let (true, Some(stall)) = (self.is_stuck, self.stall) else {
            self.stalled = None;
            return polled;
        };
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_write_all(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(left @ [_, ..]) = self.bytes.get(self.written..) {
            match ready!(self.writer.as_mut().poll_write(cx, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.took(written),
            }
        }
        if !self.is_flushed {
            ready!(self.writer.as_mut().poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    fn took(&mut self, written: usize) {
        self.stalled = None;
        self.is_flushed = false;
        self.written += written;
        if self.written >= self.bytes.len() {
            self.written = 0;
            self.bytes.clear();
            // One large answer should not be paid for until the end.
            self.bytes.shrink_to(FULL);
        } else if self.written >= FULL.max(self.bytes.len() - self.written) {
            // Otherwise it would grow for as long as something is left. What is left is moved, so not before as much
            // was written: a large answer would be moved once for every piece of it.
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// Ends the stream, of which everything is written.
    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer.as_mut().poll_shutdown(cx)
    }
}

/// 64 KiB: a pipe's own buffer is that big. One answer may go over it.
const FULL: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// What has to wait behind what was written is moved, but not for every piece that a slow client takes.
    #[test]
    fn a_large_answer_is_not_moved_over_and_over() {
        const LARGE: usize = 64 * FULL;
        let mut output = Output::new(Box::pin(tokio::io::sink()), None);
        output.push(vec![b'x'; LARGE]);
        let (mut left, mut moved) = (LARGE, 0);
        while left > 0 {
            let held = output.bytes.len();
            let taken = left.min(FULL / 4);
            output.took(taken);
            left -= taken;
            if output.bytes.len() < held {
                moved += output.bytes.len();
            }
            assert_eq!(output.bytes.len() - output.written, left);
            assert!(output.bytes.len() <= 2 * left + FULL, "{left}");
        }
        assert!(moved <= LARGE, "{moved} of {LARGE}");
    }
}
