//! `Call`: one request about to be made.

use std::any::Any;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use mcp_types::{
    Cursor, LogMessageParams, LoggingLevel, Outcome, PaginatedParams, ProgressParams, Request,
};

use crate::client::Client;
use crate::deadline::Timeouts;
use crate::error::{Error, Kind};
use crate::exchange::{self, Answering};
use crate::headers::ExtraHeaders;
use crate::outgoing::{Outgoing, Typed};
use crate::receive::{Answer, Found};

pub(crate) type ProgressCallback = Box<dyn FnMut(ProgressParams) + Send>;
pub(crate) type LogCallback = Box<dyn FnMut(LogMessageParams) + Send>;

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
type Finish<T> = fn(&Client, &Found) -> Result<T, Error>;

/// How a call is made.
pub(crate) struct Options {
    pub(crate) timeouts: Timeouts,
    pub(crate) headers: ExtraHeaders,
    pub(crate) reset_on_progress: bool,
    pub(crate) on_progress: Option<ProgressCallback>,
    pub(crate) on_log: Option<(LoggingLevel, LogCallback)>,
}

impl<R: Request> Call<R> {
    /// A call that gives the outcome as it is.
    pub(crate) fn new(client: Client, params: R::Params) -> Self {
        Self::with(client, Ok(params), outcome::<R>)
    }
}

impl<R: Request> Call<R, R::Result> {
    /// A call that gives the final result, and an error when the server wants input.
    pub(crate) fn complete(client: Client, params: Result<R::Params, Error>) -> Self {
        Self::with(client, params, complete::<R>)
    }
}

impl<R: Request, T> Call<R, T> {
    fn with(client: Client, params: Result<R::Params, Error>, finish: Finish<T>) -> Self {
        let options = Options {
            timeouts: client.timeouts(),
            headers: ExtraHeaders::default(),
            reset_on_progress: false,
            on_progress: None,
            on_log: None,
        };
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
        self.options.on_progress = Some(Box::new(callback));
        self
    }

    /// Asks for log messages of `level` and above and has `callback` called with them, like
    /// [`on_progress`](Self::on_progress). Specification: Logging, which this revision deprecates.
    pub fn on_log(
        mut self,
        level: LoggingLevel,
        callback: impl FnMut(LogMessageParams) + Send + 'static,
    ) -> Self {
        self.options.on_log = Some((level, Box::new(callback)));
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
            let Answer { status, headers, found } = answer?;
            (this.finish)(&this.client, &found).map_err(|error| error.with_head(status, headers))
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
    Ok(outcome)
}

fn complete<R: Request>(client: &Client, found: &Found) -> Result<R::Result, Error> {
    match outcome::<R>(client, found)? {
        Outcome::Complete(result) => Ok(result),
        Outcome::InputRequired(input) => Err(Error::new(Kind::InputRequired(input))),
    }
}
