//! Work that takes long, and can be seen to end when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_server::{Args, ServerBuilder, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Slow {
    /// Milliseconds.
    ms: u64,
}

/// Adds a tool that is slow, and one that says how many calls of it are under way.
pub(super) fn add_to(server: ServerBuilder) -> ServerBuilder {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let slow = move |Args(Slow { ms }): Args<Slow>| {
        let call = Running::new(Arc::clone(&counted));
        async move {
            let _call = call;
            tokio::time::sleep(Duration::from_millis(ms)).await;
            "Done."
        }
    };
    let running = move || {
        let running = running.load(Ordering::Relaxed);
        async move { running.to_string() }
    };
    server.tools([
        Tool::new("test_slow", slow).description("Waits that long."),
        Tool::new("test_slow_running", running).description("Says how many calls wait."),
    ])
}

/// One call that is under way.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(all: Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
