//! Standard input and output as a stream, read and written by threads of their own.
//!
//! A runtime that shuts down waits for its blocking threads, and one that reads from a terminal or a pipe may never
//! end. These are none of the runtime's: they end with the process.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as threads;
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};

use super::{Reader, Writer};

/// Takes both for this server.
///
/// # Errors
/// When they were taken before, or there is no descriptor or thread to be had.
pub(super) fn open() -> io::Result<(Reader, Writer)> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("standard input and output are served already"));
    }
    let (input, output) = take()?;
    Ok((Box::pin(Stdin::new(input)?), Box::pin(Stdout::new(output)?)))
}

/// Moves them out of reach of the rest of the process and of its children, to whom standard output is a copy of
/// standard error from now on, and standard input empty.
#[cfg(unix)]
fn take() -> io::Result<(std::fs::File, std::fs::File)> {
    use std::fs::File;
    use std::os::fd::AsFd;

    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    for stream in [&input, &output] {
        // Whoever started the process may have left a pipe in the other mode, which these threads could not use. What
        // cannot be set, such as a file, does not need it.
        let _ = rustix::io::ioctl_fionbio(stream, false);
    }
    rustix::stdio::dup2_stdout(io::stderr())?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok((input.into(), output.into()))
}

#[cfg(not(unix))]
fn take() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}

struct Stdin {
    read: mpsc::Receiver<io::Result<Bytes>>,
    /// What was read and not handed out.
    rest: Bytes,
}

impl Stdin {
    fn new(input: impl Read + Send + 'static) -> io::Result<Self> {
        // The thread reads one piece ahead.
        let (sender, read) = mpsc::channel(1);
        thread::Builder::new().name("mcp-stdin".to_owned()).spawn(move || {
            if let Err(error) = read_all(input, &sender) {
                let _ = sender.blocking_send(Err(error));
            }
        })?;
        Ok(Self { read, rest: Bytes::new() })
    }
}

/// Reads until the end, or until nobody wants it any more.
fn read_all(mut input: impl Read, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let read = match input.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let piece = Bytes::copy_from_slice(buffer.get(..read).unwrap_or_default());
        if piece.is_empty() || sender.blocking_send(Ok(piece)).is_err() {
            return Ok(());
        }
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.read.poll_recv(cx)) {
                Some(piece) => self.rest = piece?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let fits = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest.split_to(fits));
        Poll::Ready(Ok(()))
    }
}

/// What the thread is to write, and where it tells how that went.
type Piece = (Vec<u8>, oneshot::Sender<io::Result<()>>);

struct Stdout {
    /// Until it is shut down.
    thread: Option<threads::Sender<Piece>>,
    /// The one piece that is being written.
    writing: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Stdout {
    fn new(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (thread, pieces) = threads::channel::<Piece>();
        thread::Builder::new().name("mcp-stdout".to_owned()).spawn(move || {
            for (piece, told) in pieces {
                let written = output.write_all(&piece).and_then(|()| output.flush());
                // Nobody may wait for it any more.
                let _ = told.send(written);
            }
        })?;
        Ok(Self { thread: Some(thread), writing: None })
    }

    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writing) = &mut self.writing else { return Poll::Ready(Ok(())) };
        let told = ready!(Pin::new(writing).poll(cx));
        self.writing = None;
        Poll::Ready(told.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())))
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(cx))?;
        let piece = buf.get(..PIECE).unwrap_or(buf);
        let (told, writing) = oneshot::channel();
        let sent = self.thread.as_ref().map(|thread| thread.send((piece.to_vec(), told)));
        if !matches!(sent, Some(Ok(()))) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.writing = Some(writing);
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_written(cx))?;
        // The thread ends, and with it the last descriptor of the stream is closed.
        self.thread = None;
        Poll::Ready(Ok(()))
    }
}

/// How much is read or written at once: a pipe's own buffer is that big.
const PIECE: usize = 64 * 1024;
