//! `Client`: calls the methods of one server.

use std::fmt;
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::Full;
use mcp_types::{
    CallToolParams, CallToolResult, ClientCapabilities, CompleteParams, CompleteResult,
    CompletionReference, DiscoverResult, EmptyParams, GetPromptParams, GetPromptResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedParams, ProtocolVersion, RawJson, ReadResourceParams,
    ReadResourceResult, Request, SubscriptionFilter, TraceContext, request,
};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::builder::ClientBuilder;
use crate::cache::Cache;
use crate::call::Call;
use crate::catalog::Catalog;
use crate::deadline::Timeouts;
use crate::error::{BoxError, Error};
use crate::future::BoxFuture;
use crate::input::Handlers;
use crate::layer::CallService;
use crate::limits::Limits;
use crate::link::Link;
use crate::listen::{Change, Listen};
use crate::retry::Retry;

/// A client of one server. A cheap clone; clones share their connections and what they have
/// learnt of the server's tools.
///
/// Nothing is sent before the first call, and no state is kept at the server.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

/// Tells which trace is at hand.
pub(crate) type TraceSource = Box<dyn Fn() -> TraceContext + Send + Sync>;

/// What all calls of a client refer to.
pub(crate) struct Shared {
    pub(crate) link: Link,
    /// The server's address, as cached answers are kept under it.
    pub(crate) server: Arc<str>,
    pub(crate) cache: Option<Cache>,
    pub(crate) cache_context: Option<Arc<[u8]>>,
    /// How long a cached answer may be stale and stand in for one that cannot be got.
    pub(crate) stale_on_error: Option<Duration>,
    /// What may add credentials below this client; empty when nothing does.
    pub(crate) below: Arc<str>,
    pub(crate) info: Option<Implementation>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) handlers: Handlers,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: Option<Retry>,
    /// Whether a server over lines is asked what it speaks before all else.
    pub(crate) probes: bool,
    /// Turns for requests, where there are only so many.
    pub(crate) in_flight: Option<Semaphore>,
    pub(crate) layers: Option<CallService>,
    pub(crate) trace_context: Option<TraceSource>,
    pub(crate) limits: Limits,
    pub(crate) catalog: Catalog,
    pub(crate) version: RwLock<ProtocolVersion>,
    pub(crate) last_id: AtomicI64,
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:8080/mcp`, with every default.
    ///
    /// It must be used within a Tokio runtime with I/O and time enabled. It does not connect yet. `https://` needs the
    /// feature `tls`; with the feature `proxy` it goes through the proxy that the environment names, if any.
    ///
    /// # Errors
    /// When the URL is not one of HTTP, or the way to it cannot be set up; see
    /// [`ClientBuilder::build`].
    pub fn http(url: impl AsRef<str>) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// A builder for a client of the server at `url`.
    pub fn builder(url: impl AsRef<str>) -> ClientBuilder {
        ClientBuilder::new(url.as_ref())
    }

    /// A client of the server that speaks HTTP at the Unix socket at `path`, under `/mcp`, with every default; its requests
    /// name the host `localhost`. [`ClientBuilder::unix`] takes any URL.
    ///
    /// Who may open the socket is decided by the rights of its file.
    ///
    /// ```
    /// # async fn example() -> Result<(), mcp_client::Error> {
    /// let client = mcp_client::Client::unix("/run/tools.sock");
    /// println!("{} tools", client.list_tools().all().await?.len());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        let builder = Self::builder(crate::builder::LOCAL).unix(path);
        builder.build().expect("its address and version are constants")
    }

    /// A client of a server in the same process: a tower service from requests to responses, such as
    /// `mcp_server::McpService`. No socket is opened; everything else is as over HTTP, so that a test of an
    /// application tests what it will do. [`ClientBuilder::in_process`] lets more be set.
    pub fn in_process<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        ClientBuilder::in_process(service).build().expect("its address and version are constants")
    }

    /// A client of a server at the other end of a byte stream, such as a socket or a pair of pipes: one message a
    /// line, all calls at the same time. [`ClientBuilder::over`] lets more be set. Specification: stdio.
    ///
    /// Dropping a call cancels it by a message. When the last clone of the client is dropped, what is left is
    /// written and the stream is shut down.
    ///
    /// # Errors
    /// Outside of a Tokio runtime: reading and writing are tasks of it.
    pub fn over<R, W>(reader: R, writer: W) -> Result<Self, Error>
    where
        R: AsyncRead + Send + Sync + Unpin + 'static,
        W: AsyncWrite + Send + Sync + Unpin + 'static,
    {
        ClientBuilder::over(reader, writer).build()
    }

    /// Starts a server as a process and speaks to it over its standard streams. [`ClientBuilder::spawn`] lets more
    /// be set, such as who gets what it writes to its standard error. Specification: stdio.
    ///
    /// The process leads a group of its own, so that what it starts ends with it, and Ctrl-C at the terminal does
    /// not reach it. [`close`](Self::close) ends it in good order. When the last clone of the client is dropped
    /// without that, the group is killed before the drop returns. Elsewhere than on Unix the process alone is.
    ///
    /// Lines on its standard output that are no messages are passed over, the first of them with a warning.
    ///
    /// The server is asked what it speaks [before all else](ClientBuilder::probe), so that calls of one of an earlier
    /// revision fail with an error that [tells](Error::is_legacy). Specification: stdio, Backward Compatibility.
    ///
    /// ```no_run
    /// use tokio::process::Command;
    ///
    /// # async fn example() -> Result<(), mcp_client::Error> {
    /// let client = mcp_client::Client::spawn(Command::new("my-server"))?;
    /// println!("{} tools", client.list_tools().all().await?.len());
    /// client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the process cannot be started, and outside of a Tokio runtime.
    pub fn spawn(command: impl Into<Command>) -> Result<Self, Error> {
        ClientBuilder::spawn(command).build()
    }

    /// Ends the connection, for all clones of the client: over a byte stream what is left is written and the stream
    /// is shut down; a process is given [time](ClientBuilder::shutdown_grace) to end by itself, then told to, then
    /// killed. No more calls can be made. Over HTTP, where no connection belongs to a client, it does nothing.
    /// Specification: stdio, Shutdown.
    ///
    /// Cancel safe: once it has been polled, the process is ended all the same.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Link::Pipe(pipe) = &self.shared.link {
                pipe.close().await;
            }
        })
    }

    /// Calls any method, of the protocol or of an extension, and gives its outcome as it is: when the server
    /// asks for input, it is the caller who answers and calls again.
    ///
    /// The standard headers and the `_meta` of the request are filled in; members of `_meta` that are set
    /// already stay as they are.
    ///
    /// ```
    /// use mcp_client::types::{Outcome, ReadResourceParams, request::ReadResource};
    ///
    /// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
    /// let outcome = client.call::<ReadResource>(ReadResourceParams::new("file:///a")).await?;
    /// if let Outcome::Complete(read) = outcome {
    ///     println!("{} parts", read.contents.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<R: Request>(&self, params: R::Params) -> Call<R> {
        Call::new(self.clone(), params)
    }

    /// Asks the server what it is, which versions it speaks and what it can do. Specification: Discovery.
    ///
    /// # Errors
    /// See [`Error`]; a server of earlier revisions only is told by [`Error::is_legacy`].
    pub fn discover(&self) -> Call<request::Discover, DiscoverResult> {
        Call::complete(self.clone(), Ok(EmptyParams::default()))
    }

    /// Lists the first page of the tools, or the one that [`cursor`](Call::cursor) tells, or
    /// [all](Call::all) of them. Specification: Tools, Listing Tools.
    ///
    /// ```
    /// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
    /// for tool in client.list_tools().all().await? {
    ///     println!("{}", tool.display_name());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Tools with mirrored parameters that break the rules are left out, with a warning in the log. What
    /// the others want mirrored is remembered for [`call_tool`](Self::call_tool).
    pub fn list_tools(&self) -> Call<request::ListTools, ListToolsResult> {
        Call::complete(self.clone(), Ok(PaginatedParams::default()))
    }

    /// Calls the tool `name`. Specification: Tools, Calling Tools.
    ///
    /// `arguments` is anything that is an object in JSON, or `()` for none. Those that the tool wants mirrored
    /// into headers are, if a list has told so; when the server finds headers missing, the tools are listed
    /// and the call is repeated, once.
    ///
    /// A tool that failed gives a result as well: ask it
    /// [`is_error`](mcp_types::CallToolResult::is_error).
    ///
    /// With the feature `validation` a result is checked against the output schema of its tool, as far as a list has
    /// told of it; one that breaks it is an error. A schema that cannot be used is warned of, and not used.
    /// Specification: Tools, Output Schema.
    ///
    /// When the server asks for input first, those who were set for it on the
    /// [builder](ClientBuilder::on_elicit) answer and the call is repeated with the answers, up to
    /// [`Limits::input_rounds`] times. Specification: Multi Round-Trip Requests.
    ///
    /// # Errors
    /// See [`Error`]; when nobody answers what the server asks for, [`Error::input_required`] has it.
    pub fn call_tool<A: Serialize>(
        &self,
        name: impl Into<String>,
        arguments: A,
    ) -> Call<request::CallTool, CallToolResult> {
        let params = object(&arguments)
            .map(|arguments| CallToolParams { arguments, ..CallToolParams::new(name) });
        Call::complete(self.clone(), params)
    }

    /// Lists a page of the resources, like [`list_tools`](Self::list_tools). Specification: Resources, Listing
    /// Resources.
    pub fn list_resources(&self) -> Call<request::ListResources, ListResourcesResult> {
        Call::complete(self.clone(), Ok(PaginatedParams::default()))
    }

    /// Lists a page of the resource templates, like [`list_tools`](Self::list_tools). Specification: Resources,
    /// Resource Templates.
    pub fn list_resource_templates(
        &self,
    ) -> Call<request::ListResourceTemplates, ListResourceTemplatesResult> {
        Call::complete(self.clone(), Ok(PaginatedParams::default()))
    }

    /// Reads the resource at `uri`. Specification: Resources, Reading Resources.
    ///
    /// # Errors
    /// See [`Error`]; input is asked for as in [`call_tool`](Self::call_tool).
    pub fn read_resource(
        &self,
        uri: impl Into<String>,
    ) -> Call<request::ReadResource, ReadResourceResult> {
        Call::complete(self.clone(), Ok(ReadResourceParams::new(uri)))
    }

    /// Lists a page of the prompts, like [`list_tools`](Self::list_tools). Specification: Prompts, Listing
    /// Prompts.
    pub fn list_prompts(&self) -> Call<request::ListPrompts, ListPromptsResult> {
        Call::complete(self.clone(), Ok(PaginatedParams::default()))
    }

    /// Gets the prompt `name`. Specification: Prompts, Getting a Prompt.
    ///
    /// `arguments` is anything that is an object of strings in JSON, or `()` for none.
    ///
    /// # Errors
    /// See [`Error`]; input is asked for as in [`call_tool`](Self::call_tool).
    pub fn get_prompt<A: Serialize>(
        &self,
        name: impl Into<String>,
        arguments: A,
    ) -> Call<request::GetPrompt, GetPromptResult> {
        let params = object(&arguments).and_then(|arguments| {
            let arguments = arguments.map(|arguments| arguments.decode()).transpose();
            let arguments = arguments.map_err(|error| {
                Error::usage("the arguments of a prompt must be texts").caused_by(error)
            })?;
            Ok(GetPromptParams { arguments, ..GetPromptParams::new(name) })
        });
        Call::complete(self.clone(), params)
    }

    /// Asks how the argument `argument` of a prompt or resource template could go on after `typed`; see also
    /// [`context`](Call::context). Specification: Completion.
    ///
    /// ```
    /// use mcp_client::types::PromptReference;
    ///
    /// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
    /// let prompt = PromptReference::new("review");
    /// let found = client.complete(prompt, "framework", "fla").context("language", "python").await?;
    /// println!("{:?}", found.completion.values);
    /// # Ok(())
    /// # }
    /// ```
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: impl Into<String>,
        typed: impl Into<String>,
    ) -> Call<request::Complete, CompleteResult> {
        Call::complete(self.clone(), Ok(CompleteParams::new(reference, argument, typed)))
    }

    /// Listens for the changes that `filter` wants. Specification: Subscriptions.
    ///
    /// ```
    /// use mcp_client::{Change, types::SubscriptionFilter};
    ///
    /// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
    /// let mut changes = client.listen(SubscriptionFilter::new().tools()).await?;
    /// while let Some(change) = changes.next().await {
    ///     if let Change::Tools = change {
    ///         println!("{} tools", client.list_tools().all().await?.len());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn listen(&self, filter: SubscriptionFilter) -> Listen {
        Listen::new(self.clone(), filter)
    }

    /// The protocol version that calls are made in. It changes when the server speaks another one only.
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.shared.version()
    }

    pub(crate) fn from_shared(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }

    /// Drops what a change makes stale.
    pub(crate) fn learn(&self, change: &Change) {
        if let Some(cache) = &self.shared.cache {
            cache.apply(&self.shared.server, change);
        }
    }

    /// Drops the cached pages of a list.
    pub(crate) fn forget(&self, list: &str) {
        self.shared.forget(list);
    }

    pub(crate) fn admit(&self, page: &mut ListToolsResult) {
        self.shared.catalog.admit(page);
    }
}

