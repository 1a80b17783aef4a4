//! The headers that mirror parts of a request's body, so that intermediaries can route and check
//! it unread (specification: Streamable HTTP, Request Metadata).
//!
//! Both sides share one truth: what [`StandardHeaders`] and [`ParamHeaders::mirror`] write is
//! what [`version`], [`verify_method`], [`verify_name`] and [`ParamHeaders::verify`] expect.

use http::HeaderName;

mod mismatch;
mod param;
mod standard;
mod value;

pub use mismatch::HeaderMismatch;
pub use param::{InvalidAnnotation, MirrorError, ParamHeaders};
pub use standard::{
    StandardHeaders, Unrepresentable, verify_method, verify_name, verify_no_name, verify_version,
    version,
};
pub use value::{Malformed, decode_value, encode_value};

#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use {param::fuzz_params, value::fuzz_value};

/// Names the protocol revision of a request (Protocol Version Header).
pub const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Repeats the body's `method` (Standard Request Headers).
pub const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// Repeats the tool's or prompt's name, or the resource's URI (Standard Request Headers).
pub const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

/// What the name of every mirrored parameter's header starts with, in the lower case that
/// [`HeaderName`] keeps (Custom Headers from Tool Parameters).
pub const PARAM_PREFIX: &str = "mcp-param-";
