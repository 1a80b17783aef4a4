//! One call's whole story, and the file to read first: fill in `_meta`, mirror the headers, encode, post,
//! receive; and again, at most once each, in another version or with fresh tool definitions, and for each round
//! in which the server asks for input.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use mcp_transport::header::{ParamHeaders, StandardHeaders};
use mcp_transport::media::{self, BodyKind};
use mcp_types::{
    CallToolParams, ErrorCode, InputRequired, PaginatedParams, ProgressToken, Request, RequestId,
    request,
};
use tracing::{Instrument as _, Span};

use crate::cache::{Mode, Slot};
use crate::call::Options;
use crate::client::Shared;
use crate::deadline::Deadline;
use crate::endpoint::{Endpoint, ReplyBody};
use crate::error::{Error, Fault, Kind, Unanswered};
use crate::future::BoxFuture;
use crate::layer::Layering;
use crate::legacy;
use crate::limits::Limits;
use crate::link::{Link, Reply};
use crate::listener::{Listener, Nobody};
use crate::messages::Messages;
use crate::outgoing::{Outgoing, Typed};
use crate::pipe::{Connection, Wants};
use crate::receive::{Answer, Receiver};
use crate::retry::only_reads;
use crate::span;

/// The future of an answer; it does all its work where it is polled.
pub(crate) type Answering = BoxFuture<'static, Result<Answer, Error>>;

/// Calls. Not generic over the method, so that it is compiled here and not in each crate that calls.
pub(crate) fn run(
    shared: Arc<Shared>,
    request: Result<Box<dyn Outgoing>, Error>,
    options: Options,
) -> Answering {
    Box::pin(async move {
        let (mut request, mut options) = (request?, options);
        let mut deadline = Deadline::start(options.timeouts);
        if let Some(layers) = &shared.layers {
            return Layering { shared: &shared, layers, options, deadline }.call(request).await;
        }
        let exchange = Exchange { shared: &shared, options: &mut options, deadline: &mut deadline };
        exchange.run(&mut *request).await
    })
}

/// One call of several that share what is set on them and, where they are to end together, their deadline.
pub(crate) struct Exchange<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) options: &'a mut Options,
    pub(crate) deadline: &'a mut Deadline,
}

impl<'a> Exchange<'a> {
    pub(crate) async fn run(mut self, request: &mut dyn Outgoing) -> Result<Answer, Error> {
        let mode = self.options.cache;
        // Whose answers may be served is known when the store has been asked who is signed in.
        #[cfg(feature = "oauth")]
        if let Some(keeper) = self.shared.link.keeper() {
            self.deadline.race(keeper.loaded()).await?;
        }
        let slot = match mode {
            Mode::Bypass => None,
            Mode::Use | Mode::Refresh => Slot::of(self.shared, &self.options.headers, request),
        };
        if mode == Mode::Use
            && let Some(answer) = slot.as_ref().and_then(Slot::fresh)
        {
            return Ok(answer);
        }
        let fetched = self.fetch(request).await.map_err(|error| legacy::told(error, request));
        if let Err(error) = &fetched
            && request.has_cursor()
            && error.rpc().is_some_and(|error| error.code == ErrorCode::INVALID_PARAMS)
        {
            // The pages before it lead to a cursor that the server knows no more.
            self.shared.forget(request.method());
        }
        let mut answer = match fetched {
            Ok(answer) => answer,
            Err(error) if mode == Mode::Use => {
                let stale = slot.and_then(|slot| stand_in(self.shared, &slot, &error));
                return stale.ok_or(error);
            }
            Err(error) => return Err(error),
        };
        if let Some(call) = request.tool_call() {
            answer.found.promise = self.shared.catalog.promise(&call.name);
        }
        if let Some(slot) = slot
            && !request.has_input()
        {
            slot.store(mode, request, &answer.found);
        }
        Ok(answer)
    }

    /// Goes through the rounds that it takes.
    async fn fetch(&mut self, request: &mut dyn Outgoing) -> Result<Answer, Error> {
        let own = Own::new(request, self.options);
        let mut retries = Retries::default();
        let mut rounds = 0;
        loop {
            let answer = self.answer(request, own, &mut retries).await?;
            if !self.options.answers || !request.may_need_input() {
                return Ok(answer);
            }
            let Some(input) = answer.found.input_required() else {
                return Ok(answer);
            };
            if let Err(error) = self.give_input(request, input, rounds).await {
                return Err(error.with_head_of(answer.head));
            }
            rounds += 1;
        }
    }

