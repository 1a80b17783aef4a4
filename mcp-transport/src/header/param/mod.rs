//! Arguments mirrored into headers (specification: Streamable HTTP, Custom Headers from Tool
//! Parameters).

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::mismatch::Fault;
use super::{HeaderMismatch, decode_value, encode_value};
use crate::json::{Object, decode_string};
use crate::limits::MAX_HEADER_VALUE;

mod compile;
#[cfg(test)]
mod tests;

pub use compile::InvalidAnnotation;

/// Which arguments of one tool are mirrored, and into which headers: the `x-mcp-header`
/// annotations of its input schema, checked once.
///
/// What is mirrored depends on the value found, not on the declared type: strings, booleans and
/// integers are; `null`, fractions, arrays and objects are not.
///
/// ```
/// use http::HeaderMap;
/// use mcp_transport::header::ParamHeaders;
///
/// let plan = ParamHeaders::compile(
///     r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
/// )?;
/// let arguments = Some(r#"{"region":"us-west1"}"#);
///
/// let mut headers = HeaderMap::new();
/// plan.mirror(arguments, &mut headers)?;
/// assert_eq!(headers["mcp-param-region"], "us-west1");
/// plan.verify(arguments, &headers)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ParamHeaders(Vec<Node>);

impl ParamHeaders {
    /// Whether nothing is mirrored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the header of every annotated argument that has a value and removes those of the
    /// others. `arguments` is the text of the call's arguments, `None` if it has none.
    ///
    /// # Errors
    /// When an integer is beyond the safe range, a value too long for a header, or the arguments
    /// are not JSON with unique keys. `headers` may then be half written.
    pub fn mirror(
        &self,
        arguments: Option<&str>,
        headers: &mut HeaderMap,
    ) -> Result<(), MirrorError> {
        visit(&self.0, arguments, &mut |target, found| {
            let property = || target.path.clone();
            let value = match found {
                Found::Value(value) => value.encode(),
                Found::Nothing => {
                    headers.remove(&target.header);
                    return Ok(());
                }
                Found::UnsafeInteger => {
                    return Err(MirrorError::UnsafeInteger { property: property() });
                }
                Found::Unreadable => return Err(MirrorError::Arguments),
            };
            if value.len() > MAX_HEADER_VALUE {
                return Err(MirrorError::TooLong { property: property() });
            }
            headers.insert(target.header.clone(), value);
            Ok(())
        })
    }

    /// Compares every recognised header with the argument it mirrors. Headers of other names
    /// are not looked at.
    ///
    /// # Errors
    /// When a header is missing, repeated or unreadable, says something else than the arguments,
    /// or mirrors what they lack; and when the arguments have a key twice where a mirrored one
    /// lies, since readers then disagree about its value.
    pub fn verify(
        &self,
        arguments: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<(), HeaderMismatch> {
        visit(&self.0, arguments, &mut |target, found| {
            let spelling = || target.spelling.to_string();
            target.verify(&found, headers).map_err(|fault| HeaderMismatch::new(spelling(), fault))
        })
    }
}

/// Why arguments cannot be mirrored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// An integer that not every peer can represent.
    #[error(
        "the argument {property} is beyond the safe integers and cannot be mirrored in a header"
    )]
    UnsafeInteger {
        /// Path of the property, its keys joined by dots.
        property: Box<str>,
    },
    /// A value that proxies would not let pass: over [`MAX_HEADER_VALUE`] bytes.
    #[error("the argument {property} is too long to be mirrored in a header")]
    TooLong {
        /// Path of the property, its keys joined by dots.
        property: Box<str>,
    },
    /// Arguments that are not JSON, or have a key twice.
    #[error("the arguments to be mirrored in headers repeat a key or are not JSON")]
    Arguments,
}

/// A property on the way to a mirrored argument, or one itself.
#[derive(Clone, Debug)]
struct Node {
    key: Box<str>,
    target: Option<Target>,
    children: Vec<Self>,
}

/// A header and what it mirrors.
#[derive(Clone, Debug)]
struct Target {
    header: HeaderName,
    /// The header's name with the author's capitals, for messages.
    spelling: Box<str>,
    path: Box<str>,
}

impl Target {
    fn verify(&self, found: &Found<'_>, headers: &HeaderMap) -> Result<(), Fault> {
        let mut lines = headers.get_all(&self.header).iter();
        let (line, None) = (lines.next(), lines.next()) else {
            return Err(Fault::Repeated);
        };
        match (line, found) {
            (_, Found::Unreadable) => Err(Fault::Arguments),
            (_, Found::UnsafeInteger) => Err(Fault::UnsafeInteger),
            (None, Found::Nothing) => Ok(()),
            (Some(_), Found::Nothing) => Err(Fault::NotInBody),
            (None, Found::Value(_)) => Err(Fault::Missing),
            (Some(line), Found::Value(value)) => {
                let text = decode_value(line)?;
                if value.is(&text) { Ok(()) } else { Err(Fault::differs(&text, &value.text())) }
            }
        }
    }
}

