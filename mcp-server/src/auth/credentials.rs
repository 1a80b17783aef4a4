//! What stands in the header `Authorization`. RFC 6750, section 2.1; RFC 9110, section 11.6.2.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::{Scheme, Token};

/// 16 KiB: several times a token with the groups of a large directory in it, and a quarter of what all headers may have.
pub(super) const MAX_TOKEN: usize = 16 * 1024;

/// What a request brought along to authenticate with.
#[derive(Debug)]
pub(super) enum Credentials {
    None,
    /// Of a scheme that means nothing here.
    Foreign,
    Token(Scheme, Token),
}

/// Takes the header out, so that nobody behind sees it. An error if it breaks the rules, which is told to the client.
///
/// Nowhere else is a token looked for: one in a query is in every log on its way, and one in a body would be there
/// for handlers to see.
pub(super) fn take(headers: &mut HeaderMap) -> Result<Credentials, &'static str> {
    let http::header::Entry::Occupied(entry) = headers.entry(AUTHORIZATION) else {
        return Ok(Credentials::None);
    };
    let (_, mut fields) = entry.remove_entry_mult();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return Err("The Authorization header must be given once");
    };
    let field = field.as_bytes().trim_ascii();
    let end = field.iter().position(|byte| *byte == b' ').unwrap_or(field.len());
    let (scheme, rest) = field.split_at(end);
    let is = |known: Scheme| scheme.eq_ignore_ascii_case(known.as_str().as_bytes());
    let Some(scheme) = [Scheme::Bearer, Scheme::Dpop].into_iter().find(|known| is(*known)) else {
        return if scheme.is_empty() {
            Err("The Authorization header is empty")
        } else {
            Ok(Credentials::Foreign)
        };
    };
    match str::from_utf8(rest.trim_ascii_start()) {
        Ok("") => Err("The Authorization header has no token"),
        Ok(token) if token.len() > MAX_TOKEN => Err("The token is longer than 16384 bytes"),
        Ok(token) if is_b64token(token) => Ok(Credentials::Token(scheme, Token::new(token))),
        _ => Err("The token has characters that no token has"),
    }
}

/// RFC 6750, section 2.1.
fn is_b64token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
    };
    !body.is_empty() && body.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn taken(fields: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(field).unwrap());
        }
        let taken = take(&mut headers);
        assert!(headers.is_empty());
        match taken {
            Ok(Credentials::Token(scheme, token)) => format!("{scheme:?} {}", token.as_str()),
            Ok(Credentials::None) => "none".to_owned(),
            Ok(Credentials::Foreign) => "foreign".to_owned(),
            Err(why) => format!("! {why}"),
        }
    }

    #[test]
    fn forms() {
        let table: [(&[u8], &str); 20] = [
            (b"Bearer abc", "Bearer abc"),
            (b"bEARER a.b-c_d~e+f/g==", "Bearer a.b-c_d~e+f/g=="),
            (b"Bearer   abc", "Bearer abc"),
            (b"DPoP abc", "Dpop abc"),
            (b"dpop abc", "Dpop abc"),
            (b"Basic YTpi", "foreign"),
            (b"Bearerabc", "foreign"),
            (b"Bearer,abc", "foreign"),
            (b"abc", "foreign"),
            (b"", "! The Authorization header is empty"),
            (b"Bearer", "! The Authorization header has no token"),
            (b"Bearer ", "! The Authorization header has no token"),
            (b"Bearer a b", "! The token has characters that no token has"),
            (b"Bearer a, Bearer b", "! The token has characters that no token has"),
            (b"Bearer \"abc\"", "! The token has characters that no token has"),
            (b"Bearer a=b", "! The token has characters that no token has"),
            (b"Bearer ===", "! The token has characters that no token has"),
            (b"Bearer \xff", "! The token has characters that no token has"),
            (b"Bearer a\tb", "! The token has characters that no token has"),
            (b"Bearer token=abc", "! The token has characters that no token has"),
        ];
        for (field, expected) in table {
            assert_eq!(taken(&[field]), expected, "{}", String::from_utf8_lossy(field));
        }
        assert_eq!(taken(&[]), "none");
        let twice = "! The Authorization header must be given once";
        assert_eq!(taken(&[b"Bearer a", b"Bearer a"]), twice);
        assert_eq!(taken(&[b"Basic a", b"Bearer a"]), twice);
        let longest = format!("Bearer {}", "a".repeat(MAX_TOKEN));
        assert_eq!(taken(&[longest.as_bytes()]), longest);
        let longer = format!("{longest}a");
        assert_eq!(taken(&[longer.as_bytes()]), "! The token is longer than 16384 bytes");
    }
}
