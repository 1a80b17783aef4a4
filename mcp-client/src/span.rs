//! The span of one request, by the names of OpenTelemetry's semantic conventions for MCP.

use mcp_types::{Method, RequestId};
use tracing::Span;
use tracing::field::Empty;

use crate::error::Error;
use crate::outgoing::Outgoing;
use crate::receive::Answer;

/// A span at INFO, from the sending of a request to its response. It says what is called, but neither arguments
/// nor results, and no URI of a resource.
pub(crate) fn of(request: &dyn Outgoing) -> Span {
    let method = request.method();
    let span = tracing::info_span!(
        "mcp.request",
        otel.name = Empty,
        otel.kind = "client",
        mcp.method.name = method,
        mcp.protocol.version = Empty,
        jsonrpc.request.id = Empty,
        gen_ai.operation.name = Empty,
        gen_ai.tool.name = Empty,
        gen_ai.prompt.name = Empty,
        rpc.response.status_code = Empty,
        error.type = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let target = match Method::from_name(method) {
        Some(Method::CallTool) => {
            span.record("gen_ai.operation.name", "execute_tool");
            Some("gen_ai.tool.name")
        }
        Some(Method::GetPrompt) => Some("gen_ai.prompt.name"),
        _ => None,
    };
    match target.zip(request.mcp_name()) {
        Some((field, target)) => {
            span.record(field, target);
            span.record("otel.name", format!("{method} {target}"));
        }
        None => drop(span.record("otel.name", method)),
    }
    span
}

/// Notes what the request says of itself.
pub(crate) fn sent(span: &Span, request: &dyn Outgoing, id: &RequestId) {
    if span.is_disabled() {
        return;
    }
    span.record("jsonrpc.request.id", id.to_string());
    if let Some(version) = &request.meta().protocol_version {
        span.record("mcp.protocol.version", version.as_str());
    }
}

/// Notes what became of a request.
pub(crate) fn done(span: &Span, request: &dyn Outgoing, answer: &Result<Answer, Error>) {
    match answer {
        Err(error) => failed(span, error),
        // A member of that name means that of a tool alone.
        Ok(answer) if answer.found.is_tool_error && request.tool_call().is_some() => {
            span.record("error.type", "tool_error");
        }
        Ok(_) => {}
    }
}

/// Notes why a request failed.
pub(crate) fn failed(span: &Span, error: &Error) {
    match error.rpc() {
        Some(error) => {
            let code = error.code.to_string();
            span.record("rpc.response.status_code", &*code);
            span.record("error.type", &*code);
        }
        None => drop(span.record("error.type", error.class())),
    }
}
