//! The ladder: every check between a message and its handler, in the order in which they are made.
//!
//! Each rung takes what the one before has proved and returns the next proof, or the reason why it
//! ends here. [`head`] looks at the HTTP request before its body is read, [`body`] reads that, and
//! [`climb`] takes the message from there to a [`Call`], which only the last rung makes. The order is the
//! one of `CONTRIBUTING.md`; the first failure wins.

pub(crate) mod body;
pub(crate) mod head;
mod target;
mod version;

use http::HeaderMap;
use mcp_transport::json;
use mcp_types::RequestId;

pub(crate) use target::{Brought, Target};

use crate::metadata::Metadata;
use crate::rejection::Rejection;
use crate::server::Shared;

/// A request that has passed every check.
pub(crate) struct Call<'b> {
    pub(crate) id: RequestId,
    pub(crate) meta: Metadata,
    pub(crate) target: Target<'b>,
}

/// Takes a request up the ladder. Without `headers`, on transports that have none, the checks of headers
/// are left out. `sse` says whether the client takes a stream.
pub(crate) fn climb<'b>(
    shared: &'b Shared,
    headers: Option<&HeaderMap>,
    sse: bool,
    request: json::Request<'b>,
) -> Result<Call<'b>, Rejection> {
    let json::Request { id, method, params, meta } = request;
    let checked = version::check(headers, &params, meta.as_ref()).and_then(|meta| {
        target::check(shared, headers, sse, &method, &params, &meta).map(|target| (meta, target))
    });
    match checked {
        Ok((meta, target)) => Ok(Call { id, meta, target }),
        Err(reason) => Err(Rejection::of(id, &method, reason)),
    }
}
