//! `Call`: one request about to be made.

use std::any::Any;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Extensions, HeaderName, HeaderValue};
use mcp_types::{
    Cacheable, CallToolResult, CompleteParams, Cursor, LogMessageParams, LoggingLevel, Outcome,
    Page, PaginatedParams, ProgressParams, Request, request,
};
use serde::de::DeserializeOwned;

use crate::cache::Mode;
use crate::client::Client;
use crate::deadline::Timeouts;
use crate::error::{Error, Fault, Kind, Unanswered, undecodable};
use crate::exchange::{self, Answering};
use crate::headers::ExtraHeaders;
use crate::outgoing::{Outgoing, Typed};
use crate::pages::{Collecting, List, Pages};
use crate::receive::{Answer, Found};

/// Shared by the requests that a call takes, of which one is under way at a time.
pub(crate) type ProgressCallback = Arc<Mutex<dyn FnMut(ProgressParams) + Send>>;
pub(crate) type LogCallback = Arc<Mutex<dyn FnMut(LogMessageParams) + Send>>;

/// A call of the method `R` that gives a `T`. Await it to make it.
///
/// What is set here counts for this call alone. It owns a clone of its client, so that it can be spawned.
/// Nothing is sent before it is awaited; dropping its future cancels it: the connection of the call is
/// closed (HTTP/1.1) or its stream is reset (HTTP/2), and no cancellation message is sent.
/// Specification: Cancellation.
///
/// # Errors
/// See [`Error`]. What was set wrongly, such as a reserved header, is reported when the call is awaited,
/// before anything is sent.
#[must_use = "a call is made when it is awaited"]
pub struct Call<R: Request, T = Outcome<<R as Request>::Result>> {
    client: Client,
    params: Result<R::Params, Error>,
    options: Options,
    finish: Finish<T>,
}

/// Makes what the caller gets of the answer. A pointer made here, for the methods that have a function of
/// their own, so that their results are decoded by code that is compiled here.
pub(crate) type Finish<T> = fn(&Client, &Found) -> Result<T, Error>;

/// How a call is made.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) timeouts: Timeouts,
    pub(crate) headers: ExtraHeaders,
    /// For layers.
    pub(crate) extensions: Extensions,
    pub(crate) reset_on_progress: bool,
    pub(crate) on_progress: Option<ProgressCallback>,
    pub(crate) on_log: Option<(LoggingLevel, LogCallback)>,
    /// Whether what the server asks for is answered here, rather than by the caller.
    pub(crate) answers: bool,
    pub(crate) cache: Mode,
    /// Whether the caller says so.
    pub(crate) is_idempotent: bool,
}

impl Options {
    /// Nobody listens, nobody answers.
    pub(crate) fn quiet(timeouts: Timeouts, headers: ExtraHeaders) -> Self {
        Self {
            timeouts,
            headers,
            extensions: Extensions::new(),
            reset_on_progress: false,
            on_progress: None,
            on_log: None,
            answers: false,
            cache: Mode::Use,
            is_idempotent: false,
        }
    }
}

impl<R: Request> Call<R> {
    /// A call that gives the outcome as it is.
    pub(crate) fn new(client: Client, params: R::Params) -> Self {
        Self::with(client, Ok(params), outcome::<R>, false)
    }
}

impl<R: Request> Call<R, R::Result> {
    /// A call that gives the final result, answers what the server asks for on the way, and is an error when it
    /// cannot.
    pub(crate) fn complete(client: Client, params: Result<R::Params, Error>) -> Self {
        Self::with(client, params, complete::<R>, true)
    }
}

impl<R: Request, T> Call<R, T> {
    fn with(
        client: Client,
        params: Result<R::Params, Error>,
        finish: Finish<T>,
        answers: bool,
    ) -> Self {
        let options = Options::quiet(client.timeouts(), ExtraHeaders::default());
        let options = Options { answers, ..options };
        Self { client, params, options, finish }
    }