/// An argument as far as headers are concerned.
enum Found<'a> {
    /// Absent, `null`, or nothing that is mirrored: a fraction, an array, an object.
    Nothing,
    Value(Value<'a>),
    UnsafeInteger,
    /// Not JSON, or an object around it has a key twice.
    Unreadable,
}

/// An argument that is mirrored.
enum Value<'a> {
    String(Cow<'a, str>),
    Boolean(bool),
    /// Within the safe range.
    Integer(i64),
}

impl<'a> Found<'a> {
    fn read(raw: &'a str) -> Self {
        match raw.as_bytes().first() {
            Some(b'"') => {
                decode_string(raw).map_or(Self::Unreadable, |text| Self::Value(Value::String(text)))
            }
            Some(b't') => Self::Value(Value::Boolean(true)),
            Some(b'f') => Self::Value(Value::Boolean(false)),
            Some(b'n' | b'{' | b'[') => Self::Nothing,
            _ => raw.parse().map_or(Self::Unreadable, Self::number),
        }
    }

    /// A number as the double that most peers make of it; `42`, `42.0` and `4.2e1` are one integer.
    fn number(number: f64) -> Self {
        if number.abs() > MAX_SAFE_INTEGER as f64 {
            Self::UnsafeInteger
        } else if number.fract() == 0.0 {
            // Exact, being within the safe range.
            Self::Value(Value::Integer(number as i64))
        } else {
            Self::Nothing
        }
    }
}

impl Value<'_> {
    fn encode(&self) -> HeaderValue {
        match self {
            Self::String(text) => encode_value(text),
            Self::Boolean(boolean) => HeaderValue::from_static(word(*boolean)),
            Self::Integer(integer) => HeaderValue::from(*integer),
        }
    }

    /// Whether a header's text, decoded, means this value.
    fn is(&self, text: &str) -> bool {
        match self {
            Self::String(string) => string == text,
            Self::Boolean(boolean) => word(*boolean) == text,
            Self::Integer(integer) => header_integer(text) == Some(*integer),
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::String(text) => Cow::Borrowed(text),
            Self::Boolean(boolean) => Cow::Borrowed(word(*boolean)),
            Self::Integer(integer) => Cow::Owned(integer.to_string()),
        }
    }
}

/// Hands every target what the arguments have for it, in the order of the schema.
fn visit<E>(
    nodes: &[Node],
    object: Option<&str>,
    look: &mut impl FnMut(&Target, Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if nodes.is_empty() {
        return Ok(());
    }
    let object = object.map(str::trim_ascii_start).filter(|raw| raw.starts_with('{'));
    let Ok(object) = object.map_or_else(|| Ok(Object::default()), Object::parse) else {
        return unreadable(nodes, look);
    };
    for node in nodes {
        let raw = object.get(&node.key);
        if let Some(target) = &node.target {
            look(target, raw.map_or(Found::Nothing, Found::read))?;
        }
        visit(&node.children, raw, look)?;
    }
    Ok(())
}

fn unreadable<E>(
    nodes: &[Node],
    look: &mut impl FnMut(&Target, Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for node in nodes {
        if let Some(target) = &node.target {
            look(target, Found::Unreadable)?;
        }
        unreadable(&node.children, look)?;
    }
    Ok(())
}

/// A header's number: decimal digits, perhaps with a fraction of zeros; no exponent, no plus.
fn header_integer(text: &str) -> Option<i64> {
    let (whole, zeros) = text.split_once('.').unwrap_or((text, "0"));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let strict = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !zeros.is_empty()
        && zeros.bytes().all(|byte| byte == b'0');
    let integer: i64 = whole.parse().ok().filter(|_| strict)?;
    (integer.abs() <= MAX_SAFE_INTEGER).then_some(integer)
}

fn word(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}

/// The largest integer up to which a double has no gaps, 2^53 - 1.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// What is mirrored verifies; nothing panics. The input is a schema and arguments, a line each.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_params(data: &[u8]) {
    let Some((schema, arguments)) =
        str::from_utf8(data).ok().and_then(|text| text.split_once('\n'))
    else {
        return;
    };
    let Ok(plan) = ParamHeaders::compile(schema) else {
        return;
    };
    let mut headers = HeaderMap::new();
    match plan.mirror(Some(arguments), &mut headers) {
        Ok(()) => assert_eq!(plan.verify(Some(arguments), &headers), Ok(())),
        Err(MirrorError::TooLong { .. }) => {}
        Err(_) => assert!(plan.verify(Some(arguments), &headers).is_err()),
    }
}
