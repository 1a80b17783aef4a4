//! What the head of an HTTP request must be for its body to be read.
//!
//! Specification: Streamable HTTP, Security & Endpoint, Sending Messages.

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use mcp_transport::host::{HostPolicy, OriginPolicy};
use mcp_transport::media::{self, Accepts};

use crate::rejection::Reason;

/// What [`check`] compares with, parsed once.
#[derive(Clone, Debug)]
pub(crate) struct HeadPolicy {
    pub(crate) hosts: HostPolicy,
    pub(crate) origins: OriginPolicy,
    /// The path of the endpoint; `None` where something else has routed the request.
    pub(crate) path: Option<Box<str>>,
}

/// Proves that the request is a POST of JSON to the endpoint, from a page and under a name that are
/// allowed, and returns which answers it takes.
pub(crate) fn check(policy: &HeadPolicy, head: &Parts) -> Result<Accepts, Reason> {
    admit(policy, head)?;
    if head.method != Method::POST {
        return Err(Reason::NotPost);
    }
    if !media::is_json(&head.headers) {
        return Err(Reason::NotJson);
    }
    let accepts = Accepts::parse(&head.headers);
    if !accepts.json && !accepts.sse {
        return Err(Reason::NotAcceptable);
    }
    Ok(accepts)
}

/// Proves that the request is for the endpoint, from a page and under a name that are allowed.
pub(crate) fn admit(policy: &HeadPolicy, head: &Parts) -> Result<(), Reason> {
    check_host(&policy.hosts, &head.uri, &head.headers)?;
    origin(&policy.origins, &head.headers)?;
    if policy.path.as_deref().is_some_and(|path| path != head.uri.path()) {
        return Err(Reason::Path);
    }
    Ok(())
}

/// The host stands in the `Host` field, in the target (HTTP/2's `:authority`, an absolute form), or in
/// both, and then they must agree: what looked at one must not be led past the other.
pub(crate) fn check_host(
    policy: &HostPolicy,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Reason> {
    let mut fields = headers.get_all(header::HOST).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => None,
        (Some(host), None) => Some(host.to_str().or(Err(Reason::Host))?),
        (Some(_), Some(_)) => return Err(Reason::NotOneHost),
    };
    let target = uri.authority().map(Authority::as_str);
    let host = match (field, target) {
        (Some(field), Some(target)) if !field.eq_ignore_ascii_case(target) => {
            return Err(Reason::Host);
        }
        (Some(host), _) | (None, Some(host)) => host,
        (None, None) => return Err(Reason::NotOneHost),
    };
    if policy.check_host(host) { Ok(()) } else { Err(Reason::Host) }
}

/// The origin of the page that asks, which is allowed, if it is a page.
pub(crate) fn origin<'h>(
    policy: &OriginPolicy,
    headers: &'h HeaderMap,
) -> Result<Option<&'h HeaderValue>, Reason> {
    let mut fields = headers.get_all(header::ORIGIN).iter();
    match (fields.next(), fields.next()) {
        (None, _) => Ok(None),
        (Some(origin), None) if policy.check_origin(origin.as_bytes()) => Ok(Some(origin)),
        _ => Err(Reason::Origin),
    }
}
