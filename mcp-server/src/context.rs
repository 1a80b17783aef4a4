//! What a handler may ask for: who calls, with what, and how to speak before the result.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;

use http::{Extensions, HeaderMap};
use mcp_types::Notification as _;
use mcp_types::{
    CacheScope, ClientCapabilities, ErrorObject, Implementation, InputRequired, LogMessageParams,
    LoggingLevel, Method, NotificationMessage, Number, ProgressParams, RawJson, ReadResourceResult,
    RequestId, RequestMeta, TraceContext, notification,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "asking")]
use crate::ask::Asks;
use crate::caller::{Caller, RequestParts};
use crate::completion::Completer;
use crate::handler::{Answers, Handled, ResourceInfo};
use crate::ladder::Brought;
use crate::metadata::Metadata;
use crate::method::MethodEntry;
use crate::registry::{PromptEntry, Reader, ToolEntry};
use crate::rejection::{MAX_WHY, cut};
use crate::reply::{Event, Outbox};
use crate::resource::UNHINTED;
use crate::server::{Server, Shared};
use crate::state::States;
use crate::work::Claim;

/// One request, as its handler sees it. A cheap clone; take it as an argument of a handler.
///
/// A clone that outlives the call, in a task of its own, still tells what it knew, and what it
/// emits goes nowhere.
#[derive(Clone)]
pub struct Context(Arc<Inner>, Added);

/// The extensions of the request with those that layers added, where they did.
type Added = Option<Arc<Extensions>>;

struct Inner {
    id: RequestId,
    meta: Metadata,
    parts: RequestParts,
    outbox: Outbox,
    subject: Subject,
    answers: Option<Box<Answers>>,
    #[cfg(feature = "asking")]
    asks: Option<Asks>,
    shared: Arc<Shared>,
}

/// What a request is about.
pub(crate) enum Subject {
    Tool(Arc<ToolEntry>),
    Prompt(Arc<PromptEntry>),
    Resource(Box<str>, Arc<Reader>),
    /// What completes, if anything does, with the shared values of what is completed.
    Completion(Option<Arc<dyn Completer>>, Arc<States>),
    Method(Arc<MethodEntry>),
}

impl Subject {
    /// The name of the method.
    pub(crate) fn method(&self) -> &str {
        match self {
            Self::Tool(_) => Method::CallTool.as_str(),
            Self::Prompt(_) => Method::GetPrompt.as_str(),
            Self::Resource(..) => Method::ReadResource.as_str(),
            Self::Completion(..) => Method::Complete.as_str(),
            Self::Method(method) => &method.name,
        }
    }

    /// The tool, if it is one.
    pub(crate) const fn tool(&self) -> Option<&Arc<ToolEntry>> {
        if let Self::Tool(tool) = self { Some(tool) } else { None }
    }

    /// Whether `handled` is what its handlers come to.
    pub(crate) const fn comes_to(&self, handled: &Handled) -> bool {
        matches!(
            (self, handled),
            (Self::Tool(_), Handled::Tool(_))
                | (Self::Prompt(_), Handled::Prompt(_))
                | (Self::Resource(..), Handled::Resource(_))
                | (Self::Completion(..), Handled::Completion(_))
                | (Self::Method(_), Handled::Method(_))
        )
    }
}

impl Context {
    pub(crate) fn new(
        id: RequestId,
        meta: Metadata,
        parts: RequestParts,
        outbox: Outbox,
        subject: Subject,
        shared: Arc<Shared>,
    ) -> Self {
        let inner = Inner {
            id,
            meta,
            parts,
            outbox,
            subject,
            answers: None,
            #[cfg(feature = "asking")]
            asks: None,
            shared,
        };
        Self(Arc::new(inner), None)
    }

