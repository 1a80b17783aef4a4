//! Who is calling: an identity that authentication has established, and where the request came from.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use http::{Extensions, HeaderMap};

/// The authenticated party behind a request.
///
/// It is only ever what the code that authenticated the request put into the request's extensions (or
/// into [`RequestParts::caller`]); no header is read for it. Its `Debug` form does not show who it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Caller(Arc<str>);

impl Caller {
    /// The caller whom `principal` names, uniquely and always the same: a subject, a client id, a tenant.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self(principal.into())
    }

    /// The name given at construction.
    pub fn principal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Caller(..)")
    }
}

/// The address of the peer at the other end of the connection, as a request extension.
///
/// [`serve`](crate::Server::serve) knows it anyway; in another HTTP stack insert it where handlers should see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub SocketAddr);

/// The address as far as it tells hosts apart: in IPv6 one host has all that begin with the same 64 bits.
pub(crate) fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & (u128::MAX << 64)).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// What an exchange knows of the HTTP request that carried its message, or of the
/// [byte stream](crate::ServeStream::parts).
#[derive(Clone, Debug, Default)]
pub struct RequestParts {
    /// The request's header fields.
    pub headers: HeaderMap,
    /// The request's extensions, by which layers hand things to handlers.
    pub extensions: Extensions,
    /// The address of the peer, where it is known.
    pub peer_addr: Option<SocketAddr>,
    /// The authenticated caller, passed through as it is.
    pub caller: Option<Caller>,
}

#[cfg(feature = "auth")]
impl RequestParts {
    /// The same of somebody who was authenticated by other means than the server's: whoever drives an
    /// [`Exchange`](crate::Exchange) has verified a token, and the client at the other end of a byte stream may do what
    /// its environment says. The caller becomes that of the access.
    ///
    /// ```
    /// use mcp_server::RequestParts;
    /// use mcp_server::auth::Access;
    ///
    /// # async fn example(server: mcp_server::Server) -> Result<(), mcp_server::ServeError> {
    /// let user = Access::new("local", "me").with_scopes(["notes:read", "notes:write"]);
    /// server.serve_stdio().parts(RequestParts::default().with_access(user)).await
    /// # }
    /// ```
    #[must_use]
    pub fn with_access(mut self, access: crate::auth::Access) -> Self {
        self.caller = Some(access.caller().clone());
        self.extensions.insert(access);
        self
    }
}

impl From<http::request::Parts> for RequestParts {
    /// Takes headers and extensions over; peer and caller are the [`PeerAddr`] and the [`Caller`] among the
    /// extensions, if any. An `Access` among them, with the feature `auth`, names the caller as well.
    fn from(parts: http::request::Parts) -> Self {
        let peer_addr = parts.extensions.get().map(|PeerAddr(address)| *address);
        let caller = parts.extensions.get().cloned();
        #[cfg(feature = "auth")]
        let caller = match parts.extensions.get::<crate::auth::Access>() {
            Some(access) => Some(access.caller().clone()),
            None => caller,
        };
        Self { headers: parts.headers, extensions: parts.extensions, peer_addr, caller }
    }
}

/// A connection, as its exchanges know it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    /// How many requests it has brought. Every exchange under way holds a reference.
    pub(crate) requests: Arc<AtomicUsize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart_by_what_they_cannot_choose() {
        let host = |text: &str| host(text.parse().unwrap()).to_string();
        assert_eq!(host("192.0.2.7"), "192.0.2.7");
        assert_eq!(host("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(host("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(host("::1"), "::");
    }
}
