//! Which revision a request follows, and the metadata that must come with it.
//!
//! Specification: Overview, Per-request protocol fields; Streamable HTTP, Protocol Version Header.

use http::HeaderMap;
use mcp_transport::header;
use mcp_transport::json::Object;
use mcp_types::{ProtocolVersion, RequestMeta};

use crate::rejection::{Reason, SUPPORTED};

/// Proves that the request carries its metadata, well typed, for a revision served here, and that the
/// header says the same.
pub(super) fn check(
    headers: Option<&HeaderMap>,
    params: &Object<'_>,
) -> Result<RequestMeta, Reason> {
    let header = headers.map(header::version).transpose().map_err(Reason::Header)?;
    let text = params.get("_meta");
    if let Some(header) = header
        && !is_served(header)
        && !claims_version(text)
    {
        // A client of an earlier revision: its `_meta` is none of ours, but it may know another version.
        return Err(Reason::Version { requested: header.to_owned() });
    }
    let meta = text.map(decode).transpose()?;
    let meta = meta.ok_or_else(|| missing("the _meta object"))?;
    let Some(version) = &meta.protocol_version else {
        return Err(missing(PROTOCOL_VERSION));
    };
    if meta.client_capabilities.is_none() {
        return Err(missing("io.modelcontextprotocol/clientCapabilities"));
    }
    if let Some(header) = header {
        header::verify_version(header, version.as_str()).map_err(Reason::Header)?;
    }
    if !is_served(version.as_str()) {
        return Err(Reason::Version { requested: version.to_string() });
    }
    Ok(meta)
}

/// Whether the `_meta` says anything of a version, well typed or not.
fn claims_version(meta: Option<&str>) -> bool {
    meta.and_then(|text| Object::parse(text).ok())
        .is_some_and(|meta| meta.get(PROTOCOL_VERSION).is_some())
}

fn decode(text: &str) -> Result<RequestMeta, Reason> {
    serde_json::from_str(text).map_err(|error| Reason::Meta(error.to_string()))
}

fn missing(what: &str) -> Reason {
    Reason::Meta(format!("{what} is missing"))
}

fn is_served(version: &str) -> bool {
    SUPPORTED.iter().map(ProtocolVersion::as_str).any(|served| served == version)
}

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
