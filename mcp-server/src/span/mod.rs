//! The span of one exchange, by the names of OpenTelemetry's semantic conventions for MCP.

mod trace;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_transport::json::{Object, Request};
use mcp_transport::limits::MAX_QUOTED;
use mcp_types::{ErrorCode, Method, TraceContext};
use tracing::Span;
use tracing::field::{Empty, display};

use crate::builder::ServerBuilder;
use crate::caller::RequestParts;
use crate::context::Subject;
use crate::rejection::{Rejection, cut};
use crate::server::Shared;
use crate::work::dispose;

pub(crate) use trace::valid;

/// Links the span of a request to the trace that its client is part of.
pub(crate) type TraceParentHook = dyn Fn(&Span, &TraceContext) + Send + Sync;

impl ServerBuilder {
    /// Gets the span of each request whose `_meta` has a valid `traceparent`, together with that, before the span is
    /// entered. Default is to record `traceparent` and `tracestate` on the span, which this does not replace. A hook that
    /// panics is as good as none.
    ///
    /// With `tracing-opentelemetry` this is where the client's span becomes the parent:
    /// `|span, trace| drop(span.set_parent(propagator.extract(&Carrier(trace))))`.
    #[must_use]
    pub fn trace_parent(
        mut self,
        hook: impl Fn(&Span, &TraceContext) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.trace_parent = Some(Box::new(hook));
        self
    }
}

/// Why a request failed, as far as its span tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error object of this code.
    Code(ErrorCode),
    /// A result that says that the tool failed.
    Tool,
}

/// A span at INFO for one request. It says what is called and by whom, but neither arguments nor results.
///
/// Costs a few instructions when no subscriber is interested.
pub(crate) fn of(shared: &Shared, request: &Request<'_>, parts: &RequestParts, http: bool) -> Span {
    let span = tracing::info_span!(
        "mcp.request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        mcp.method.name = Empty,
        mcp.protocol.version = Empty,
        mcp.resource.uri = Empty,
        jsonrpc.request.id = Empty,
        gen_ai.operation.name = Empty,
        gen_ai.tool.name = Empty,
        gen_ai.prompt.name = Empty,
        network.transport = Empty,
        client.address = Empty,
        client.port = Empty,
        traceparent = Empty,
        tracestate = Empty,
        rpc.response.status_code = Empty,
        error.type = Empty,
    );
    if !span.is_disabled() {
        begin(&span, shared, request, parts, http);
    }
    span
}

#[cold]
fn begin(span: &Span, shared: &Shared, request: &Request<'_>, parts: &RequestParts, http: bool) {
    // Of methods that are none, the peer could invent any number.
    let method = match Method::from_name(&request.method) {
        Some(method) => method.as_str(),
        None => shared.methods.get(&request.method).map_or("_OTHER", |method| &*method.name),
    };
    span.record("otel.name", method);
    span.record("mcp.method.name", method);
    span.record("jsonrpc.request.id", &*cut(&request.id.to_string(), MAX_QUOTED));
    if http {
        span.record("network.transport", "tcp");
    }
    if let Some(peer) = parts.peer_addr {
        span.record("client.address", display(peer.ip()));
        span.record("client.port", peer.port());
    }
    let trace = request.meta.as_ref().map(trace_context).unwrap_or_default();
    if let Some(parent) = &trace.traceparent {
        span.record("traceparent", parent.as_str());
        if let Some(state) = &trace.tracestate {
            span.record("tracestate", state.as_str());
        }
        if let Some(hook) = &shared.hooks.trace_parent
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(span, &trace)))
        {
            // Others may share the connection.
            tracing::error!("the hook for the parents of spans panicked");
            dispose(panic);
        }
    }
}

fn trace_context(meta: &Object<'_>) -> TraceContext {
    let member = |key| {
        let text = mcp_transport::json::decode_string(meta.get(key)?)?;
        Some(text.into_owned())
    };
    valid(TraceContext {
        traceparent: member("traceparent"),
        tracestate: member("tracestate"),
        baggage: member("baggage"),
    })
}

/// Notes the version that the request was found to follow.
pub(crate) fn served(span: &Span, meta: &crate::metadata::Metadata) {
    if !span.is_disabled()
        && let Some(version) = &meta.whole().protocol_version
    {
        span.record("mcp.protocol.version", version.as_str());
    }
}

/// Notes what a call is about.
pub(crate) fn called(span: &Span, subject: &Subject) {
    if span.is_disabled() {
        return;
    }
    let (field, name) = match subject {
        Subject::Tool(tool) => {
            span.record("gen_ai.operation.name", "execute_tool");
            ("gen_ai.tool.name", &tool.name)
        }
        Subject::Prompt(prompt) => ("gen_ai.prompt.name", &prompt.name),
        Subject::Resource(uri, _) => {
            // In no name: there are too many.
            span.record("mcp.resource.uri", &*cut(uri, MAX_URI));
            return;
        }
        Subject::Completion(..) | Subject::Method(_) => return,
    };
    span.record(field, name.as_str());
    span.record("otel.name", format!("{} {name}", subject.method()));
}

/// 512 characters of a URI: more than most have, and what backends commonly keep of an attribute.
const MAX_URI: usize = 512;

/// Notes that the request was refused.
pub(crate) fn refused(span: &Span, rejection: &Rejection) {
    if !span.is_disabled() {
        ended(span, Some(Fault::Code(rejection.error().code)));
    }
}

/// Notes how the request ended.
pub(crate) fn ended(span: &Span, fault: Option<Fault>) {
    let Some(fault) = fault.filter(|_| !span.is_disabled()) else { return };
    span.record("otel.status_code", "ERROR");
    match fault {
        Fault::Tool => drop(span.record("error.type", "tool_error")),
        Fault::Code(code) => {
            let code = code.to_string();
            span.record("error.type", &*code);
            span.record("rpc.response.status_code", &*code);
        }
    }
}
