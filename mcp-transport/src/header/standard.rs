//! The three headers that every request carries or may carry (specification: Streamable HTTP,
//! Protocol Version Header, Standard Request Headers, Server Validation).

use http::{HeaderMap, HeaderName, HeaderValue};

use super::mismatch::Fault;
use super::value::{is_plain, plain_text};
use super::{
    HeaderMismatch, MCP_METHOD, MCP_NAME, MCP_PROTOCOL_VERSION, decode_value, encode_value,
};

/// What a client repeats in the headers of a request.
#[derive(Clone, Copy, Debug)]
pub struct StandardHeaders<'a> {
    /// The revision in the body's `_meta`.
    pub version: &'a str,
    /// The body's `method`.
    pub method: &'a str,
    /// `params.name` or `params.uri`, for the methods that have one.
    pub name: Option<&'a str>,
}

impl StandardHeaders<'_> {
    /// Sets the headers; of the same names nothing else is left.
    ///
    /// # Errors
    /// When the version or the method cannot stand in a header as it is; for these two no encoding
    /// exists. `headers` is then unchanged. Any name can be sent.
    pub fn apply(&self, headers: &mut HeaderMap) -> Result<(), Unrepresentable> {
        let version = as_is(self.version, VERSION)?;
        let method = as_is(self.method, METHOD)?;
        headers.insert(MCP_PROTOCOL_VERSION, version);
        headers.insert(MCP_METHOD, method);
        match self.name {
            Some(name) => headers.insert(MCP_NAME, encode_value(name)),
            None => headers.remove(MCP_NAME),
        };
        Ok(())
    }
}

/// A version or method that no header can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value for the header {header} holds characters that a header cannot carry")]
pub struct Unrepresentable {
    /// The header's name as the specification spells it.
    pub header: &'static str,
}

/// The revision named by the header: present, once, visible ASCII.
///
/// # Errors
/// When one of these does not hold.
pub fn version(headers: &HeaderMap) -> Result<&str, HeaderMismatch> {
    let value = only(headers, &MCP_PROTOCOL_VERSION, VERSION)?;
    plain_text(value).map_err(|why| HeaderMismatch::new(VERSION, why.into()))
}

/// Compares the header's revision, as [`version`] gives it, with that in the body's `_meta`.
///
/// # Errors
/// When the two differ.
pub fn verify_version(header: &str, meta: &str) -> Result<(), HeaderMismatch> {
    same(VERSION, header, meta)
}

/// Checks that `Mcp-Method` is there once and names the body's method. No base64 form here: the
/// specification gives one to names and parameters only.
///
/// # Errors
/// When it does not.
pub fn verify_method(headers: &HeaderMap, method: &str) -> Result<(), HeaderMismatch> {
    let value = only(headers, &MCP_METHOD, METHOD)?;
    let found = plain_text(value).map_err(|why| HeaderMismatch::new(METHOD, why.into()))?;
    same(METHOD, found, method)
}

/// Checks that `Mcp-Name` is there once and, decoded, is the body's name or URI.
///
/// Only for methods whose body has one; on others the header means nothing.
///
/// # Errors
/// When it does not.
pub fn verify_name(headers: &HeaderMap, name: &str) -> Result<(), HeaderMismatch> {
    let value = only(headers, &MCP_NAME, NAME)?;
    let found = decode_value(value).map_err(|why| HeaderMismatch::new(NAME, why.into()))?;
    same(NAME, &found, name)
}

/// Checks that `Mcp-Name` is not there, for a body that could have a name and has none.
///
/// # Errors
/// When it is.
pub fn verify_no_name(headers: &HeaderMap) -> Result<(), HeaderMismatch> {
    if headers.contains_key(MCP_NAME) {
        return Err(HeaderMismatch::new(NAME, Fault::NotInBody));
    }
    Ok(())
}

/// The header's only line. Of two, an intermediary may have read the other one.
fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    spelling: &'static str,
) -> Result<&'a HeaderValue, HeaderMismatch> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Err(HeaderMismatch::new(spelling, Fault::Missing)),
        (Some(value), None) => Ok(value),
        (Some(_), Some(_)) => Err(HeaderMismatch::new(spelling, Fault::Repeated)),
    }
}

fn same(spelling: &'static str, found: &str, body: &str) -> Result<(), HeaderMismatch> {
    if found == body {
        Ok(())
    } else {
        Err(HeaderMismatch::new(spelling, Fault::differs(found, body)))
    }
}

