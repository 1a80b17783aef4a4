//! `from_fn`: layers from functions.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::task::{Context as TaskContext, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::{Call, CallFuture, CallOutcome, CallService, Next};

/// A layer out of a function that gets each call, and what it may let it go on to. See [the module](super) for an
/// example.
pub const fn from_fn<F, Fut>(function: F) -> FromFn<F>
where
    F: Fn(Call, Next) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = CallOutcome> + Send + 'static,
{
    FromFn(function)
}

/// See [`from_fn`].
#[derive(Clone, Copy)]
pub struct FromFn<F>(F);

/// The service of [`FromFn`].
#[derive(Clone)]
pub struct FromFnService<F> {
    function: F,
    next: Next,
}

impl<F: Clone, S: CallService> Layer<S> for FromFn<F> {
    type Service = FromFnService<F>;

    fn layer(&self, inner: S) -> FromFnService<F> {
        FromFnService { function: self.0.clone(), next: Next::of(inner) }
    }
}

impl<F, Fut> Service<Call> for FromFnService<F>
where
    F: Fn(Call, Next) -> Fut,
    Fut: Future<Output = CallOutcome> + Send + 'static,
{
    type Response = CallOutcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        let outcome = (self.function)(call, self.next.clone());
        Box::pin(async move { Ok(outcome.await) })
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFn(..)")
    }
}

impl<F> fmt::Debug for FromFnService<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFnService(..)")
    }
}
