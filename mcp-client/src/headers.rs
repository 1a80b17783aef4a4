//! `ExtraHeaders`: what a caller may add to a request.

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue};
use mcp_transport::header::PARAM_PREFIX;

use crate::error::Error;

/// Headers of the caller's choice, none of which is the protocol's own.
#[derive(Clone, Default)]
pub(crate) struct ExtraHeaders(HeaderMap);

impl ExtraHeaders {
    /// Sets a header, in place of one of the same name.
    ///
    /// # Errors
    /// When the name or the value is none, or the header is not the caller's to set.
    pub(crate) fn set<N, V>(&mut self, name: N, value: V) -> Result<(), Error>
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        let (name, value) = parse(name, value)?;
        self.insert(name, value, is_reserved)
    }

    /// Sets a header that may be a mirrored parameter, for callers who mirror by themselves.
    ///
    /// # Errors
    /// As of [`set`](Self::set).
    pub(crate) fn set_any_param<N, V>(&mut self, name: N, value: V) -> Result<(), Error>
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        let (name, value) = parse(name, value)?;
        self.insert(name, value, |name| {
            is_reserved(name) && !name.as_str().starts_with(PARAM_PREFIX)
        })
    }

    fn insert(
        &mut self,
        name: HeaderName,
        mut value: HeaderValue,
        is_reserved: fn(&HeaderName) -> bool,
    ) -> Result<(), Error> {
        if is_reserved(&name) {
            return Err(Error::usage(format!("the header {name} is the protocol's own")));
        }
        // Most are credentials: not to be indexed by HTTP/2, not to be shown.
        value.set_sensitive(true);
        self.0.insert(name, value);
        Ok(())
    }

    pub(crate) const fn all(&self) -> &HeaderMap {
        &self.0
    }

    /// Sets all of them in `headers`.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.insert(name.clone(), value.clone());
        }
    }
}

fn parse<N, V>(name: N, value: V) -> Result<(HeaderName, HeaderValue), Error>
where
    N: TryInto<HeaderName, Error: Into<http::Error>>,
    V: TryInto<HeaderValue, Error: Into<http::Error>>,
{
    let name = name.try_into().map_err(|error| {
        Error::usage("this cannot be the name of a header").caused_by(error.into())
    })?;
    let value = value.try_into().map_err(|error| {
        let what = format!("this cannot be the value of the header {name}");
        Error::usage(what).caused_by(error.into())
    })?;
    Ok((name, value))
}

/// Whether the protocol, or HTTP below it, alone decides about the header.
fn is_reserved(name: &HeaderName) -> bool {
    RESERVED.contains(name) || name.as_str().starts_with("mcp-")
}

/// What the body is and which answers are understood, where the message goes, and how HTTP frames it. The
/// protocol's own begin with `mcp-`.
static RESERVED: [HeaderName; 14] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::HOST,
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::EXPECT,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_set() {
        let mut extra = ExtraHeaders::default();
        for name in ["authorization", "X-Tenant", "cookie", "traceparent", "dpop", "origin"] {
            extra.set(name, "v").unwrap();
        }
        for name in [
            "Content-Type",
            "accept",
            "MCP-Protocol-Version",
            "mcp-method",
            "Mcp-Name",
            "Mcp-Param-Region",
            "mcp-session-id",
            "Host",
            "content-length",
            "transfer-encoding",
            "connection",
        ] {
            let error = extra.set(name, "v").unwrap_err();
            assert!(error.is_usage());
            let named = error.to_string().contains(&name.to_lowercase());
            assert!(named, "{error}");
        }
        assert!(extra.set("a b", "v").unwrap_err().is_usage());
        let error = extra.set("x-secret", "line\nbreak").unwrap_err();
        assert!(error.to_string().contains("x-secret"), "{error}");
        assert!(!format!("{error:?}").contains("break"));
    }

    #[test]
    fn the_last_value_counts() {
        let (mut extra, mut headers) = (ExtraHeaders::default(), HeaderMap::new());
        extra.set("a", "1").unwrap();
        extra.set("A", "2".to_owned()).unwrap();
        headers.insert("a", HeaderValue::from_static("0"));
        extra.apply(&mut headers);
        assert_eq!(headers.get_all("a").iter().collect::<Vec<_>>(), ["2"]);
    }
}