fn as_is(text: &str, header: &'static str) -> Result<HeaderValue, Unrepresentable> {
    let value = HeaderValue::from_str(text).ok().filter(|_| is_plain(text));
    value.ok_or(Unrepresentable { header })
}

const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

#[cfg(test)]
mod tests {
    use super::*;

    /// Header lines by name and value.
    type Lines = &'static [(&'static str, &'static str)];

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &str)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn what_is_applied_verifies() {
        for name in [None, Some("add"), Some("größe"), Some("file:///a%20b"), Some("")] {
            let mut map = headers(&[("mcp-name", "stale")]);
            StandardHeaders { version: "2026-07-28", method: "tools/call", name }
                .apply(&mut map)
                .unwrap();
            assert_eq!(version(&map), Ok("2026-07-28"));
            assert_eq!(verify_method(&map, "tools/call"), Ok(()));
            if let Some(name) = name {
                assert_eq!(verify_name(&map, name), Ok(()));
            }
            assert_eq!(map.len(), 2 + usize::from(name.is_some()));
        }
    }

    #[test]
    fn what_no_header_can_carry_is_an_error() {
        for method in ["a\nb", " a", "ä", "=?base64?YQ==?="] {
            let mut map = HeaderMap::new();
            let error = StandardHeaders { version: "v", method, name: None }.apply(&mut map);
            assert_eq!(error, Err(Unrepresentable { header: "Mcp-Method" }));
            assert!(map.is_empty());
        }
    }

    #[test]
    fn version_is_present_once_and_plain() {
        let rows: &[(Lines, Result<&str, &str>)] = &[
            (&[("mcp-protocol-version", "2026-07-28")], Ok("2026-07-28")),
            (&[("MCP-PROTOCOL-VERSION", " \t2026-07-28 ")], Ok("2026-07-28")),
            (&[("mcp-protocol-version", "")], Ok("")),
            (&[], Err("missing")),
            (
                &[("mcp-protocol-version", "a"), ("mcp-protocol-version", "a")],
                Err("more than once"),
            ),
            (&[("mcp-protocol-version", "ä")], Err("cannot have")),
        ];
        for (lines, expected) in rows {
            let map = headers(lines);
            match (version(&map), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, *expected),
                (Err(error), Err(part)) => {
                    let message = error.to_string();
                    assert!(
                        message.contains(part) && message.contains("MCP-Protocol-Version"),
                        "{message}"
                    );
                }
                (found, _) => panic!("{lines:?}: {found:?}"),
            }
        }
        assert_eq!(verify_version("2026-07-28", "2026-07-28"), Ok(()));
        assert!(verify_version("2026-07-28", "v999.0.0").is_err());
    }

    #[test]
    fn method_and_name_equal_the_body() {
        type Check = fn(&HeaderMap, &str) -> Result<(), HeaderMismatch>;
        let method: Check = verify_method;
        let name: Check = verify_name;
        let rows: &[(Check, Lines, &str, bool)] = &[
            (method, &[("Mcp-Method", "tools/list")], "tools/list", true),
            (method, &[("MCP-METHOD", "  tools/list\t")], "tools/list", true),
            (method, &[("mcp-method", "TOOLS/LIST")], "tools/list", false),
            (method, &[("mcp-method", "prompts/list")], "tools/list", false),
            (method, &[("mcp-method", "=?base64?dG9vbHMvbGlzdA==?=")], "tools/list", false),
            (method, &[], "tools/list", false),
            (method, &[("mcp-method", "a"), ("mcp-method", "a")], "a", false),
            (method, &[("mcp-method", "a, a")], "a", false),
            (name, &[("mcp-name", "  add  ")], "add", true),
            (name, &[("mcp-name", "=?base64?YWRk?=")], "add", true),
            (name, &[("mcp-name", "=?base64?w6Q=?=")], "ä", true),
            (name, &[("mcp-name", "Add")], "add", false),
            (name, &[("mcp-name", "ä")], "ä", false),
            (name, &[("mcp-name", "=?base64?YWRk=?=")], "add", false),
            (name, &[("mcp-name", "add"), ("mcp-name", "sub")], "add", false),
            (name, &[], "add", false),
            (name, &[("mcp-name", "")], "", true),
        ];
        for (check, lines, body, expected) in rows {
            assert_eq!(check(&headers(lines), body).is_ok(), *expected, "{lines:?} {body:?}");
        }
        assert_eq!(verify_no_name(&headers(&[("mcp-method", "a")])), Ok(()));
        assert!(verify_no_name(&headers(&[("mcp-name", "")])).is_err());
    }
}
