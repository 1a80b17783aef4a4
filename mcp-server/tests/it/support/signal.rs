//! How tests and handlers tell each other that something has happened.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use super::within;

/// Holds whoever waits for it until it is rung; each ring lets one pass.
#[derive(Clone)]
pub(crate) struct Bell(Arc<Semaphore>);

impl Bell {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn ring(&self) {
        self.0.add_permits(1);
    }

    /// Waits for a ring, for ever if need be.
    pub(crate) async fn wait(&self) {
        self.0.acquire().await.unwrap().forget();
    }

    /// Waits for a ring that must come.
    pub(crate) async fn rung(&self) {
        within(self.wait()).await;
    }
}

/// Something that tells when it was dropped.
pub(crate) struct Flag(mpsc::UnboundedSender<()>);

/// Tells when a [`Flag`] was dropped.
pub(crate) struct Watched(mpsc::UnboundedReceiver<()>);

/// A factory of flags, and who watches them.
pub(crate) fn watched() -> (impl Fn() -> Flag + Clone + Send + Sync + 'static, Watched) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (move || Flag(sender.clone()), Watched(receiver))
}

impl Drop for Flag {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Watched {
    /// Waits for the next drop.
    pub(crate) async fn dropped(&mut self) {
        within(self.0.recv()).await.unwrap();
    }

    /// Whether there was no drop that nobody has waited for.
    pub(crate) fn none_dropped(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}
