//! `Client`: calls the methods of one server.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use mcp_types::{
    CallToolParams, CallToolResult, ClientCapabilities, DiscoverResult, EmptyParams,
    Implementation, ListToolsResult, PaginatedParams, ProtocolVersion, RawJson, Request, request,
};
use serde::Serialize;

use crate::builder::ClientBuilder;
use crate::call::Call;
use crate::catalog::Catalog;
use crate::deadline::Timeouts;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::limits::Limits;

/// A client of one server, over HTTP. A cheap clone; clones share their connections and what they have
/// learnt of the server's tools.
///
/// Nothing is sent before the first call, and no state is kept at the server.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

/// What all calls of a client refer to.
pub(crate) struct Shared {
    pub(crate) endpoint: Endpoint,
    pub(crate) info: Option<Implementation>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    pub(crate) catalog: Catalog,
    pub(crate) version: RwLock<ProtocolVersion>,
    pub(crate) last_id: AtomicI64,
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:8080/mcp`, with every default.
    ///
    /// It must be used within a Tokio runtime with I/O and time enabled. It does not connect yet.
    ///
    /// # Errors
    /// When the URL is not one of HTTP.
    pub fn http(url: impl AsRef<str>) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// A builder for a client of the server at `url`.
    pub fn builder(url: impl AsRef<str>) -> ClientBuilder {
        ClientBuilder::new(url.as_ref())
    }

    /// Calls any method, of the protocol or of an extension, and gives its outcome as it is.
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
    pub fn discover(&self) -> Call<request::Discover, DiscoverResult> {
        Call::complete(self.clone(), Ok(EmptyParams::default()))
    }

    /// Lists the first page of the tools, or the one that [`cursor`](Call::cursor) tells. Specification:
    /// Tools, Listing Tools.
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
    /// # Errors
    /// See [`Error`]; when the server asks for input first, [`Error::input_required`] has what it asks for.
    pub fn call_tool<A: Serialize>(
        &self,
        name: impl Into<String>,
        arguments: A,
    ) -> Call<request::CallTool, CallToolResult> {
        let params = object(&arguments)
            .map(|arguments| CallToolParams { arguments, ..CallToolParams::new(name) });
        Call::complete(self.clone(), params)
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

    pub(crate) fn admit(&self, page: &mut ListToolsResult) {
        self.shared.catalog.admit(page);
    }
}

impl Shared {
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
            .field("endpoint", &self.shared.endpoint)
            .field("timeouts", &self.shared.timeouts)
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

/// The arguments of a tool call: an object, or nothing at all for `()` and `None`.
fn object<A: Serialize>(arguments: &A) -> Result<Option<RawJson>, Error> {
    let arguments = RawJson::new(arguments)
        .map_err(|error| Error::usage("the arguments have no form in JSON").caused_by(error))?;
    match arguments.get() {
        "null" => Ok(None),
        _ if arguments.is_object() => Ok(Some(arguments)),
        _ => Err(Error::usage("the arguments of a tool must be a JSON object")),
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
