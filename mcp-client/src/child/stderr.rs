//! What a server's process writes to its standard error. Specification: stdio.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::BytesMut;
use mcp_transport::line::Decoder;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Gets each line, without its end.
pub(crate) type StderrCallback = Arc<Mutex<dyn FnMut(&str) + Send + Sync>>;

/// Reads lines to the end: a process whose output nobody reads would stand still.
pub(super) async fn read<R: AsyncRead + Unpin>(mut stderr: R, callback: Option<StderrCallback>) {
    let mut decoder = Decoder::new(LINE);
    let mut buffer = BytesMut::new();
    let tell = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let Some(callback) = &callback else {
            tracing::debug!(%line, "the server's standard error");
            return;
        };
        // One that panicked with a line may still take the next. Were nobody left to read, the process would be killed
        // by what it writes.
        let told = catch_unwind(AssertUnwindSafe(|| {
            callback.lock().unwrap_or_else(PoisonError::into_inner)(&line);
        }));
        if told.is_err() {
            tracing::warn!("what is called with a server's standard error has panicked");
        }
    };
    loop {
        buffer.reserve(LINE);
        if stderr.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
            break;
        }
        decoder.push(buffer.split().freeze());
        while let Some(line) = decoder.next() {
            line.iter().for_each(|line| tell(line));
        }
    }
    if let Some(Ok(line)) = decoder.finish() {
        tell(&line);
    }
}

/// 16 KiB a line: longer ones are no log, and are passed over.
const LINE: usize = 16 * 1024;
