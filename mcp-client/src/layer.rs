//! Layers around calls.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use mcp_types::RequestMeta;
use tower_layer::Layer;
use tower_service::Service;

use crate::builder::ClientBuilder;
use crate::call::Options;
use crate::client::Shared;
use crate::deadline::Deadline;
use crate::error::{BoxError, Error, Kind};
use crate::exchange::{Exchange, Opened};
use crate::future::BoxFuture;
use crate::outgoing::Outgoing;
use crate::receive::Answer;

/// Layers around calls.
impl ClientBuilder {
    /// Puts a tower layer around all calls, and around the opening of subscriptions: what it makes of a
    /// [`CallService`] gets each [`CallRequest`] before anything is sent or looked up in the cache, may change it, and
    /// gets the [`CallResponse`] back. A layer that is set later goes around those that were set before. Default is
    /// none, which costs nothing.
    ///
    /// Every call gets a clone of the service, made ready first. A page of a list is a call of its own, from the cache as
    /// well. What a layer fails with by itself becomes an [`Error`] that [`is_layer`](Error::is_layer). The total timeout
    /// of a call covers all of it, and its timeout goes on until it has passed all layers on its way down. For each
    /// single HTTP request there are layers around a [`service`](Self::service).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcp_client::Client;
    /// use tower::limit::ConcurrencyLimitLayer;
    /// use tower::timeout::TimeoutLayer;
    ///
    /// # fn example() -> Result<(), mcp_client::Error> {
    /// let client = Client::builder("http://127.0.0.1:8080/mcp")
    ///     .layer(ConcurrencyLimitLayer::new(8))
    ///     .layer(TimeoutLayer::new(Duration::from_secs(20)))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<CallService>,
        L::Service: Service<CallRequest, Response = CallResponse> + Clone + Send + Sync + 'static,
        <L::Service as Service<CallRequest>>::Error: Into<BoxError>,
        <L::Service as Service<CallRequest>>::Future: Send,
    {
        let below = self.layers.take().unwrap_or(CallService::innermost());
        self.layers = Some(CallService::through(layer.layer(below)));
        self
    }
}

/// A call on its way through the [layers](crate::ClientBuilder::layer) of its client. It cannot be cloned, since it may
/// have callbacks.
///
/// What is changed counts for all requests that it takes: retries, rounds of input, and the list that a refusal of its
/// headers causes.
pub struct CallRequest {
    shared: Arc<Shared>,
    request: Box<dyn Outgoing>,
    options: Options,
    deadline: Deadline,
    opens: bool,
    /// Says that it is no more on its way down.
    arrived: Arc<AtomicBool>,
}

impl CallRequest {
    /// Its method, such as `tools/call`; `subscriptions/listen` for a subscription that is opened.
    pub fn method(&self) -> &'static str {
        self.request.method()
    }

    /// What it is about: the name of the tool or prompt, the URI of the resource.
    pub fn target(&self) -> Option<&str> {
        self.request.mcp_name()
    }

    /// The headers that were set for this call alone. They have no meaning over a byte stream.
    pub const fn headers(&self) -> &HeaderMap {
        self.options.headers.all()
    }

    /// Sets a header, in place of one of that name. A private answer is cached for the same headers alone.
    ///
    /// # Errors
    /// When it is no header, or one that the protocol or HTTP itself decides about, as of
    /// [`Call::header`](crate::Call::header).
    pub fn set_header<N, V>(&mut self, name: N, value: V) -> Result<(), Error>
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        self.options.headers.set(name, value)
    }

    /// What the caller wrote into `_meta`. The client's own members are filled in later.
    pub fn meta(&self) -> &RequestMeta {
        self.request.meta()
    }

    /// The same, to be changed: what is there already the client leaves as it is. The answer to a request with a
    /// `_meta` that is not the client's own alone is not cached.
    pub fn meta_mut(&mut self) -> &mut RequestMeta {
        self.request.meta_mut()
    }

    /// What the caller gave along for layers; see [`Call::extension`](crate::Call::extension).
    pub const fn extensions(&self) -> &Extensions {
        &self.options.extensions
    }

    /// The same, to be changed.
    pub const fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.options.extensions
    }

    /// Makes the call.
    async fn make(mut self) -> Result<CallResponse, Error> {
        self.arrived.store(true, Ordering::Relaxed);
        let exchange = Exchange {
            shared: &self.shared,
            options: &mut self.options,
            deadline: &mut self.deadline,
        };
        let made = if self.opens {
            Made::Stream(exchange.open(&mut *self.request).await?)
        } else {
            Made::Answer(exchange.run(&mut *self.request).await?)
        };
        Ok(CallResponse(made))
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRequest").field("method", &self.method()).finish_non_exhaustive()
    }
}

