//! `Next`: layers and the handler inside of them, behind one pointer.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use mcp_types::ErrorObject;
use tower_layer::Layer;
use tower_service::Service;

use super::{Call, CallOutcome};

/// What a call comes to in the end. Dropping it cancels the call.
pub type CallFuture = Pin<Box<dyn Future<Output = Result<CallOutcome, Infallible>> + Send>>;

/// What a layer is put around: the handler, and the layers inside. A cheap clone; always ready; never fails.
#[derive(Clone)]
pub struct Next(Inner);

#[derive(Clone)]
enum Inner {
    /// The layers of the tool that is called, if it has any, or else the handler.
    Target,
    Handler,
    Layered(Arc<dyn CallService>),
}

impl Next {
    pub(crate) const fn target() -> Self {
        Self(Inner::Target)
    }

    pub(crate) const fn handler() -> Self {
        Self(Inner::Handler)
    }

    pub(crate) fn of(service: impl CallService) -> Self {
        Self(Inner::Layered(Arc::new(service)))
    }

    /// Lets the call go on to its handler. Dropping the future cancels that.
    pub async fn run(self, call: Call) -> CallOutcome {
        let Ok(outcome) = self.start(call).await;
        outcome
    }

    pub(crate) fn start(&self, call: Call) -> CallFuture {
        match &self.0 {
            Inner::Target => match call.own_layers() {
                Some(own) => own.start(call),
                None => call.handle(),
            },
            Inner::Handler => call.handle(),
            Inner::Layered(service) => service.start(call),
        }
    }
}

impl Service<Call> for Next {
    type Response = CallOutcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        self.start(call)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next(..)")
    }
}

/// A service for calls. Implemented for every [`Service`] that answers a [`Call`] with a [`CallOutcome`], whose error
/// can be boxed, and that is `Clone + Send + Sync` with futures that are `Send`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no service for calls",
    note = "it has to be a `Service<Call, Response = CallOutcome>` whose error converts into \
            `Box<dyn Error + Send + Sync>`, `Clone + Send + Sync + 'static`, with a future that is `Send`"
)]
pub trait CallService: Send + Sync + 'static {
    #[doc(hidden)]
    fn start(&self, call: Call) -> CallFuture;
}

impl<S> CallService for S
where
    S: Service<Call, Response = CallOutcome> + Clone + Send + Sync + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send + 'static,
{
    fn start(&self, call: Call) -> CallFuture {
        let mut service = self.clone();
        Box::pin(async move {
            let ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::into)).await;
            let called = match ready {
                Ok(()) => {
                    let called = service.call(call);
                    // What it took to be ready it has handed to the call by now.
                    drop(service);
                    called.await.map_err(Into::into)
                }
                Err(error) => Err(error),
            };
            Ok(called.unwrap_or_else(|error| failed(&*error)))
        })
    }
}

/// What an error of a layer comes to.
#[cold]
fn failed(error: &(dyn Error + Send + Sync + 'static)) -> CallOutcome {
    tracing::warn!(error = error as &(dyn Error + 'static), "a layer failed");
    ErrorObject::internal_error("Internal error").into()
}

/// A layer for calls. Implemented for every [`Layer`] that makes a [`CallService`] out of [`Next`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layer for calls",
    note = "it has to be a `tower_layer::Layer<Next>` whose service is a `CallService`"
)]
pub trait CallLayer {
    #[doc(hidden)]
    fn wrap(self, inner: Next) -> Next;
}

impl<L> CallLayer for L
where
    L: Layer<Next>,
    L::Service: CallService,
{
    fn wrap(self, inner: Next) -> Next {
        Next::of(self.layer(inner))
    }
}
