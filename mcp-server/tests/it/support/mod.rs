//! Servers on loopback, requests by the byte, answers read by hand.
//!
//! A client library would hide the very headers and framing under test. Every wait has a bound, which ends
//! a test that has failed already and decides none.

mod conn;
mod h2;
pub(crate) mod lines;
mod post;
#[cfg(feature = "verifiers")]
mod provider;
mod server;
mod signal;

use std::future::Future;
use std::time::Duration;

pub(crate) use conn::{Conn, Frame, Reply, tool_text};
pub(crate) use h2::{H2, h2_request};
pub(crate) use lines::Lines;
pub(crate) use post::{Post, VERSION, call_params, capable, message, meta};
#[cfg(feature = "verifiers")]
pub(crate) use provider::Provider;
pub(crate) use server::Running;
pub(crate) use signal::{Bell, Flag, watched};

use mcp_server::{Limits, Server, ServerBuilder, Tool};

/// Waits for `future`, which takes milliseconds unless something is broken.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    match tokio::time::timeout(Duration::from_secs(20), future).await {
        Ok(output) => output,
        Err(_) => panic!("what should have happened did not"),
    }
}

/// A builder of a server that tests do not care to name.
pub(crate) fn builder() -> ServerBuilder {
    Server::builder("test", "1.0.0")
}

/// A server of these tools.
pub(crate) fn server(tools: impl IntoIterator<Item = Tool>) -> Server {
    builder().tools(tools).build().unwrap()
}

/// The default limits, changed.
pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

/// A tool that answers `ok`, for when it does not matter what is called.
pub(crate) fn ok() -> Tool {
    Tool::new("ok", async || "ok")
}
