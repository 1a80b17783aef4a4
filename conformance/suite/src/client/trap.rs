//! `Trap`: an address that nobody is to visit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::verdict::{Stop, Verdict, expect};

/// A listener that counts who comes, and has nothing for them.
pub(super) struct Trap {
    address: String,
    visitors: Arc<AtomicUsize>,
    serving: tokio::task::JoinHandle<()>,
}

impl Trap {
    pub(super) async fn set() -> Verdict<Self> {
        let no_socket = |error: std::io::Error| Stop::skip(format!("no socket: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(no_socket)?;
        let address = listener.local_addr().map_err(no_socket)?.to_string();
        let visitors = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&visitors);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(NOTHING).await;
            }
        });
        Ok(Self { address, visitors, serving })
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Nobody came so far.
    pub(super) async fn is_untouched(&self, what: &str) -> Verdict {
        // Connections are taken in their order: once this one was, all that came before it were.
        let own = TcpStream::connect(&self.address).await;
        if let Ok(mut own) = own {
            let _ = own.read_to_end(&mut Vec::new()).await;
        }
        let visitors = self.visitors.swap(0, Ordering::SeqCst).saturating_sub(1);
        expect(visitors == 0, format!("no connection to {what}"), format!("{visitors} of them"))
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

const NOTHING: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