    /// The same with the answers that a client brought back, as they came.
    pub(crate) fn with_answers(mut self, brought: &Brought<'_>) -> Self {
        // Nobody else has it yet.
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            let state = brought.state.as_deref().map(Into::into);
            let responses = brought.responses.clone();
            inner.answers = Some(Box::new(Answers { responses, state }));
        }
        self
    }

    pub(crate) fn answers(&self) -> Option<&Answers> {
        self.0.answers.as_deref()
    }

    /// The same with what the client brought back to the questions of earlier rounds.
    #[cfg(feature = "asking")]
    pub(crate) fn asking(mut self, asks: Option<Asks>) -> Self {
        // Nobody else has it yet.
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.asks = asks;
        }
        self
    }

    #[cfg(feature = "asking")]
    pub(crate) fn asks(&self) -> Option<&Asks> {
        self.0.asks.as_ref()
    }

    /// Notes that the handler is about to be polled.
    pub(crate) fn begin_poll(&self, waker: &Waker) {
        #[cfg(feature = "asking")]
        if let Some(asks) = self.asks() {
            asks.begin_poll(waker);
        }
        #[cfg(not(feature = "asking"))]
        let _ = waker;
    }

    /// Forgets what a handler has asked that is called again in the same round.
    pub(crate) fn restart_round(&self) {
        #[cfg(feature = "asking")]
        if let Some(asks) = self.asks() {
            asks.restart();
        }
    }

    /// What a handler that waits for the client ends its round with.
    pub(crate) fn end_round(&self) -> Option<Result<InputRequired, ErrorObject>> {
        #[cfg(feature = "asking")]
        return self.0.asks.as_ref()?.end_round(self.0.shared.sealer.get()?);
        #[cfg(not(feature = "asking"))]
        None
    }

    /// What the handler has to wait for before it may run.
    pub(crate) fn claim(&self) -> Option<Claim> {
        #[cfg(feature = "asking")]
        return crate::ask::claim(self);
        #[cfg(not(feature = "asking"))]
        None
    }

    /// The id of the JSON-RPC request.
    pub fn request_id(&self) -> &RequestId {
        &self.0.id
    }

    /// The `_meta` of the request, as it came.
    pub fn meta(&self) -> &RequestMeta {
        self.0.meta.whole()
    }

    /// The trace that the request belongs to, as far as its `_meta` names one: to go along with what is asked of other
    /// servers. What is malformed is left out. Specification: Overview, OpenTelemetry trace context.
    pub fn trace_context(&self) -> TraceContext {
        crate::span::valid(self.meta().trace_context())
    }

    /// Who the client says it is; for display and logs, not for decisions.
    pub fn client_info(&self) -> Option<&Implementation> {
        self.meta().client_info.as_ref()
    }

    /// What the client declared that it can do while this request is served.
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        &self.0.meta.capabilities
    }

    /// The settings that the client declared for the extension `id` of the protocol with this request, if the
    /// extension is active: if the server [declares](crate::ServerBuilder::extension) it as well. A handler goes on
    /// without it otherwise, or refuses. Specification: Versioning, Extension Negotiation.
    ///
    /// ```
    /// use mcp_server::types::ErrorObject;
    /// use mcp_server::{Context, Tool};
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct Ui { mime_types: Vec<String> }
    ///
    /// async fn chart(context: Context) -> Result<String, ErrorObject> {
    ///     match context.extension::<Ui>("io.modelcontextprotocol/ui")? {
    ///         Some(ui) => Ok(format!("shown as {:?}", ui.mime_types)),
    ///         None => Ok("said in words".to_owned()),
    ///     }
    /// }
    /// # Tool::new("chart", chart);
    /// ```
    ///
    /// # Errors
    /// -32602 when the settings are no `T`: extensions say what theirs look like.
    pub fn extension<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>, ErrorObject> {
        let settings = self.client_capabilities().extension(id);
        let Some(settings) = settings.filter(|_| self.shared().extensions.contains_key(id)) else {
            return Ok(None);
        };
        settings.decode().map(Some).map_err(|error| {
            let why = error.to_string();
            let why = cut(&why, MAX_WHY);
            ErrorObject::invalid_params(format!("Invalid settings of the extension {id}: {why}"))
        })
    }

    /// Whether the extension `id` of the protocol is active, whatever its settings.
    pub fn has_extension(&self, id: &str) -> bool {
        self.client_capabilities().has_extension(id) && self.shared().extensions.contains_key(id)
    }

    /// The header fields of the HTTP request; empty on other transports.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.parts.headers
    }

    /// The extensions of the HTTP request, by which layers hand things to handlers. Those of the protocol are
    /// asked for by [`extension`](Self::extension).
    pub fn extensions(&self) -> &Extensions {
        self.1.as_deref().unwrap_or(&self.0.parts.extensions)
    }

    /// The extensions that this and its clones from now on have.
    pub(crate) fn extensions_mut(&mut self) -> &mut Extensions {
        Arc::make_mut(self.1.get_or_insert_with(|| Arc::new(self.0.parts.extensions.clone())))
    }

    /// The address of the peer, where it is known. Behind a proxy that is the proxy's.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.0.parts.peer_addr
    }

    /// The authenticated caller, where there is one.
    pub fn caller(&self) -> Option<&Caller> {
        self.0.parts.caller.as_ref()
    }

    /// Whether nobody waits for the result any more: the client left, or the call took too long. Only a
    /// tool that runs to completion lives to see it; the handler of any other is dropped then.
    pub fn is_abandoned(&self) -> bool {
        self.0.outbox.is_over()
    }

    /// The value of type `T` that the server's handlers share, if it was
    /// [given](crate::ServerBuilder::state) one. A handler that takes an `Arc<T>` instead cannot find it missing:
    /// then the server is not built.
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.states().get()
    }

    /// A handle to report progress with.
    pub fn progress(&self) -> Progress {
        Progress(self.clone())
    }

    /// A handle to log to the client with.
    pub fn log(&self) -> Log {
        Log(self.clone())
    }

    /// The server that handles the request.
    pub fn server(&self) -> Server {
        Server { shared: Arc::clone(&self.0.shared) }
    }

    /// The name of the tool, prompt or custom method, or the URI of the resource, that the request is about.
    pub fn target(&self) -> &str {
        match &self.0.subject {
            Subject::Tool(tool) => &tool.name,
            Subject::Prompt(prompt) => &prompt.name,
            Subject::Resource(uri, _) => uri,
            Subject::Method(method) => &method.name,
            Subject::Completion(..) => "",
        }
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// What is known of the resource that is read.
    pub(crate) fn resource_info(&self) -> ResourceInfo<'_> {
        match &self.0.subject {
            Subject::Resource(uri, reader) => {
                ResourceInfo { uri, mime_type: reader.mime_type.as_deref(), cache: reader.cache }
            }
            Subject::Tool(_)
            | Subject::Prompt(_)
            | Subject::Completion(..)
            | Subject::Method(_) => ResourceInfo { uri: "", mime_type: None, cache: UNHINTED },
        }
    }

    /// A result with no more said to caches than is good: nothing that a filter could hide from somebody may be
    /// shared, and nothing that depends on answers kept. Specification: Caching, Cache Key and Cache Scope Field.
    pub(crate) fn cacheable(&self, mut result: ReadResourceResult) -> ReadResourceResult {
        let again = self.is_retry();
        if again {
            result.ttl_ms = 0;
        }
        #[cfg(feature = "auth")]
        let again = again || self.is_guarded();
        if again || self.shared().visibility.is_some() {
            result.cache_scope = CacheScope::Private;
        }
        result
    }

    /// Whether not everybody may read what is read: a cache that shares it would ask nobody for a token.
    #[cfg(feature = "auth")]
    fn is_guarded(&self) -> bool {
        let Subject::Resource(_, reader) = &self.0.subject else { return false };
        let auth = self.shared().auth.as_ref();
        auth.is_some_and(|auth| auth.guards(Method::ReadResource, &reader.scopes))
    }

    /// Whether the client brought back something to a handler that looks at it.
    fn is_retry(&self) -> bool {
        #[cfg(feature = "asking")]
        if self.asks().is_some_and(Asks::is_retry) {
            return true;
        }
        self.answers()
            .is_some_and(|brought| !brought.responses.is_empty() || brought.state.is_some())
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.0.meta
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// The shared values of the handler.
    pub(crate) fn states(&self) -> &States {
        match &self.0.subject {
            Subject::Tool(tool) => &tool.states,
            Subject::Prompt(prompt) => &prompt.states,
            Subject::Resource(_, reader) => &reader.states,
            Subject::Completion(_, states) => states,
            Subject::Method(_) => &self.0.shared.registry.states,
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No headers, no meta: they may hold credentials and user data.
        f.debug_struct("Context").field("id", &self.0.id).finish_non_exhaustive()
    }
}

/// Reports how far a call has come. Take it as an argument of a handler.
///
/// Reporting never waits. Nothing is sent when the client gave no progress token, when the reply is
/// JSON, or after the call has ended; then a report costs next to nothing. Reports that wait for a
/// slow reader are coalesced to the newest.
///
/// Specification: Progress.
#[derive(Clone, Debug)]
pub struct Progress(Context);

impl Progress {
    /// Whether the client asked for progress and may still get it.
    pub fn is_wanted(&self) -> bool {
        self.0.metadata().progress_token.is_some() && self.0.outbox().is_open()
    }

    /// Reports that `progress` is done, in units of the handler's choice: `50` stays an integer on the
    /// wire, `0.5` a fraction. It must be above the last one reported; otherwise nothing is sent. Returns
    /// whether it was.
    pub fn report(&self, progress: impl Into<Number>) -> bool {
        self.send(progress.into(), None, None)
    }

    /// Reports that `progress` of `total` is done.
    pub fn report_of(&self, progress: impl Into<Number>, total: impl Into<Number>) -> bool {
        self.send(progress.into(), Some(total.into()), None)
    }

    /// Reports that `progress` is done, of `total` if that is known, and says what is going on.
    pub fn report_with(
        &self,
        progress: impl Into<Number>,
        total: Option<Number>,
        message: &str,
    ) -> bool {
        self.send(progress.into(), total, Some(message))
    }

    fn send(&self, progress: Number, total: Option<Number>, message: Option<&str>) -> bool {
        let Some(token) = &self.0.metadata().progress_token else { return false };
        self.0.outbox().report(progress, || {
            let params = ProgressParams {
                total,
                message: message.map(str::to_owned),
                ..ProgressParams::new(token.clone(), progress)
            };
            encode(notification::Progress::METHOD, params)
        })
    }
}

/// Sends log messages to the client. Take it as an argument of a handler.
///
/// Only messages at or above the level that the request asked for are sent, and none when it asked
/// for none. Logging never waits; when more than [`Limits::queued_events`](crate::Limits::queued_events) wait to be
/// sent, the oldest are dropped.
///
/// The specification deprecates logging to the client as of 2026-07-28; what operators should see belongs
/// into `tracing`. Specification: Logging.
#[derive(Clone, Debug)]
pub struct Log(Context);

impl Log {
    /// Whether a message of `level` would be sent: worth asking before making an expensive one.
    pub fn is_enabled(&self, level: LoggingLevel) -> bool {
        // A server that does not declare logging must not log.
        self.0.shared().serves.logging
            && self.0.metadata().log_level.is_some_and(|least| level >= least)
            && self.0.outbox().is_open()
    }

    /// Sends `data`, any JSON, at `level`. Returns whether it was sent.
    pub fn send<T: Serialize + ?Sized>(&self, level: LoggingLevel, data: &T) -> bool {
        self.send_as(None, level, data)
    }

    /// Sends `data` in the name of `logger`.
    pub fn send_from<T: Serialize + ?Sized>(
        &self,
        logger: &str,
        level: LoggingLevel,
        data: &T,
    ) -> bool {
        self.send_as(Some(logger), level, data)
    }

    fn send_as<T: Serialize + ?Sized>(
        &self,
        logger: Option<&str>,
        level: LoggingLevel,
        data: &T,
    ) -> bool {
        if !self.is_enabled(level) {
            return false;
        }
        let Ok(data) = RawJson::new(data) else { return false };
        let params = LogMessageParams {
            logger: logger.map(str::to_owned),
            ..LogMessageParams::new(level, data)
        };
        encode(notification::LogMessage::METHOD, params)
            .is_some_and(|json| self.0.outbox().emit(Event::Message(json)))
    }
}

fn encode<P: Serialize>(method: &'static str, params: P) -> Option<String> {
    serde_json::to_string(&NotificationMessage::new(method, params)).ok()
}
