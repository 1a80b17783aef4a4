//! The grammar of media types, media ranges and lists of them.

/// Type and subtype of a value that is one media type with well formed parameters.
pub(super) fn media_type(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let element = Element::parse(value)?;
    (element.kind != b"*" && element.subtype != b"*").then_some((element.kind, element.subtype))
}

/// One media range.
pub(super) struct Element<'a> {
    pub(super) kind: &'a [u8],
    pub(super) subtype: &'a [u8],
    /// Whether its weight is more than 0; 1 where it has none.
    pub(super) weighs: bool,
}

impl<'a> Element<'a> {
    pub(super) fn parse(element: &'a [u8]) -> Option<Self> {
        let (kind, rest) = token(element.trim_ascii())?;
        let (subtype, mut rest) = token(rest.strip_prefix(b"/")?)?;
        if kind == b"*" && subtype != b"*" {
            return None;
        }
        let mut weighs = true;
        loop {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return Some(Self { kind, subtype, weighs });
            }
            rest = rest.strip_prefix(b";")?.trim_ascii_start();
            // Empty parameters are allowed: a semicolon at the end is common.
            if rest.is_empty() || rest.starts_with(b";") {
                continue;
            }
            let (name, value, behind) = parameter(rest)?;
            if name.eq_ignore_ascii_case(b"q") {
                weighs = weight(value)?;
            }
            rest = behind;
        }
    }
}

/// The elements of a list that are not empty. Commas inside quotes do not separate.
pub(super) fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let separates = move |byte: &u8| {
        match (*byte, quoted) {
            _ if escaped => escaped = false,
            (b'\\', true) => escaped = true,
            (b'"', _) => quoted = !quoted,
            (b',', false) => return true,
            _ => {}
        }
        false
    };
    list.split(separates).map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// A parameter's name and value, and what follows it.
fn parameter(input: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, rest) = token(input)?;
    let rest = rest.strip_prefix(b"=")?;
    let (value, rest) = match rest.strip_prefix(b"\"") {
        Some(rest) => quoted(rest)?,
        None => token(rest)?,
    };
    Some((name, value, rest))
}

/// What is left of a quoted string behind its opening quote, escapes kept.
fn quoted(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut escaped = false;
    let end = input.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    let (value, rest) = input.split_at_checked(end)?;
    Some((value, rest.strip_prefix(b"\"")?))
}

fn token(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = input.iter().position(|byte| !is_tchar(*byte)).unwrap_or(input.len());
    input.split_at_checked(end).filter(|(token, _)| !token.is_empty())
}

/// Whether a weight is more than 0; `None` for what is no weight.
fn weight(value: &[u8]) -> Option<bool> {
    let (whole, decimals) = match value {
        [whole] | [whole, b'.'] => (whole, &[][..]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    match whole {
        b'0' if decimals.iter().all(u8::is_ascii_digit) => {
            Some(decimals.iter().any(|byte| *byte != b'0'))
        }
        b'1' if decimals.iter().all(|byte| *byte == b'0') => Some(true),
        _ => None,
    }
}

/// A character of a token (RFC 9110, section 5.6.2).
pub(crate) fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