    /// How long the call may go without its answer; `None` is for ever. Default is the client's
    /// [`timeout`](crate::ClientBuilder::timeout). Specification: Cancellation, Timeouts.
    pub fn timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.options.timeouts.idle = time.into();
        self
    }

    /// How long the call may take in all, whatever progress it makes; `None` is for ever. Default is the
    /// client's [`total_timeout`](crate::ClientBuilder::total_timeout).
    pub fn total_timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.options.timeouts.total = time.into();
        self
    }

    /// Lets [`timeout`](Self::timeout) begin anew whenever the server reports progress, which this asks it
    /// to. Default is not to. [`total_timeout`](Self::total_timeout) goes on.
    pub const fn reset_on_progress(mut self) -> Self {
        self.options.reset_on_progress = true;
        self
    }

    /// Asks for progress and has `callback` called with it, in the order it arrives and before the call
    /// resolves. It runs where the call is polled, so it must not block. Specification: Progress.
    pub fn on_progress(mut self, callback: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.on_progress = Some(Arc::new(Mutex::new(callback)));
        self
    }

    /// Asks for log messages of `level` and above and has `callback` called with them, like
    /// [`on_progress`](Self::on_progress). Specification: Logging, which this revision deprecates.
    pub fn on_log(
        mut self,
        level: LoggingLevel,
        callback: impl FnMut(LogMessageParams) + Send + 'static,
    ) -> Self {
        self.options.on_log = Some((level, Arc::new(Mutex::new(callback))));
        self
    }

    /// Says that making the call twice does no more than making it once, so that it is made again where the client's
    /// [`retry`](crate::ClientBuilder::retry) policy says so. Default is that methods are which only read, and tools
    /// are not. A tool says of itself whether it is: [`ToolAnnotations`](mcp_types::ToolAnnotations), if the server
    /// is trusted.
    pub const fn idempotent(mut self) -> Self {
        self.options.is_idempotent = true;
        self
    }

    /// Sends a header, in place of the client's own of that name.
    ///
    /// Headers that the protocol or HTTP itself decides about are refused: `Content-Type`, `Accept`,
    /// `Host`, whatever begins with `Mcp-`, and the like.
    pub fn header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        if let Err(error) = self.options.headers.set(name, value) {
            // The first mistake is the one to tell.
            self.params = self.params.and(Err(error));
        }
        self
    }

    /// Gives a value along for the [layers](crate::ClientBuilder::layer) of the client, in place of one of its type.
    /// Nothing of it is sent.
    pub fn extension<E: Clone + Send + Sync + 'static>(mut self, value: E) -> Self {
        self.options.extensions.insert(value);
        self
    }

    /// Gives the result as the server wrote it, for those who pass it on: its JSON text, not decoded and to
    /// the last byte, whatever it says. It is not looked at, so a list of tools teaches the client
    /// nothing.
    pub fn raw(self) -> Call<R, Bytes> {
        self.finish_with(|_, found| Ok(found.result.clone()))
    }

    fn finish_with<U>(self, finish: Finish<U>) -> Call<R, U> {
        let Self { client, params, options, .. } = self;
        Call { client, params, options, finish }
    }
}

impl<R: Request<Result: Cacheable>, T> Call<R, T> {
    /// Asks the server whatever is [cached](crate::Cache), and keeps nothing. Default is to take what is fresh.
    pub const fn bypass_cache(mut self) -> Self {
        self.options.cache = Mode::Bypass;
        self
    }

    /// Asks the server whatever is [cached](crate::Cache), and keeps the answer. Default is to take what is
    /// fresh.
    pub const fn refresh_cache(mut self) -> Self {
        self.options.cache = Mode::Refresh;
        self
    }
}

impl Call<request::CallTool, CallToolResult> {
    /// Gives what the tool returned for programs, its `structuredContent`, as a `T`. Specification: Tools,
    /// Structured Content.
    ///
    /// # Errors
    /// When the tool failed, in which case [`Error::tool_failure`] has its result; when there is no structured
    /// content, it breaks the tool's output schema as far as that is known, or is no `T`: faults of the
    /// server's.
    pub fn structured<T: DeserializeOwned>(self) -> Call<request::CallTool, T> {
        self.finish_with(structured)
    }
}

