//! Which hosts and origins a server answers to: the protection against DNS rebinding
//! (specification: Streamable HTTP, Security & Endpoint).
//!
//! A web page can make its own domain resolve to a loopback or private address and then talk to
//! the server there as to its own origin. Its requests still carry the domain, in `Host` and in
//! `Origin`, so both are compared with what the server is known by. Names are compared whole,
//! never by their beginning or end.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

#[cfg(test)]
mod tests;

/// The hosts a server answers to. Default is [`HostPolicy::loopback`].
#[derive(Clone, Debug)]
pub struct HostPolicy(Policy<Entry<'static>>);

impl HostPolicy {
    /// `localhost`, `127.0.0.0/8` and `[::1]`, with any port.
    #[must_use]
    pub fn loopback() -> Self {
        Self(Policy::only_loopback())
    }

    /// These hosts and no others, each a `host` (with any port) or `host:port`. IPv6 addresses
    /// stand in brackets. A request without port fits entries for port 80 and 443 as well.
    ///
    /// # Errors
    /// When an entry is neither.
    pub fn list<'a>(hosts: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidHost> {
        let entry = |text| {
            Entry::parse(text).map(Entry::into_owned).ok_or_else(|| InvalidHost(text.into()))
        };
        let list: Result<_, _> = hosts.into_iter().map(entry).collect();
        Ok(Self(Policy::only(list?)))
    }

    /// Adds what [`HostPolicy::loopback`] allows.
    #[must_use]
    pub fn or_loopback(self) -> Self {
        Self(self.0.or_loopback())
    }

    /// Every host: for a server behind a proxy that checks it.
    #[must_use]
    pub fn danger_allow_any() -> Self {
        Self(Policy::Any)
    }

    /// Whether to answer a request for this authority: the value of `Host`, or `:authority`, or the
    /// authority of an absolute target. What is no `host[:port]`, as with user information in it,
    /// is refused by every policy but [`HostPolicy::danger_allow_any`].
    #[must_use]
    pub fn check_host(&self, authority: &str) -> bool {
        match &self.0 {
            Policy::Any => true,
            Policy::Only { list, loopback } => Entry::parse(authority).is_some_and(|found| {
                (*loopback && found.host.is_loopback())
                    || list.iter().any(|entry| entry.admits(&found))
            }),
        }
    }
}

impl Default for HostPolicy {
    fn default() -> Self {
        Self::loopback()
    }
}

/// The web origins a server answers to. Default is [`OriginPolicy::loopback`].
///
/// Requests without `Origin` do not come from a web page and are not for this policy to judge.
#[derive(Clone, Debug)]
pub struct OriginPolicy(Policy<Origin<'static>>);

impl OriginPolicy {
    /// `http` and `https` origins on `localhost`, `127.0.0.0/8` and `[::1]`, with any port.
    #[must_use]
    pub fn loopback() -> Self {
        Self(Policy::only_loopback())
    }

    /// These origins and no others, each `scheme://host` or `scheme://host:port`. Without port
    /// the scheme's own is meant, as in browsers.
    ///
    /// # Errors
    /// When an entry is neither, such as one with a path, even `/`.
    pub fn list<'a>(origins: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidHost> {
        let entry = |text| {
            Origin::parse(text).map(Origin::into_owned).ok_or_else(|| InvalidHost(text.into()))
        };
        let list: Result<_, _> = origins.into_iter().map(entry).collect();
        Ok(Self(Policy::only(list?)))
    }

    /// Adds what [`OriginPolicy::loopback`] allows.
    #[must_use]
    pub fn or_loopback(self) -> Self {
        Self(self.0.or_loopback())
    }

    /// Every origin, `null` and unreadable ones included: for a server that needs no protection
    /// from web pages, because nothing about a caller's network position opens a door.
    #[must_use]
    pub fn danger_allow_any() -> Self {
        Self(Policy::Any)
    }

    /// Whether to answer a request with this `Origin`. Opaque origins (`null`) are refused.
    #[must_use]
    pub fn check_origin(&self, origin: &[u8]) -> bool {
        match &self.0 {
            Policy::Any => true,
            Policy::Only { list, loopback } => str::from_utf8(origin)
                .ok()
                .and_then(Origin::parse)
                .is_some_and(|found| (*loopback && found.is_loopback()) || list.contains(&found)),
        }
    }
}

