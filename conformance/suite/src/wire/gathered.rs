//! `Gathered`: what a process prints, while it runs.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;

/// What was read of a stream so far. All of it is read, so that nobody waits for a full pipe; of what exceeds the limit
/// the oldest is forgotten.
#[derive(Debug)]
pub(crate) struct Gathered {
    bytes: Arc<Mutex<Vec<u8>>>,
    is_over: watch::Receiver<bool>,
    limit: usize,
}

impl Gathered {
    /// Reads a stream, if there is one, and keeps the last `limit` bytes of it.
    pub(crate) fn from(
        stream: Option<impl AsyncRead + Send + Unpin + 'static>,
        limit: usize,
    ) -> Self {
        let (bytes, (over, is_over)) = (Arc::<Mutex<Vec<u8>>>::default(), watch::channel(false));
        let filled = Arc::clone(&bytes);
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            if let Some(mut stream) = stream {
                while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                    let mut filled = filled.lock().unwrap_or_else(PoisonError::into_inner);
                    filled.extend(buffer.iter().take(length));
                    // Not each time: what is left has to be moved.
                    if filled.len() > 2 * limit {
                        let excess = filled.len() - limit;
                        filled.drain(..excess);
                    }
                }
            }
            over.send_replace(true);
        });
        Self { bytes, is_over, limit }
    }

    /// Waits for the end of the stream.
    pub(crate) async fn end(&self) {
        let _ = self.is_over.clone().wait_for(|is_over| *is_over).await;
    }

    pub(crate) fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, last) = bytes.split_at(bytes.len().saturating_sub(self.limit));
        String::from_utf8_lossy(last).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_of_it_is_kept() {
        for length in [0, 9, 10, 11, 1 << 20] {
            let stream = tokio::io::repeat(b'x').take(length).chain(&b"end"[..]);
            let gathered = Gathered::from(Some(stream), 13);
            gathered.end().await;
            let xs = usize::try_from(length.min(10)).unwrap();
            assert_eq!(gathered.text(), format!("{}end", "x".repeat(xs)));
        }
        assert_eq!(Gathered::from(None::<tokio::io::Empty>, 10).text(), "");
    }
}
