//! URLs as strings: read, compared, and never written anew, since who compares them does so to the byte.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The parts of a URL of HTTP, borrowed as they stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Url<'a> {
    is_https: bool,
    /// Host and port, as they stand.
    authority: &'a str,
    host: Host<'a>,
    port: u16,
    path: &'a str,
    query: Option<&'a str>,
    /// Up to the path.
    origin: &'a str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Host<'a> {
    /// Without the dot at its end.
    Name(&'a str),
    Address(IpAddr),
}

impl<'a> Url<'a> {
    /// Reads one. It says what is wrong with it.
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        if !text.bytes().all(is_allowed) {
            return Err("has characters that no URL has");
        }
        if text.contains('#') {
            return Err("has a fragment");
        }
        let (scheme, rest) = text.split_once("://").ok_or("is no absolute URL")?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err("is no URL of HTTP");
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at_checked(end).ok_or("is no absolute URL")?;
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (tail, None),
        };
        if authority.contains('@') {
            return Err("holds credentials");
        }
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(if is_https { 443 } else { 80 });
        let origin = text.get(..text.len() - tail.len()).unwrap_or_default();
        Ok(Self { is_https, authority, host, port, path, query, origin })
    }

    pub(crate) const fn is_https(&self) -> bool {
        self.is_https
    }

    pub(crate) const fn host(&self) -> Host<'a> {
        self.host
    }

    /// The path, nothing where it is a slash alone.
    fn path(&self) -> &'a str {
        if self.path == "/" { "" } else { self.path }
    }

    pub(crate) fn has_path(&self) -> bool {
        !self.path().is_empty()
    }

    /// Whether both are of the same scheme, host and port.
    pub(crate) fn has_origin_of(&self, other: &Url<'_>) -> bool {
        self.is_https == other.is_https && self.port == other.port && self.host.is(other.host)
    }

    /// The URL of another path, which begins with a slash, at the same origin.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Scheme, host and port in one form, to tell origins apart.
    pub(crate) fn origin_key(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        format!("{}:{}:{authority}", if self.is_https { "https" } else { "http" }, self.port)
    }
}

impl Host<'_> {
    fn is(self, other: Host<'_>) -> bool {
        match (self, other) {
            (Self::Name(one), Host::Name(other)) => one.eq_ignore_ascii_case(other),
            (Self::Address(one), Host::Address(other)) => one == other,
            _ => false,
        }
    }

    /// Whether it is this machine, by its name or address.
    pub(crate) fn is_loopback(self) -> bool {
        match self {
            Self::Name(name) => is_local_name(name),
            Self::Address(address) => address.to_canonical().is_loopback(),
        }
    }
}

/// Whether a host of this name is this machine. RFC 6761, section 6.3.
pub(crate) fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Printable ASCII without what browsers and libraries read in different ways. It also keeps a URL one word for whoever
/// gives it to a program.
const fn is_allowed(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~')
        && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

fn host_and_port(authority: &str) -> Result<(Host<'_>, Option<u16>), &'static str> {
    let wrong = "has a host that is none";
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or(wrong)?;
        let address = address.parse::<Ipv6Addr>().ok().ok_or(wrong)?;
        let port = match port.strip_prefix(':') {
            Some(port) => port_of(port)?,
            None if port.is_empty() => None,
            None => return Err(wrong),
        };
        return Ok((Host::Address(address.into()), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port_of(port)?),
        None => (authority, None),
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if name.is_empty() || !name.bytes().all(is_named) {
        return Err(wrong);
    }
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Ok((Host::Address(address.into()), port));
    }
    // Resolvers take 127.1, 0x7f.1 and 2130706433 for addresses.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
    if is_number { Err(wrong) } else { Ok((Host::Name(name), port)) }
}

fn port_of(text: &str) -> Result<Option<u16>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|_| is_plain);
    port.map(Some).ok_or("has a port that is none")
}

