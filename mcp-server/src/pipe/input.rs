//! `Input`: the lines that a client writes.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use mcp_transport::line::{Decoder, LineTooLong};
use tokio::io::AsyncReadExt;

use super::Reader;

pub(super) struct Input {
    /// Until the end.
    reader: Option<Reader>,
    decoder: Decoder,
    buffer: BytesMut,
}

impl Input {
    /// Lines of up to `limit` bytes.
    pub(super) fn new(reader: Reader, limit: usize) -> Self {
        Self { reader: Some(reader), decoder: Decoder::new(limit), buffer: BytesMut::new() }
    }

    /// Reads no more. What was read and not taken yet is dropped.
    pub(super) fn close(&mut self) {
        self.reader = None;
    }

    pub(super) const fn is_closed(&self) -> bool {
        self.reader.is_none()
    }

    /// The next line, or the report of one that is too long; `None` at the end, where a line without an end counts.
    pub(super) fn poll_line(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Result<Bytes, LineTooLong>>>> {
        for _ in 0..READS {
            let Some(reader) = &mut self.reader else { return Poll::Ready(Ok(None)) };
            if let Some(line) = self.decoder.next() {
                return Poll::Ready(Ok(Some(line)));
            }
            self.buffer.reserve(READ_BYTES);
            match ready!(pin!(reader.read_buf(&mut self.buffer)).poll(cx))? {
                0 => {
                    self.reader = None;
                    return Poll::Ready(Ok(self.decoder.finish()));
                }
                _ => self.decoder.push(self.buffer.split().freeze()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// How often is read in search of a line before other tasks get their turn, whatever the stream has at hand.
const READS: usize = 16;

/// 16 KiB at a time: many requests, and what a connection holds while it waits for the next.
const READ_BYTES: usize = 16 * 1024;