/// The answer to a call, or the stream of a subscription, on its way back through the layers.
pub struct CallResponse(Made);

enum Made {
    Answer(Answer),
    Stream(Opened),
}

impl CallResponse {
    /// The result as the server wrote it, in JSON; `None` for a subscription.
    pub fn result(&self) -> Option<&[u8]> {
        match &self.0 {
            Made::Answer(answer) => Some(&answer.found.result),
            Made::Stream(_) => None,
        }
    }

    /// Whether it is the result of a tool that failed.
    pub const fn is_tool_error(&self) -> bool {
        matches!(&self.0, Made::Answer(answer) if answer.found.is_tool_error)
    }
}

impl fmt::Debug for CallResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallResponse").finish_non_exhaustive()
    }
}

/// What a [layer](crate::ClientBuilder::layer) goes around: makes calls. A cheap clone, and always ready; where layers
/// below it are not, its future waits.
#[derive(Clone)]
pub struct CallService(Option<Arc<dyn Layered>>);

impl CallService {
    /// What makes calls, without layers.
    pub(crate) const fn innermost() -> Self {
        Self(None)
    }

    /// What makes them through `service`.
    pub(crate) fn through<S>(service: S) -> Self
    where
        S: Service<CallRequest, Response = CallResponse> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        Self(Some(Arc::new(Around(service))))
    }
}

impl Service<CallRequest> for CallService {
    type Response = CallResponse;
    type Error = Error;
    type Future = BoxFuture<'static, Result<CallResponse, Error>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        match &self.0 {
            Some(layered) => layered.call(request),
            None => Box::pin(request.make()),
        }
    }
}

impl fmt::Debug for CallService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallService").finish_non_exhaustive()
    }
}

/// A service whose type is forgotten, of which every call gets a clone.
trait Layered: Send + Sync {
    fn call(&self, request: CallRequest) -> BoxFuture<'static, Result<CallResponse, Error>>;
}

struct Around<S>(S);

impl<S> Layered for Around<S>
where
    S: Service<CallRequest, Response = CallResponse> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    fn call(&self, request: CallRequest) -> BoxFuture<'static, Result<CallResponse, Error>> {
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await.map_err(own)?;
            service.call(request).await.map_err(own)
        })
    }
}

/// An error that came through a layer, or began there.
fn own(error: impl Into<BoxError>) -> Error {
    match error.into().downcast::<Error>() {
        Ok(error) => *error,
        Err(error) => Error::new(Kind::Layer).caused_by(error),
    }
}

/// What goes through layers.
pub(crate) struct Layering<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) layers: &'a CallService,
    pub(crate) options: Options,
    /// Has begun to count: waiting in a layer is waiting.
    pub(crate) deadline: Deadline,
}

impl Layering<'_> {
    pub(crate) async fn call(self, request: Box<dyn Outgoing>) -> Result<Answer, Error> {
        match self.through(request, false).await?.0 {
            Made::Answer(answer) => Ok(answer),
            Made::Stream(_) => Err(swapped()),
        }
    }

    pub(crate) async fn open(self, request: Box<dyn Outgoing>) -> Result<Opened, Error> {
        match self.through(request, true).await?.0 {
            Made::Stream(opened) => Ok(opened),
            Made::Answer(_) => Err(swapped()),
        }
    }

    async fn through(self, request: Box<dyn Outgoing>, opens: bool) -> Result<CallResponse, Error> {
        let Self { shared, layers, options, deadline } = self;
        let (mut whole, mut total) = (deadline.fork(), deadline.total_alone());
        let (shared, arrived) = (Arc::clone(shared), Arc::<AtomicBool>::default());
        let request = CallRequest {
            shared,
            request,
            options,
            deadline,
            opens,
            arrived: Arc::clone(&arrived),
        };
        let mut call = layers.clone().call(request);
        // A layer that never calls what is below it must not last for ever. Once that has been called, it knows best
        // what the idle time is; the opening of a subscription has no other time.
        match whole.race(&mut call).await {
            Err(_) if !opens && arrived.load(Ordering::Relaxed) => total.race(call).await?,
            made => made?,
        }
    }
}

fn swapped() -> Error {
    Error::new(Kind::Layer).caused_by("it gave the answer of another call")
}