/// Whether a token for `resource` is meant for the server: both have the same origin, and the path of the resource
/// begins that of the server, segment by segment. A slash at its end does not count. A query must be the same.
/// RFC 9728, section 3.3; Specification: Canonical Server URI.
pub(crate) fn covers(resource: &str, server: &str) -> bool {
    let server = server.split('#').next().unwrap_or_default();
    let (Ok(resource), Ok(server)) = (Url::parse(resource), Url::parse(server)) else {
        return false;
    };
    if !resource.has_origin_of(&server) || climbs(resource.path) || climbs(server.path) {
        return false;
    }
    let wanted = resource.path.strip_suffix('/').unwrap_or(resource.path);
    let Some(rest) = server.path.strip_prefix(wanted) else {
        return false;
    };
    match resource.query {
        Some(query) => rest.trim_end_matches('/').is_empty() && server.query == Some(query),
        None => rest.is_empty() || rest.starts_with('/'),
    }
}

/// Whether a path leads upwards somewhere, so that its beginning says nothing of its end.
fn climbs(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    path.split('/').any(|segment| segment == "." || segment == "..")
}

/// Where the metadata of an issuer is looked for, in this order. `None` if it can be none. RFC 8414, sections 3 and 5;
/// Specification: Authorization Server Metadata Discovery.
pub(crate) fn issuer_urls(issuer: &str) -> Option<Vec<String>> {
    let url = Url::parse(issuer).ok()?;
    if url.query.is_some() {
        return None;
    }
    let origin = url.origin;
    let path = url.path().trim_end_matches('/');
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    // What is at the root is another issuer's where there is a path.
    if !path.is_empty() {
        urls.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    Some(urls)
}

/// A URL for a message: without its query, which may hold secrets.
pub(crate) fn shown(url: &str) -> Box<str> {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    crate::error::excerpt(url.get(..end).unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let table = [
            ("https://h", "https:443:h", "", None),
            ("HTTPS://H:8443/", "https:8443:h:8443", "", None),
            ("http://[::1]:80/a/?q=1?2", "http:80:[::1]:80", "/a/", Some("q=1?2")),
            ("https://a_b.c./x//y", "https:443:a_b.c.", "/x//y", None),
            ("https://h?q", "https:443:h", "", Some("q")),
        ];
        for (text, origin, path, query) in table {
            let url = Url::parse(text).unwrap();
            assert_eq!((&*url.origin_key(), url.path(), url.query), (origin, path, query));
        }
        for text in [
            "",
            "h",
            "/a",
            "//h",
            "ftp://h",
            "https://",
            "https:///a",
            "https://u:p@h",
            "https://h#f",
            "https://h a",
            "https://h\\a",
            "https://h:x",
            "https://h:65536",
            "https://h:+1",
            "https://[::1",
            "https://[::1]x",
            "https://[fe80::1%25eth0]",
            "https://ä.example",
            "https://127.1",
            "https://2130706433",
            "https://0x7f.1",
            "https://0177.0.0.1.0x1",
            "https://a%2fb",
            "javascript:alert(1)//://h",
            "https://h/\"x",
            "https://h/\r\nx",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn origins() {
        let same = [
            ("https://h", "HTTPS://H:443/x"),
            ("http://h:80", "http://h"),
            ("https://[::1]", "https://[0:0::1]:443"),
            ("https://h.", "https://h"),
        ];
        let other = [
            ("https://h", "http://h"),
            ("https://h", "https://h:444"),
            ("https://h", "https://h.evil"),
            ("https://a.h", "https://h"),
        ];
        for (pairs, expected) in [(&same[..], true), (&other[..], false)] {
            for (one, two) in pairs {
                let (one, two) = (Url::parse(one).unwrap(), Url::parse(two).unwrap());
                assert_eq!(one.has_origin_of(&two), expected, "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn resources() {
        let table = [
            ("https://h", "https://h/mcp", true),
            ("https://h/", "https://h/mcp", true),
            ("https://h", "https://h", true),
            ("HTTPS://H", "https://h/mcp", true),
            ("https://h:443/mcp", "https://h/mcp", true),
            ("https://h/mcp", "https://h/mcp", true),
            ("https://h/mcp", "https://h/mcp/", true),
            ("https://h/mcp/", "https://h/mcp", true),
            ("https://h/mcp", "https://h/mcp/a/b?x=1", true),
            ("https://h/mcp", "https://h/mcp#f", true),
            ("https://h/mcp?tenant=1", "https://h/mcp?tenant=1", true),
            ("https://h/mcp?tenant=1", "https://h/mcp?tenant=2", false),
            ("https://h/mcp?tenant=1", "https://h/mcp", false),
            ("https://h/mcp?tenant=1", "https://h/mcp/a?tenant=1", false),
            ("https://h/mcp", "https://h/mcpx", false),
            ("https://h/mcp/a", "https://h/mcp", false),
            ("https://h/MCP", "https://h/mcp", false),
            ("https://h/a", "https://h/a/../b", false),
            ("https://h/a", "https://h/a/%2E%2e/b", false),
            ("https://h/a/..", "https://h/a/..", false),
            ("http://h/mcp", "https://h/mcp", false),
            ("https://h:8443/mcp", "https://h/mcp", false),
            ("https://evil.example.com/mcp", "https://h/mcp", false),
            ("https://h.evil/mcp", "https://h/mcp", false),
            ("https://h/mcp#f", "https://h/mcp", false),
            ("https://u@h/mcp", "https://h/mcp", false),
            ("h/mcp", "https://h/mcp", false),
            ("", "https://h/mcp", false),
        ];
        for (resource, server, expected) in table {
            assert_eq!(covers(resource, server), expected, "{resource} {server}");
        }
    }

    #[test]
    fn issuers() {
        let root = |origin: &str| {
            vec![
                format!("{origin}/.well-known/oauth-authorization-server"),
                format!("{origin}/.well-known/openid-configuration"),
            ]
        };
        let path = |origin: &str, path: &str| {
            vec![
                format!("{origin}/.well-known/oauth-authorization-server{path}"),
                format!("{origin}/.well-known/openid-configuration{path}"),
                format!("{origin}{path}/.well-known/openid-configuration"),
            ]
        };
        let table = [
            ("https://a", root("https://a")),
            ("https://a/", root("https://a")),
            ("HTTPS://A:8443", root("HTTPS://A:8443")),
            ("http://[::1]:9/", root("http://[::1]:9")),
            ("https://a/tenant1", path("https://a", "/tenant1")),
            ("https://a/tenant1/", path("https://a", "/tenant1")),
            ("https://a:1/t%201/v2.0", path("https://a:1", "/t%201/v2.0")),
        ];
        for (issuer, expected) in table {
            assert_eq!(issuer_urls(issuer).unwrap(), expected, "{issuer}");
        }
        for issuer in
            ["", "a", "https://a?q", "https://a/t?q", "https://a#f", "urn:a", "https://u@a"]
        {
            assert_eq!(issuer_urls(issuer), None, "{issuer}");
        }
    }

    #[test]
    fn this_machine() {
        for host in "localhost LOCALHOST. a.localhost 127.0.0.1 127.9.9.9 [::1] [::ffff:127.0.0.1]"
            .split(' ')
        {
            assert!(
                Url::parse(&format!("http://{host}:1/")).unwrap().host().is_loopback(),
                "{host}"
            );
        }
        for host in ["localhost.evil", "notlocalhost", "10.0.0.1", "[::2]", "0.0.0.0"] {
            assert!(
                !Url::parse(&format!("http://{host}/")).unwrap().host().is_loopback(),
                "{host}"
            );
        }
    }

    #[test]
    fn queries_are_not_told() {
        assert_eq!(&*shown("https://h/a?code=s3cret#f"), "https://h/a");
    }
}
