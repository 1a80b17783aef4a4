//! Whether an answer is that of a server of earlier revisions.
//!
//! Specification: Versioning, Backward Compatibility with Initialization-Based Versions; stdio and Streamable
//! HTTP, Backward Compatibility.

use http::StatusCode;
use mcp_types::{ErrorCode, ErrorObject, ProtocolVersion, Request, request};

use crate::error::Error;
use crate::outgoing::Outgoing;

/// The error that the request ended in, which now tells if it was for that reason.
pub(crate) fn told(error: Error, request: &dyn Outgoing) -> Error {
    let is_discovery = request.method() == request::Discover::METHOD;
    if tells(&error, is_discovery) { error.of_legacy_server() } else { error }
}

/// Whether this error, the answer to a discovery or to something else, is that of such a server.
pub(crate) fn tells(error: &Error, is_discovery: bool) -> bool {
    match error.rpc() {
        Some(rpc) => is_legacy(rpc, error.status(), is_discovery),
        None => error.is_status() && error.status() == Some(StatusCode::BAD_REQUEST),
    }
}

/// Discovery is what every server of this revision knows, and asks for nothing that it could refuse. Any other
/// method it may refuse with a code that both eras have.
fn is_legacy(rpc: &ErrorObject, status: Option<StatusCode>, is_discovery: bool) -> bool {
    if let Some(refused) = rpc.as_unsupported_version() {
        let supported = &refused.supported;
        return !supported.is_empty() && supported.iter().all(ProtocolVersion::is_legacy);
    }
    if rpc.code.is_reserved() {
        return false;
    }
    match status {
        None => is_discovery,
        Some(StatusCode::BAD_REQUEST) => is_discovery || rpc.code.is_legacy(),
        Some(StatusCode::OK | StatusCode::NOT_FOUND) => {
            is_discovery && rpc.code == ErrorCode::METHOD_NOT_FOUND
        }
        // Out of order, or without the rights: of either era.
        Some(_) => false,
    }
}
