//! Which revision a request follows, and the metadata that must come with it.
//!
//! Specification: Overview, Per-request protocol fields; Streamable HTTP, Protocol Version Header.

use http::HeaderMap;
use mcp_transport::header;
use mcp_transport::json::Object;
use mcp_types::ProtocolVersion;

use crate::metadata::{Metadata, PROTOCOL_VERSION, missing};
use crate::rejection::{Reason, SUPPORTED};

/// Proves that the request carries its metadata, well typed, for a revision served here, and that the
/// header says the same.
pub(super) fn check(
    headers: Option<&HeaderMap>,
    params: &Object<'_>,
    meta: Option<&Object<'_>>,
) -> Result<Metadata, Reason> {
    let header = headers.map(header::version).transpose().map_err(Reason::Header)?;
    if let Some(header) = header
        && !is_served(header)
        && meta.is_none_or(|meta| meta.get(PROTOCOL_VERSION).is_none())
    {
        // A client of an earlier revision: its `_meta` is none of ours, but it may know another version.
        return Err(Reason::Version { requested: header.to_owned() });
    }
    let meta = meta.ok_or_else(|| match params.get("_meta") {
        Some(_) => Reason::Meta("it must be an object".to_owned()),
        None => missing("the _meta object"),
    })?;
    let (metadata, version) = Metadata::read(meta)?;
    if let Some(header) = header {
        header::verify_version(header, &version).map_err(Reason::Header)?;
    }
    if !is_served(&version) {
        return Err(Reason::Version { requested: version.into_owned() });
    }
    Ok(metadata)
}

fn is_served(version: &str) -> bool {
    SUPPORTED.iter().map(ProtocolVersion::as_str).any(|served| served == version)
}
