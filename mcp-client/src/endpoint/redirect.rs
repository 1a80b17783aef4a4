//! Where a response sends a request to, and whether it goes.

use http::header::LOCATION;
use http::response::Parts;
use http::uri::Scheme;
use http::{StatusCode, Uri};

use crate::error::{Error, Kind, excerpt};

/// The address that a redirect leads a request to `from` to. Only 307 and 308 keep the message, and only
/// the same origin may see it and the credentials beside it.
///
/// # Errors
/// When the request must not be repeated there; names status and address.
pub(super) fn target(from: &Uri, head: Parts) -> Result<Uri, Error> {
    let location = head.headers.get(LOCATION).map(|value| value.as_bytes());
    let shown = excerpt(location.unwrap_or_default());
    let target = location
        .and_then(|location| str::from_utf8(location).ok())
        .and_then(|location| resolve(from, location));
    let keeps_body =
        matches!(head.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let why = match target {
        _ if !keeps_body => "would lose the message",
        Some(target) if same_origin(from, &target) => return Ok(target),
        Some(_) => "is another origin",
        None => "is no address",
    };
    let kind = Kind::Redirect { location: shown, why };
    Err(Error::new(kind).with_head(head.status, head.headers))
}

/// Resolves a reference against an absolute address (RFC 3986, section 5.2).
fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.trim_ascii().split('#').next()?;
    // A colon in the first segment can only end a scheme.
    if reference.split(['/', '?']).next()?.contains(':') {
        return reference.parse().ok().filter(|uri: &Uri| uri.scheme().is_some());
    }
    let scheme = base.scheme_str()?;
    if reference.starts_with("//") {
        return format!("{scheme}:{reference}").parse().ok();
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let directory = base.path().rsplit_once('/').map_or("", |(directory, _)| directory);
    let path = match path {
        "" => base.path().to_owned(),
        rooted if rooted.starts_with('/') => without_dots(rooted),
        relative => without_dots(&format!("{directory}/{relative}")),
    };
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{}{path}{query}", base.authority()?).parse().ok()
}

/// Removes `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

fn same_origin(a: &Uri, b: &Uri) -> bool {
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    let bare = |uri: &Uri| !uri.authority().is_some_and(|it| it.as_str().contains('@'));
    a.scheme() == b.scheme() && host(a) == host(b) && port(a) == port(b) && bare(b)
}

fn port(uri: &Uri) -> Option<u16> {
    let default = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    uri.port_u16().or(Some(default))
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn lead(from: &str, status: u16, location: &str) -> Result<Uri, Error> {
        let response = Response::builder().status(status).header(LOCATION, location);
        target(&from.parse().unwrap(), response.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_same_origin_is_followed() {
        let from = "http://h:80/a/mcp?x=1";
        let table = [
            ("/mcp/", "http://h:80/mcp/"),
            ("mcp/", "http://h:80/a/mcp/"),
            ("./mcp/", "http://h:80/a/mcp/"),
            ("../b", "http://h:80/b"),
            ("../../../b/./c/..", "http://h:80/b/"),
            ("?y=2", "http://h:80/a/mcp?y=2"),
            ("/mcp?y=/../z#frag", "http://h:80/mcp?y=/../z"),
            ("//h/mcp/", "http://h/mcp/"),
            ("http://H/mcp/", "http://H/mcp/"),
            ("http://h:80/mcp/#f", "http://h:80/mcp/"),
            ("", "http://h:80/a/mcp"),
        ];
        for (location, expected) in table {
            for status in [307, 308] {
                let led = lead(from, status, location).unwrap();
                assert_eq!(led, expected.parse::<Uri>().unwrap(), "{location}");
            }
        }
    }

    #[test]
    fn all_else_is_an_error_that_says_what() {
        let table = [
            (301, "/mcp/", "lose the message"),
            (302, "/mcp/", "lose the message"),
            (303, "/mcp/", "lose the message"),
            (300, "/mcp/", "lose the message"),
            (304, "/mcp/", "lose the message"),
            (307, "https://h/mcp", "another origin"),
            (307, "http://h:81/mcp", "another origin"),
            (308, "http://h.evil/mcp", "another origin"),
            (308, "http://u@h/mcp", "another origin"),
            (308, "//evil/mcp", "another origin"),
            (307, "http://[", "no address"),
            (307, "a b", "no address"),
        ];
        for (status, location, why) in table {
            let error = lead("http://h/mcp", status, location).unwrap_err();
            assert!(error.is_protocol());
            assert_eq!(error.status().unwrap().as_u16(), status);
            let text = error.to_string();
            for part in [&status.to_string(), location, why] {
                assert!(text.contains(part), "{text}");
            }
        }
    }
}
