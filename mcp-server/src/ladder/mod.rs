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

use crate::caller::RequestParts;
use crate::metadata::Metadata;
use crate::registry::Snapshot;
use crate::rejection::Rejection;
use crate::server::Shared;

/// A request that has passed every check.
pub(crate) struct Call<'b> {
    pub(crate) id: RequestId,
    pub(crate) meta: Metadata,
    pub(crate) target: Target<'b>,
}

/// Who sent a request, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender<'a> {
    pub(crate) parts: &'a RequestParts,
    /// Whether it came over HTTP; on transports without headers their checks are left out.
    pub(crate) http: bool,
    /// Whether the client takes a stream.
    pub(crate) sse: bool,
}

impl<'a> Sender<'a> {
    /// The headers that have to say what the message says.
    fn headers(self) -> Option<&'a HeaderMap> {
        self.http.then_some(&self.parts.headers)
    }
}

/// Takes a request up the ladder, to what is `offered`.
pub(crate) fn climb<'b>(
    shared: &'b Shared,
    offered: &'b Snapshot,
    sender: Sender<'_>,
    request: json::Request<'b>,
) -> Result<Call<'b>, Rejection> {
    let json::Request { id, method, params, meta } = request;
    let checked = version::check(sender.headers(), &params, meta.as_ref()).and_then(|meta| {
        target::check(shared, offered, sender, &method, &params, &meta).map(|target| (meta, target))
    });
    match checked {
        Ok((meta, target)) => Ok(Call { id, meta, target }),
        Err(reason) => Err(Rejection::of(id, &method, reason)),
    }
}
