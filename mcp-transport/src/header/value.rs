//! Any text as a header value, and back (specification: Streamable HTTP, Value Encoding).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

/// Writes `text` so that it survives as a header value: as it is where it can be, in the base64
/// form where it cannot.
///
/// Plain is what consists of visible ASCII, spaces and tabs, neither starts nor ends with white
/// space and does not look like the base64 form itself. The empty text is plain.
///
/// ```
/// use mcp_transport::header::encode_value;
///
/// assert_eq!(encode_value("us-west1"), "us-west1");
/// assert_eq!(encode_value("Zürich"), "=?base64?WsO8cmljaA==?=");
/// ```
#[must_use]
pub fn encode_value(text: &str) -> HeaderValue {
    match HeaderValue::from_str(text) {
        Ok(value) if is_plain(text) => value,
        _ => wrap(text),
    }
}

/// Reads a header value: white space around it is dropped, then the base64 form is undone.
///
/// The base64 form is taken strictly: standard alphabet, padding required, no spare bits, and
/// UTF-8 inside. A value that has only one of its two marks is a literal.
///
/// # Errors
/// When the value has bytes other than visible ASCII, space and tab, or both marks of the base64
/// form around something that is not it.
pub fn decode_value(value: &HeaderValue) -> Result<Cow<'_, str>, Malformed> {
    let text = plain_text(value)?;
    // The marks may overlap in a value too short for both. It starts and ends as the encoded form
    // does, so some reader takes it for one: refuse it rather than read it in another way.
    let Some(rest) = text.strip_prefix(PREFIX).filter(|_| text.ends_with(SUFFIX)) else {
        return Ok(Cow::Borrowed(text));
    };
    let payload = rest.strip_suffix(SUFFIX).ok_or(Malformed::Base64)?;
    let bytes = STANDARD.decode(payload).map_err(|_cause| Malformed::Base64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_cause| Malformed::Utf8)
}

/// Why a header value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Bytes other than visible ASCII, space and tab.
    #[error("holds characters that a header value cannot have")]
    Characters,
    /// The base64 form around something that is not strict base64.
    #[error("is marked as base64 but is not padded standard base64")]
    Base64,
    /// The base64 form around bytes that are not UTF-8.
    #[error("is base64 of something that is not UTF-8")]
    Utf8,
}

/// The value's text as sent, without the optional white space around it.
pub(super) fn plain_text(value: &HeaderValue) -> Result<&str, Malformed> {
    let text = value.to_str().map_err(|_cause| Malformed::Characters)?;
    Ok(text.trim_matches(is_ows))
}

/// Whether a peer reads `text`, sent as it is, as `text` again.
pub(super) fn is_plain(text: &str) -> bool {
    let looks_encoded = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && !text.starts_with(is_ows)
        && !text.ends_with(is_ows)
        && !looks_encoded
}

fn wrap(text: &str) -> HeaderValue {
    let mut form = String::with_capacity(PREFIX.len() + text.len().div_ceil(3) * 4 + SUFFIX.len());
    form.push_str(PREFIX);
    STANDARD.encode_string(text, &mut form);
    form.push_str(SUFFIX);
    HeaderValue::from_maybe_shared(bytes::Bytes::from(form))
        .expect("the base64 form is visible ASCII")
}

fn is_ows(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Whatever decodes comes back from its own encoding; nothing panics.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_value(data: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(data)
        && let Ok(text) = decode_value(&value)
    {
        assert_eq!(decode_value(&encode_value(&text)).as_deref(), Ok(&*text));
    }
    if let Ok(text) = str::from_utf8(data) {
        assert_eq!(decode_value(&encode_value(text)).as_deref(), Ok(text));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The specification's table of encoding examples, then what follows from its rules.
    const ENCODED: &[(&str, &str)] = &[
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", ""),
        ("us west 1", "us west 1"),
        ("a\tb", "a\tb"),
        ("\ta", "=?base64?CWE=?="),
        ("a ", "=?base64?YSA=?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("\0", "=?base64?AA==?="),
        ("=?base64?", "=?base64?"),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ("=?BASE64?aGk=?=", "=?BASE64?aGk=?="),
        ("file:///a%20b?c=d", "file:///a%20b?c=d"),
    ];

    #[test]
    fn encodes_and_decodes() {
        for (text, encoded) in ENCODED {
            assert_eq!(encode_value(text), *encoded, "{text:?}");
            assert_eq!(decode_value(&HeaderValue::from_str(encoded).unwrap()).unwrap(), *text);
        }
    }

    #[test]
    fn reads_what_others_write() {
        let rows: &[(&[u8], Result<&str, Malformed>)] = &[
            (b"  plain\t ", Ok("plain")),
            (b"  =?base64?SGVsbG8=?=  ", Ok("Hello")),
            (b"=?base64??=", Ok("")),
            (b"SGVsbG8=", Ok("SGVsbG8=")),
            (b"=?base64?SGVsbG8=", Ok("=?base64?SGVsbG8=")),
            (b"SGVsbG8=?=", Ok("SGVsbG8=?=")),
            (b"=?BASE64?SGVsbG8=?=", Ok("=?BASE64?SGVsbG8=?=")),
            (b"=?base64?SGVsbG8?=", Err(Malformed::Base64)),
            (b"=?base64?SGVs!!!bG8=?=", Err(Malformed::Base64)),
            (b"=?base64?!!?=", Err(Malformed::Base64)),
            (b"=?base64?SGVs bG8=?=", Err(Malformed::Base64)),
            (b"=?base64?SGVsbG9=?=", Err(Malformed::Base64)),
            (b"=?base64?_-8=?=", Err(Malformed::Base64)),
            (b"=?base64?=", Err(Malformed::Base64)),
            (b"=?base64?/w==?=", Err(Malformed::Utf8)),
            (b"caf\xc3\xa9", Err(Malformed::Characters)),
            (b"\xff", Err(Malformed::Characters)),
        ];
        for (raw, text) in rows {
            let value = HeaderValue::from_bytes(raw).unwrap();
            assert_eq!(decode_value(&value).as_deref().map_err(|error| *error), *text, "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>()) {
            fuzz_value(text.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            fuzz_value(&bytes);
        }

        #[test]
        fn near_the_marks(inner in "[A-Za-z0-9+/=?_ -]{0,12}") {
            fuzz_value(inner.as_bytes());
            fuzz_value(format!("=?base64?{inner}?=").as_bytes());
        }
    }
}