impl<R: Request<Params = CompleteParams>, T> Call<R, T> {
    /// Says what another argument, or variable of the template, is already. Specification: Completion.
    pub fn context(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Ok(params) = &mut self.params {
            let context = params.context.get_or_insert_default();
            context.arguments.get_or_insert_default().insert(name.into(), value.into());
        }
        self
    }
}

impl<R: Request<Params = PaginatedParams>, T> Call<R, T> {
    /// Asks for the page that begins at `cursor`, the `next_cursor` of the page before. Default is the
    /// first page. Specification: Pagination.
    pub fn cursor(mut self, cursor: impl Into<Cursor>) -> Self {
        if let Ok(params) = &mut self.params {
            params.cursor = Some(cursor.into());
        }
        self
    }
}

impl<R> Call<R, R::Result>
where
    R: Request<Params = PaginatedParams, Result: Page> + 'static,
{
    /// All pages, one after the other as they are asked for.
    pub fn pages(self) -> Pages<R> {
        Pages::new(self.client, self.params, self.options, self.finish)
    }

    /// What is on all pages, in the server's order. Await what this returns.
    ///
    /// The total timeout is for all of it, the timeout for each page. When the server no longer knows
    /// where it was, which it says by refusing a cursor, it is read from the beginning once more.
    /// Specification: Caching, Interaction with Pagination.
    ///
    /// # Errors
    /// See [`Error`]; when the pages go round in circles or are more than
    /// [`Limits::PAGES`](crate::Limits::PAGES).
    pub fn all(self) -> Collecting<R> {
        List::<R>::new(self.client, self.params, self.options, self.finish).collect()
    }
}

impl<R: Request + 'static, T> IntoFuture for Call<R, T> {
    type Output = Result<T, Error>;
    type IntoFuture = CallFuture<T>;

    fn into_future(self) -> CallFuture<T> {
        let Self { client, params, options, finish } = self;
        let request = params.map(|params| Box::new(Typed::<R>(params)) as Box<dyn Outgoing>);
        let answering = exchange::run(client.shared(), request, options);
        CallFuture { client, answering, finish }
    }
}

impl<R: Request, T> fmt::Debug for Call<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &R::METHOD)
            .field("timeouts", &self.options.timeouts)
            .finish_non_exhaustive()
    }
}

/// A [`Call`] under way. Dropping it cancels the call.
#[must_use = "a call goes on only while it is polled"]
pub struct CallFuture<T> {
    client: Client,
    answering: Answering,
    finish: Finish<T>,
}

impl<T> Future for CallFuture<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.answering.as_mut().poll(cx).map(|answer| {
            let Answer { head, found, .. } = answer?;
            (this.finish)(&this.client, &found).map_err(|error| error.with_head_of(head))
        })
    }
}

impl<T> fmt::Debug for CallFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture").field("client", &self.client).finish_non_exhaustive()
    }
}

/// Decodes an outcome, and lets the client learn from it.
fn outcome<R: Request>(client: &Client, found: &Found) -> Result<Outcome<R::Result>, Error> {
    let mut outcome = found.outcome::<R>()?;
    let any: &mut dyn Any = &mut outcome;
    if let Some(Outcome::Complete(page)) = any.downcast_mut() {
        client.admit(page);
    }
    if let Some(promise) = &found.promise
        && let Some(Outcome::Complete(result)) = any.downcast_ref()
        && let Err(error) = promise.check(result)
    {
        // The list that told of it may be older than the tool.
        client.forget(request::ListTools::METHOD);
        return Err(error);
    }
    Ok(outcome)
}

fn complete<R: Request>(client: &Client, found: &Found) -> Result<R::Result, Error> {
    match outcome::<R>(client, found)? {
        Outcome::Complete(result) => Ok(result),
        Outcome::InputRequired(input) => {
            Err(Error::new(Kind::InputRequired(input, Unanswered::NoHandler)))
        }
    }
}

fn structured<T: DeserializeOwned>(client: &Client, found: &Found) -> Result<T, Error> {
    let result = complete::<request::CallTool>(client, found)?;
    if result.is_error() {
        return Err(Error::new(Kind::Tool(result)));
    }
    match &result.structured_content {
        Some(content) => content.decode().map_err(|error| undecodable(&error)),
        None => Err(Error::protocol(Fault::NotStructured)),
    }
}
