//! `Guard`: a connection that does not wait for ever for its peer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

pin_project_lite::pin_project! {
    /// Gives back what was read of a connection before, and fails it when its peer does not take what is written.
    ///
    /// hyper limits how long a header section may take, and has no limit for writing.
    pub(super) struct Guard<T> {
        #[pin]
        io: T,
        first: Bytes,
        stall: Duration,
        write: Option<Pin<Box<Sleep>>>,
    }
}

impl<T> Guard<T> {
    pub(super) const fn new(io: T, first: Bytes, stall: Duration) -> Self {
        Self { io, first, stall, write: None }
    }
}

impl<T: Read> Read for Guard<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        if this.first.is_empty() {
            return this.io.poll_read(cx, buf);
        }
        let piece = this.first.split_to(this.first.len().min(buf.remaining()));
        buf.put_slice(&piece);
        if this.first.is_empty() {
            // An empty slice would keep the memory of the whole.
            *this.first = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: Write> Guard<T> {
    /// Lets `polled` through, unless it has been pending for too long.
    fn watch<R>(
        write: &mut Option<Pin<Box<Sleep>>>,
        stall: Duration,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            *write = None;
            return polled;
        }
        let timer =
            write.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + stall)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: Write> Write for Guard<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.project();
        let polled = this.io.poll_write(cx, buf);
        Self::watch(this.write, *this.stall, cx, polled)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        let polled = this.io.poll_flush(cx);
        Self::watch(this.write, *this.stall, cx, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        let polled = this.io.poll_shutdown(cx);
        Self::watch(this.write, *this.stall, cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.project();
        let polled = this.io.poll_write_vectored(cx, bufs);
        Self::watch(this.write, *this.stall, cx, polled)
    }
}
