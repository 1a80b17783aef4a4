//! `Stranger`: a server that nobody has reason to trust.

use std::net::UdpSocket;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::super::play::Witness;
use super::super::serve::Serving;
use super::super::{Answer, Cx, Seen};
use crate::verdict::{Stop, Verdict};

/// A listener that keeps what comes, and has nothing for anybody.
pub(super) struct Stranger {
    pub(super) origin: String,
    witness: Arc<Witness>,
    serving: tokio::task::JoinHandle<()>,
}

impl Stranger {
    /// One at another port of this machine.
    pub(super) async fn here(cx: &Cx) -> Verdict<Self> {
        Self::at(cx, "127.0.0.1").await
    }

    /// One at an address that other machines have a way to.
    pub(super) async fn outside(cx: &Cx) -> Verdict<Self> {
        // Nothing is sent: this only looks up which address would be used.
        let socket = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("192.0.2.1:9")?;
            socket.local_addr()
        });
        match socket.map(|address| address.ip()) {
            Ok(address) if !address.is_loopback() && !address.is_unspecified() => {
                Self::at(cx, &address.to_string()).await
            }
            _ => Err(Stop::skip("this machine has no address but its loopback ones")),
        }
    }

    async fn at(cx: &Cx, host: &str) -> Verdict<Self> {
        let no_socket = |error: std::io::Error| Stop::skip(format!("no socket: {error}"));
        let listener = TcpListener::bind((host, 0)).await.map_err(no_socket)?;
        let address = listener.local_addr().map_err(no_socket)?;
        let witness = Arc::new(Witness::default());
        let origin = format!("http://{address}");
        let serving = Serving {
            part: Arc::new(|_| Answer::bytes("text/plain", "nothing").status(404)),
            witness: Arc::clone(&witness),
            log: cx.log.clone(),
            origin: origin.clone(),
            patience: cx.patience,
        };
        let serving = tokio::spawn(serving.accept(listener, true));
        Ok(Self { origin, witness, serving })
    }

    /// What came so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.witness.seen()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
