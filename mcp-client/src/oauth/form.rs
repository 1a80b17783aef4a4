//! `application/x-www-form-urlencoded`, of bodies and queries.

use std::fmt::Write as _;

/// Writes parameters one after the other.
pub(crate) fn encode<'a>(params: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (name, value) in params {
        if !out.is_empty() {
            out.push('&');
        }
        escape_into(&mut out, name);
        out.push('=');
        escape_into(&mut out, value);
    }
    out
}

/// A value by itself.
pub(crate) fn escape(value: &str) -> String {
    let mut out = String::new();
    escape_into(&mut out, value);
    out
}

/// A URL with further parameters behind those it has.
pub(crate) fn with_params<'a>(
    url: &str,
    params: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let between = match url.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{url}{between}{}", encode(params))
}

/// Reads parameters. What is no escape stands for itself.
pub(crate) fn decode(text: &str) -> Vec<(String, String)> {
    let params = text.split('&').filter(|param| !param.is_empty());
    params
        .map(|param| {
            let (name, value) = param.split_once('=').unwrap_or((param, ""));
            (unescape(name), unescape(value))
        })
        .collect()
}

/// A space becomes `%20`: those who read forms and those who read URLs both understand that, and a plus only the former.
fn escape_into(out: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'+' => out.push(b' '),
            b'%' => match tail.split_at_checked(2) {
                Some((digits, after)) if digits.iter().all(u8::is_ascii_hexdigit) => {
                    let digits = str::from_utf8(digits).unwrap_or_default();
                    out.push(u8::from_str_radix(digits, 16).unwrap_or_default());
                    rest = after;
                }
                _ => out.push(b'%'),
            },
            other => out.push(*other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        let params = [("a", "x y&z=%"), ("é", "+"), ("empty", "")];
        let encoded = encode(params);
        assert_eq!(encoded, "a=x%20y%26z%3D%25&%C3%A9=%2B&empty=");
        let decoded = decode(&encoded);
        assert!(decoded.iter().map(|(name, value)| (&**name, &**value)).eq(params));
    }

    #[test]
    fn what_others_write() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            decode("&a=x+y&b&c=%zz%4&d=%ff&e=1=2"),
            [
                pair("a", "x y"),
                pair("b", ""),
                pair("c", "%zz%4"),
                pair("d", "\u{fffd}"),
                pair("e", "1=2")
            ]
        );
    }

    #[test]
    fn urls_keep_what_they_have() {
        let table = [
            ("https://a/x", "https://a/x?p=1"),
            ("https://a/x?q=%2f", "https://a/x?q=%2f&p=1"),
            ("https://a/x?", "https://a/x?p=1"),
            ("https://a/x?q&", "https://a/x?q&p=1"),
        ];
        for (url, expected) in table {
            assert_eq!(with_params(url, [("p", "1")]), expected);
        }
    }
}