    /// Gets what the server asks for, and puts it into the request for the next round. Specification: Multi
    /// Round-Trip Requests, Client Requirements.
    async fn give_input(
        &mut self,
        request: &mut dyn Outgoing,
        input: InputRequired,
        rounds: usize,
    ) -> Result<(), Error> {
        let shared = self.shared;
        if rounds >= shared.limits.input_rounds {
            return Err(unanswered(input, Unanswered::TooManyRounds(rounds)));
        }
        let requests = input.input_requests().len();
        if requests > Limits::INPUT_REQUESTS {
            return Err(unanswered(input, Unanswered::TooMany(requests)));
        }
        let undeclared = shared.capabilities.missing(&input.required_capabilities()).is_some();
        let answering = match shared.handlers.answer(input.input_requests()) {
            Some(answering) if !undeclared => answering,
            _ => return Err(unanswered(input, Unanswered::NoHandler)),
        };
        let (requests, state) = input.into_parts();
        // The server has answered: what follows is the user's time, of which only the total is limited.
        self.deadline.pause();
        let responses = if requests.is_empty() {
            self.deadline.race(tokio::time::sleep(Limits::STATE_PAUSE)).await?;
            None
        } else {
            let answered = self.deadline.race(answering).await?;
            Some(answered.map_err(|error| Error::new(Kind::Input).caused_by(error))?)
        };
        self.deadline.extend();
        if request.set_input(responses, state) {
            Ok(())
        } else {
            Err(Error::usage("the parameters of this method have no place for input"))
        }
    }

    /// Sends the request and awaits its answer; and again, at most once each in all rounds, in another
    /// version or with fresh tool definitions.
    async fn answer(
        &mut self,
        request: &mut dyn Outgoing,
        own: Own,
        retries: &mut Retries,
    ) -> Result<Answer, Error> {
        loop {
            let error = match self.round(request, own).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !retries.renegotiated && own.version && self.renegotiate(&error) {
                retries.renegotiated = true;
            } else if !retries.refreshed && is_mismatch(&error) && request.tool_call().is_some() {
                retries.refreshed = true;
                self.shared.forget(request::ListTools::METHOD);
                if let Err(failed) = self.refresh(request).await {
                    tracing::debug!(%failed, "the tools could not be listed again");
                    return Err(error);
                }
            } else if !self.pause_after(&error, request, retries.failed).await {
                return Err(error);
            } else {
                retries.failed += 1;
            }
        }
    }

    /// Waits before a request is sent again that failed; returns whether it is to be.
    async fn pause_after(&mut self, error: &Error, request: &dyn Outgoing, failed: u32) -> bool {
        // A state may be good for one use only.
        let is_idempotent =
            (self.options.is_idempotent || only_reads(request.method())) && !request.has_input();
        let retry = self.shared.retry;
        let Some(pause) = retry.and_then(|retry| retry.pause(error, is_idempotent, failed)) else {
            return false;
        };
        tracing::debug!(%error, ?pause, "a request is sent again");
        self.deadline.pause();
        let is_in_time = self.deadline.race(tokio::time::sleep(pause)).await.is_ok();
        self.deadline.extend();
        is_in_time
    }

    /// Sends the request, when it is its turn, and awaits its answer, in a span of its own.
    async fn round(&mut self, request: &mut dyn Outgoing, own: Own) -> Result<Answer, Error> {
        let _turn = match &self.shared.in_flight {
            Some(in_flight) => self.deadline.race(in_flight.acquire()).await?.ok(),
            None => None,
        };
        let span = span::of(request);
        let answer = self.round_in(&span, request, own).instrument(span.clone()).await;
        span::done(&span, request, &answer);
        answer
    }

    pub(crate) async fn round_in(
        &mut self,
        span: &Span,
        request: &mut dyn Outgoing,
        own: Own,
    ) -> Result<Answer, Error> {
        let Sent { id, token, reply, way } = self.send(span, request, own).await?;
        let mut listener = Listener {
            token: token.as_ref(),
            resets: self.options.reset_on_progress,
            on_progress: self.options.on_progress.as_ref(),
            on_log: self.options.on_log.as_ref().map(|(_, callback)| callback),
        };
        let receiver = Receiver {
            limits: &self.shared.limits,
            url: &|| self.shared.link.shown(),
            deadline: self.deadline,
            observer: &mut listener,
        };
        let answer = receiver.answer(reply, &id).await;
        if let Way::Lines(connection) = way
            && request.method() == request::Discover::METHOD
        {
            connection.era().learn(&answer);
        }
        answer
    }

    /// Sends a request whose answer is a stream that stays open. Repeats it, once, in another version.
    pub(crate) async fn open(mut self, request: &mut dyn Outgoing) -> Result<Opened, Error> {
        let own = Own::new(request, self.options);
        let mut opened = self.try_open(request, own).await;
        if let Err(error) = &opened
            && own.version
            && self.renegotiate(error)
        {
            tracing::debug!(%error, "a stream is opened in another version");
            opened = self.try_open(request, own).await;
        }
        opened.map_err(|error| legacy::told(error, request))
    }

