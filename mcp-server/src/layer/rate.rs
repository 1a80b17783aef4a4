//! `RateLimit`: how often each caller may call.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use mcp_types::Method;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::bucket::{Buckets, Rate};
use super::{Call, CallOutcome};
use crate::caller::{Caller, host};

/// A [layer](super) that lets each caller call so often, and answers the others with [`busy`](CallOutcome::busy): over
/// HTTP that is 429, with the time in `Retry-After` after which there is room again.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_server::layer::RateLimit;
/// use mcp_server::{Server, Tool};
///
/// Server::builder("search", "1.0.0")
///     // For each caller ten calls of this tool a minute, three of them at once,
///     .tool(Tool::new("search", async || "...").layer(RateLimit::new(10, Duration::from_secs(60)).burst(3)))
///     // and 120 calls a minute of whatever.
///     .layer(RateLimit::default())
///     .build()?;
/// # Ok::<_, mcp_server::BuildError>(())
/// ```
///
/// Callers are told apart by their [`Caller`], or else by their address, of which the first 64 bits count in IPv6, as
/// one host has all that begin so. Behind a proxy without authentication all have one address. Calls without caller and
/// address count together.
///
/// A caller has a bucket of [`burst`](Self::burst) calls that fills up at the rate; a call that finds it empty is
/// refused and costs nothing. Each use of it as a layer has buckets of its own.
///
/// At most [`keys`](Self::keys) buckets are kept. When there are more callers, those who have not called for longest are
/// forgotten, and find their buckets full when they come back: nobody is locked out, and half as many other callers
/// have to come in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    calls: u32,
    period: Duration,
    burst: u32,
    by_target: bool,
    keys: usize,
}

impl RateLimit {
    /// 120 calls in a [`PERIOD`](Self::PERIOD): two a second on the average are several times what one model needs
    /// that reads what it gets.
    pub const CALLS: u32 = 120;
    /// One minute.
    pub const PERIOD: Duration = Duration::from_secs(60);
    /// 30 calls at once: models call a handful of tools side by side, and people have several windows.
    pub const BURST: u32 = 30;
    /// 10,000 buckets, some 100 bytes each.
    pub const KEYS: usize = 10_000;

    /// `calls` for each caller in every `period`, all of them at once if need be. Zero calls are taken for one.
    pub const fn new(calls: u32, period: Duration) -> Self {
        Self { calls, period, burst: calls, by_target: false, keys: Self::KEYS }
    }

    /// How many calls may come at once, at least one. Default is as many as in a whole period.
    #[must_use]
    pub const fn burst(self, calls: u32) -> Self {
        Self { burst: calls, ..self }
    }

    /// Counts each tool and each prompt by itself. Reads of resources count together all the same, as do completions:
    /// otherwise who varies the URI would never find a limit.
    #[must_use]
    pub const fn by_target(self) -> Self {
        Self { by_target: true, ..self }
    }

    /// How many buckets are kept, at least two. Default is [`KEYS`](Self::KEYS).
    #[must_use]
    pub const fn keys(self, keys: usize) -> Self {
        Self { keys, ..self }
    }
}

/// [`CALLS`](Self::CALLS) in each [`PERIOD`](Self::PERIOD), [`BURST`](Self::BURST) of them at once.
impl Default for RateLimit {
    fn default() -> Self {
        Self::new(Self::CALLS, Self::PERIOD).burst(Self::BURST)
    }
}

impl<S> Layer<S> for RateLimit {
    type Service = RateLimited<S>;

    fn layer(&self, inner: S) -> RateLimited<S> {
        let limiter = Limiter {
            rate: Rate::new(self.calls, self.period, self.burst),
            by_target: self.by_target,
            begun: Instant::now(),
            buckets: Mutex::new(Buckets::new(self.keys)),
        };
        RateLimited { inner, limiter: Arc::new(limiter) }
    }
}

/// The service of [`RateLimit`]. Clones count together.
#[derive(Clone, Debug)]
pub struct RateLimited<S> {
    inner: S,
    limiter: Arc<Limiter>,
}

#[derive(Debug)]
struct Limiter {
    rate: Rate,
    by_target: bool,
    begun: Instant,
    buckets: Mutex<Buckets<Key>>,
}

/// What has a bucket of its own.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    who: Who,
    /// With the name of the tool or prompt.
    what: Option<(Box<str>, Box<str>)>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Who {
    Caller(Caller),
    Address(IpAddr),
    Unknown,
}

impl Limiter {
    /// Counts a call; how long there is no room for another if it is one too many.
    fn count(&self, call: &Call) -> Result<(), Duration> {
        let what = self.by_target.then(|| {
            let named = matches!(
                Method::from_name(call.method()),
                Some(Method::CallTool | Method::GetPrompt)
            );
            (call.method().into(), if named { call.target().into() } else { Box::default() })
        });
        let key = Key { who: Who::calls(call), what };
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // Every change leaves whole buckets behind.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(key, self.rate, now)
    }
}

impl Who {
    fn calls(call: &Call) -> Self {
        match (call.caller(), call.context().peer_addr()) {
            (Some(caller), _) => Self::Caller(caller.clone()),
            (None, Some(peer)) => Self::Address(host(peer.ip())),
            (None, None) => Self::Unknown,
        }
    }
}

impl<S: Service<Call, Response = CallOutcome>> Service<Call> for RateLimited<S> {
    type Response = CallOutcome;
    type Error = S::Error;
    type Future = RateLimitedFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let state = match self.limiter.count(&call) {
            Ok(()) => State::Passed { future: self.inner.call(call) },
            Err(retry_after) => State::Refused { retry_after },
        };
        RateLimitedFuture { state }
    }
}

pin_project! {
    /// The future of a call that went through [`RateLimit`].
    #[derive(Debug)]
    pub struct RateLimitedFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProjection]
    enum State<F> {
        Passed { #[pin] future: F },
        Refused { retry_after: Duration },
    }
}

impl<F: Future<Output = Result<CallOutcome, E>>, E> Future for RateLimitedFuture<F> {
    type Output = Result<CallOutcome, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passed { future } => future.poll(cx),
            StateProjection::Refused { retry_after } => {
                Poll::Ready(Ok(CallOutcome::busy(*retry_after)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_documented() {
        let documented =
            RateLimit::new(RateLimit::CALLS, RateLimit::PERIOD).burst(RateLimit::BURST);
        assert_eq!(RateLimit::default(), documented.keys(RateLimit::KEYS));
        assert_eq!(RateLimit::new(7, Duration::ZERO).burst, 7);
    }
}