impl Shared {
    pub(crate) fn forget(&self, list: &str) {
        if let Some(cache) = &self.cache {
            cache.forget(&self.server, list);
        }
    }

    /// An id that no other request of this client has.
    pub(crate) fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn version(&self) -> ProtocolVersion {
        // A version is replaced as a whole.
        let version = self.version.read();
        version.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes up the best of the versions that a server supports; returns whether there is one.
    /// Specification: Versioning and Compatibility, Protocol Version Negotiation.
    pub(crate) fn choose_version(&self, supported: &[ProtocolVersion]) -> bool {
        let Some(chosen) = SPOKEN.iter().find(|spoken| supported.contains(spoken)) else {
            return false;
        };
        let mut version = self.version.write().unwrap_or_else(PoisonError::into_inner);
        version.clone_from(chosen);
        true
    }
}

/// Says where the server is, and nothing that may be secret.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.link)
            .field("timeouts", &self.shared.timeouts)
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

/// The arguments of a tool or prompt: an object, or nothing at all for `()` and `None`.
fn object<A: Serialize>(arguments: &A) -> Result<Option<RawJson>, Error> {
    let arguments = RawJson::new(arguments)
        .map_err(|error| Error::usage("the arguments have no form in JSON").caused_by(error))?;
    match arguments.get() {
        "null" => Ok(None),
        _ if arguments.is_object() => Ok(Some(arguments)),
        _ => Err(Error::usage("the arguments must be a JSON object")),
    }
}

/// The versions that calls can be made in, best first.
const SPOKEN: &[ProtocolVersion] = &[ProtocolVersion::V2026_07_28];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallFuture, HttpTransport};

    #[test]
    fn what_threads_can_share() {
        fn shared<T: Send + Sync + 'static>() {}
        fn sent<T: Send + 'static>() {}
        shared::<Client>();
        shared::<HttpTransport>();
        shared::<Error>();
        sent::<Call<request::CallTool>>();
        sent::<CallFuture<CallToolResult>>();
    }
}