    async fn try_open(&mut self, request: &mut dyn Outgoing, own: Own) -> Result<Opened, Error> {
        let span = span::of(request);
        let opened = self.try_open_in(&span, request, own).instrument(span.clone()).await;
        if let Err(error) = &opened {
            span::failed(&span, error);
        }
        opened
    }

    async fn try_open_in(
        &mut self,
        span: &Span,
        request: &mut dyn Outgoing,
        own: Own,
    ) -> Result<Opened, Error> {
        let Sent { id, reply, .. } = self.send(span, request, own).await?;
        let is_stream = match &reply {
            Reply::Http(response) => {
                response.status().is_success()
                    && media::body_kind(response.headers()) == BodyKind::Sse
            }
            Reply::Lines(_) => true,
        };
        if is_stream {
            return Ok(Opened { id, reply, span: span.clone() });
        }
        let receiver = Receiver {
            limits: &self.shared.limits,
            url: &|| self.shared.link.shown(),
            deadline: self.deadline,
            observer: &mut Nobody,
        };
        let answer = receiver.answer(reply, &id).await?;
        Err(Error::protocol(Fault::NotAcknowledged).with_head_of(answer.head))
    }

    /// Sends the request under a new id.
    async fn send(
        &mut self,
        span: &Span,
        request: &mut dyn Outgoing,
        own: Own,
    ) -> Result<Sent<'a>, Error> {
        let shared = self.shared;
        let way = self.way(request).await?;
        let id = shared.next_id();
        let token = self.fill_in(request, own, id);
        let id = RequestId::from(id);
        span::sent(span, request, &id);
        let body = request.encode(&id).map_err(|error| {
            Error::usage("the parameters have no form in JSON").caused_by(error)
        })?;
        let reply = match &way {
            Way::Http(endpoint) => Reply::Http(self.post(endpoint, &*request, body.into()).await?),
            Way::Lines(connection) => {
                let wants = Wants {
                    token: token.clone(),
                    logs: self.options.on_log.is_some(),
                    changes: request.method() == request::Listen::METHOD,
                };
                let sent = connection.send(&id, &body, wants, self.deadline);
                Reply::Lines(Messages::Lines(sent.await?))
            }
        };
        Ok(Sent { id, token, reply, way })
    }

    /// The way for the request. At the end of one of lines is a server that speaks this revision, unless this request
    /// is to find that out.
    async fn way(&mut self, request: &dyn Outgoing) -> Result<Way<'a>, Error> {
        let pipe = match &self.shared.link {
            Link::Http(endpoint) => return Ok(Way::Http(endpoint)),
            Link::Pipe(pipe) => pipe,
        };
        let connection = pipe.connection(self.deadline).await?;
        if self.shared.probes && request.method() != request::Discover::METHOD {
            self.probe(&connection).await?;
        }
        Ok(Way::Lines(connection))
    }

    async fn post(
        &mut self,
        endpoint: &Endpoint,
        request: &dyn Outgoing,
        body: Bytes,
    ) -> Result<Response<ReplyBody>, Error> {
        let catalog = &self.shared.catalog;
        let plan = request.tool_call().and_then(|call| catalog.plan(&call.name));
        let extra = &self.options.headers;
        let headers = move || {
            let mut headers = endpoint.headers();
            extra.apply(&mut headers);
            mirror(request, plan.as_deref(), &mut headers)?;
            Ok(headers)
        };
        endpoint.post(&headers, &body, self.deadline).await
    }

    /// Writes what every request says of itself, and returns the token of its progress. What the caller
    /// wrote stays. Specification: Overview, `_meta`.
    fn fill_in(&self, request: &mut dyn Outgoing, own: Own, id: i64) -> Option<ProgressToken> {
        let meta = request.meta_mut();
        if own.version {
            meta.protocol_version = Some(self.shared.version());
        }
        if own.token {
            meta.progress_token = Some(id.into());
        }
        if own.trace
            && let Some(trace) = &self.shared.trace_context
        {
            meta.set_trace_context(&trace());
        }
        if meta.client_info.is_none() {
            meta.client_info.clone_from(&self.shared.info);
        }
        if meta.client_capabilities.is_none() {
            meta.client_capabilities = Some(self.shared.capabilities.clone());
        }
        if let Some((level, _)) = &self.options.on_log {
            meta.log_level = Some(*level);
        }
        meta.progress_token.clone()
    }

    /// Whether the server named a version that both speak, which then is the client's.
    pub(crate) fn renegotiate(&self, error: &Error) -> bool {
        let refused = error.rpc().and_then(|error| error.as_unsupported_version());
        refused.is_some_and(|refused| self.shared.choose_version(&refused.supported))
    }

    /// Lists tools until the one called has come by. Specification: Streamable HTTP, Client Behavior.
    async fn refresh(&mut self, request: &dyn Outgoing) -> Result<(), Error> {
        let name = request.tool_call().map(|call| call.name.clone());
        // What the caller wants to hear is about the call, not about the list.
        let heard = (self.options.on_progress.take(), self.options.on_log.take());
        let listed = self.list_until(name.as_deref()).await;
        (self.options.on_progress, self.options.on_log) = heard;
        listed
    }

    async fn list_until(&mut self, tool: Option<&str>) -> Result<(), Error> {
        let mut params = PaginatedParams::default();
        for _ in 0..Limits::REFRESH_PAGES {
            let mut list = Typed::<request::ListTools>(params);
            let own = Own { version: true, token: false, trace: true };
            let answer = self.round(&mut list, own).await?;
            let Some(mut page) = answer.found.outcome::<request::ListTools>()?.complete() else {
                break;
            };
            let found = page.tools.iter().any(|listed| Some(&*listed.name) == tool);
            self.shared.catalog.admit(&mut page);
            match page.next_cursor {
                Some(cursor) if !found => {
                    params = PaginatedParams { cursor: Some(cursor), ..PaginatedParams::default() };
                }
                _ => break,
            }
        }
        Ok(())
    }
}