impl Default for OriginPolicy {
    fn default() -> Self {
        Self::loopback()
    }
}

/// An entry of a list that is no host or origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no host[:port], or no scheme://host[:port] where an origin is meant")]
pub struct InvalidHost(Box<str>);

#[derive(Clone, Debug)]
enum Policy<T> {
    Only { list: Vec<T>, loopback: bool },
    Any,
}

impl<T> Policy<T> {
    fn only(list: Vec<T>) -> Self {
        Self::Only { list, loopback: false }
    }

    fn only_loopback() -> Self {
        Self::Only { list: Vec::new(), loopback: true }
    }

    fn or_loopback(self) -> Self {
        match self {
            Self::Only { list, .. } => Self::Only { list, loopback: true },
            Self::Any => Self::Any,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry<'a> {
    host: Host<'a>,
    port: Option<u16>,
}

impl<'a> Entry<'a> {
    fn parse(authority: &'a str) -> Option<Self> {
        if let Some(rest) = authority.strip_prefix('[') {
            let (address, rest) = rest.split_once(']')?;
            let port = if rest.is_empty() { None } else { Some(port(rest.strip_prefix(':')?)?) };
            return Some(Self { host: Host::V6(address.parse().ok()?), port });
        }
        let (host, port) = match authority.split_once(':') {
            Some((host, digits)) => (host, Some(port(digits)?)),
            None => (authority, None),
        };
        Some(Self { host: Host::parse(host)?, port })
    }

    fn into_owned(self) -> Entry<'static> {
        Entry { host: self.host.into_owned(), port: self.port }
    }

    fn admits(&self, found: &Entry<'_>) -> bool {
        // A default port is not sent, and behind a proxy the scheme is not known here.
        let port = match (self.port, found.port) {
            (None, _) | (Some(80 | 443), None) => true,
            (Some(port), found) => Some(port) == found,
        };
        port && self.host == found.host
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin<'a> {
    scheme: Cow<'a, str>,
    host: Host<'a>,
    port: Option<u16>,
}

impl<'a> Origin<'a> {
    pub(crate) fn parse(origin: &'a str) -> Option<Self> {
        let (scheme, authority) = origin.split_once("://")?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let scheme = is_scheme.then(|| lower_case(scheme))?;
        let Entry { host, port } = Entry::parse(authority)?;
        let port = port.or(match &*scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        Some(Self { scheme, host, port })
    }

    fn into_owned(self) -> Origin<'static> {
        Origin {
            scheme: self.scheme.into_owned().into(),
            host: self.host.into_owned(),
            port: self.port,
        }
    }

    fn is_loopback(&self) -> bool {
        matches!(&*self.scheme, "http" | "https") && self.host.is_loopback()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host<'a> {
    /// In lower case, without the dot of the root.
    Name(Cow<'a, str>),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl<'a> Host<'a> {
    fn parse(host: &'a str) -> Option<Self> {
        if let Ok(address) = host.parse() {
            return Some(Self::V4(address));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        name.split('.').all(is_label).then(|| Self::Name(lower_case(name)))
    }

    fn into_owned(self) -> Host<'static> {
        match self {
            Self::Name(name) => Host::Name(name.into_owned().into()),
            Self::V4(address) => Host::V4(address),
            Self::V6(address) => Host::V6(address),
        }
    }

    fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::V4(address) => address.is_loopback(),
            Self::V6(address) => address.is_loopback(),
        }
    }
}

/// Allocates only for what is not in lower case already, which hardly any request sends.
fn lower_case(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_ascii_lowercase().into()
    } else {
        text.into()
    }
}

fn port(digits: &str) -> Option<u16> {
    // `parse` alone would take a plus sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Any bytes are judged without panicking, and what is a loopback origin is a loopback host too.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_host(data: &[u8]) {
    let origin = OriginPolicy::loopback().check_origin(data);
    if let Ok(text) = str::from_utf8(data) {
        let authority = text.split_once("://").map_or(text, |(_, authority)| authority);
        assert!(!origin || HostPolicy::loopback().check_host(authority));
        if let Ok(policy) = HostPolicy::list([text]) {
            assert!(policy.check_host(text));
        }
        if let Ok(policy) = OriginPolicy::list([text]) {
            assert!(policy.check_origin(data));
        }
    }
}