/// A request that was sent, and the reply that begins.
struct Sent<'a> {
    id: RequestId,
    token: Option<ProgressToken>,
    reply: Reply,
    way: Way<'a>,
}

/// What a request goes over.
enum Way<'a> {
    Http(&'a Endpoint),
    Lines(Arc<Connection>),
}

/// A stream that was opened by the request `id`.
pub(crate) struct Opened {
    pub(crate) id: RequestId,
    pub(crate) reply: Reply,
    /// Goes on until the stream is acknowledged.
    pub(crate) span: Span,
}

/// What a call has been repeated for.
#[derive(Default)]
struct Retries {
    renegotiated: bool,
    refreshed: bool,
    /// How often the network failed.
    failed: u32,
}

/// Which members of `_meta` are the client's to fill in anew for every round.
#[derive(Clone, Copy)]
pub(crate) struct Own {
    pub(crate) version: bool,
    pub(crate) token: bool,
    pub(crate) trace: bool,
}

impl Own {
    fn new(request: &dyn Outgoing, options: &Options) -> Self {
        let meta = request.meta();
        let wants_progress = options.on_progress.is_some() || options.reset_on_progress;
        Self {
            version: meta.protocol_version.is_none(),
            trace: !meta.other.contains_key("traceparent"),
            token: meta.progress_token.is_none() && wants_progress,
        }
    }
}

/// Sets the headers that repeat the message. Specification: Streamable HTTP, Request Metadata.
fn mirror(
    request: &dyn Outgoing,
    plan: Option<&ParamHeaders>,
    headers: &mut HeaderMap,
) -> Result<(), Error> {
    let version = request.meta().protocol_version.as_ref();
    let standard = StandardHeaders {
        version: version.map_or("", |version| version.as_str()),
        method: request.method(),
        name: request.mcp_name(),
    };
    standard
        .apply(headers)
        .map_err(|error| Error::usage("the request cannot be sent over HTTP").caused_by(error))?;
    if let (Some(plan), Some(CallToolParams { arguments, .. })) = (plan, request.tool_call()) {
        plan.mirror(arguments.as_ref().map(|arguments| arguments.get()), headers).map_err(
            |error| Error::usage("an argument has no place in a header").caused_by(error),
        )?;
    }
    Ok(())
}

/// The stale answer that is served in place of an error, where that is wanted.
pub(crate) fn stand_in(shared: &Shared, slot: &Slot<'_>, error: &Error) -> Option<Answer> {
    let max_age = shared.stale_on_error.filter(|_| error.is_outage())?;
    let answer = slot.within(max_age)?;
    tracing::warn!(%error, "a stale answer is served");
    Some(answer)
}

fn unanswered(input: InputRequired, why: Unanswered) -> Error {
    Error::new(Kind::InputRequired(input, why))
}

/// Whether the server refused the headers, before it did anything: only then is it safe to call again.
fn is_mismatch(error: &Error) -> bool {
    error.status() == Some(StatusCode::BAD_REQUEST)
        && error.rpc().is_some_and(|error| error.code == ErrorCode::HEADER_MISMATCH)
}
