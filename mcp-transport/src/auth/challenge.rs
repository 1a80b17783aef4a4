//! `WWW-Authenticate`: what a server wants to see before it answers.

use std::borrow::Cow;
use std::fmt;

use http::HeaderValue;
use http::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::limits::{MAX_CHALLENGE_PARAMS, MAX_CHALLENGES};

/// One challenge of a `WWW-Authenticate` header: a scheme and its parameters. RFC 9110, section 11.6.1.
///
/// A server makes one and writes it with [`to_header`](Self::to_header); a client reads all that came with
/// [`read`](Self::read).
///
/// ```
/// use http::HeaderMap;
/// use http::header::WWW_AUTHENTICATE;
/// use mcp_transport::auth::Challenge;
///
/// let challenge = Challenge::new("Bearer")
///     .with("error", "insufficient_scope")
///     .with("scope", "files:read files:write");
/// let mut headers = HeaderMap::new();
/// headers.insert(WWW_AUTHENTICATE, challenge.to_header());
///
/// let read = Challenge::read(&headers);
/// assert!(read[0].is("bearer"));
/// assert_eq!(read[0].param("scope"), Some("files:read files:write"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: Cow<'static, str>,
    token: Option<Box<str>>,
    params: Vec<(Cow<'static, str>, Box<str>)>,
}

impl Challenge {
    /// A challenge without parameters. `scheme` must be a token, such as `Bearer`.
    pub fn new(scheme: impl Into<Cow<'static, str>>) -> Self {
        Self { scheme: scheme.into(), token: None, params: Vec::new() }
    }

    /// Adds a parameter behind those there are. `name` must be a token. What a header cannot carry of `value` becomes `?`:
    /// all but the printable characters of ASCII.
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: &str) -> Self {
        let printable = |c: char| if matches!(c, ' '..='~') { c } else { '?' };
        self.params.push((name.into(), value.chars().map(printable).collect()));
        self
    }

    /// All challenges of all `WWW-Authenticate` lines, in their order.
    ///
    /// What cannot be read is passed over and costs no more than itself. Some mistakes that servers make are
    /// forgiven: parameters without a comma between them, and values that lack their quotes. Of a parameter that
    /// is there twice the first counts. At most [`MAX_CHALLENGES`] are read, with [`MAX_CHALLENGE_PARAMS`]
    /// parameters each.
    pub fn read(headers: &HeaderMap) -> Vec<Self> {
        let mut found = Vec::new();
        for line in headers.get_all(WWW_AUTHENTICATE) {
            Reader { rest: line.as_bytes() }.challenges(&mut found);
        }
        found
    }

    /// The scheme as it was written.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Whether it is of this scheme, in any case.
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// The parameter of this name, in any case, without quotes and escapes.
    pub fn param(&self, name: &str) -> Option<&str> {
        let mut params = self.params.iter();
        params.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The bare token that some schemes have in place of parameters.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Where the metadata of the resource is. RFC 9728, section 5.1.
    pub fn resource_metadata(&self) -> Option<&str> {
        self.param("resource_metadata")
    }

    /// The scopes that the request needs, separated by spaces. RFC 6750, section 3.
    pub fn scope(&self) -> Option<&str> {
        self.param("scope")
    }

    /// What is wrong with the credentials, as a code such as `invalid_token`. RFC 6750, section 3.1.
    pub fn error(&self) -> Option<&str> {
        self.param("error")
    }

    /// The challenge as a header's value.
    pub fn to_header(&self) -> HeaderValue {
        // Scheme and names may be anybody's; what is no header is left out whole.
        HeaderValue::from_str(&self.to_string()).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// The header's form: every value in quotes.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        if let Some(token) = &self.token {
            write!(f, " {token}")?;
        }
        for (at, (name, value)) in self.params.iter().enumerate() {
            let between = if at == 0 { " " } else { ", " };
            let value = value.replace('\\', r"\\").replace('"', "\\\"");
            write!(f, "{between}{name}=\"{value}\"")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Challenge({self})")
    }
}

/// What is left of one line.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Adds what the line holds. Every turn takes at least one byte away, so that it ends.
    fn challenges(&mut self, found: &mut Vec<Challenge>) {
        let already = found.len();
        loop {
            self.take(|byte| matches!(byte, b' ' | b'\t' | b','));
            if self.rest.is_empty() || found.len() > MAX_CHALLENGES {
                found.truncate(MAX_CHALLENGES);
                return;
            }
            let name = self.take(is_token);
            if name.is_empty() {
                self.pass_over();
                continue;
            }
            let is_spaced = !self.spaces().is_empty();
            if self.rest.first() == Some(&b'=') {
                let value = self.value();
                // A parameter before any scheme is nobody's.
                if let (Some(challenge), Some(value)) =
                    (found.get_mut(already..).and_then(<[_]>::last_mut), value)
                {
                    challenge.admit(name, &value);
                }
            } else {
                let token = if is_spaced { self.token68() } else { None };
                let scheme = String::from_utf8_lossy(name).into_owned().into();
                found.push(Challenge { scheme, token, params: Vec::new() });
            }
        }
    }

    /// `=` and what stands behind it.
    fn value(&mut self) -> Option<Cow<'a, [u8]>> {
        self.rest = self.rest.split_first()?.1;
        self.spaces();
        if self.rest.first() == Some(&b'"') {
            return self.quoted().map(Cow::Owned);
        }
        Some(Cow::Borrowed(self.take(|byte| !matches!(byte, b' ' | b'\t' | b',' | b'"'))))
    }

    /// A quoted string; nothing, and nothing left, if it has no end.
    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut bytes = self.rest.iter().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Some(out);
                }
                b'\\' => out.extend(bytes.next().map(|(_, escaped)| *escaped)),
                other => out.push(*other),
            }
        }
        self.rest = &[];
        None
    }

    /// A bare token, which alone stands between a scheme and the next comma.
    fn token68(&mut self) -> Option<Box<str>> {
        let is_padding = |byte: &u8| *byte == b'=';
        let body = self.rest.iter().take_while(|byte| is_token68(**byte)).count();
        let padding = self.rest.iter().skip(body).take_while(|byte| is_padding(byte)).count();
        let (token, rest) = self.rest.split_at_checked(body + padding)?;
        let ends = rest.trim_ascii_start().first().is_none_or(|byte| *byte == b',');
        if body == 0 || !ends {
            return None;
        }
        self.rest = rest;
        Some(String::from_utf8_lossy(token).into())
    }

    /// What is neither a name nor between names; a string in quotes as a whole.
    fn pass_over(&mut self) {
        if self.rest.first() == Some(&b'"') {
            self.quoted();
        } else {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
    }

    fn spaces(&mut self) -> &'a [u8] {
        self.take(|byte| matches!(byte, b' ' | b'\t'))
    }

    fn take(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.rest.iter().take_while(|byte| belongs(**byte)).count();
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

impl Challenge {
    fn admit(&mut self, name: &[u8], value: &[u8]) {
        let name = String::from_utf8_lossy(name);
        if self.params.len() < MAX_CHALLENGE_PARAMS && self.param(&name).is_none() {
            let value = String::from_utf8_lossy(value).into();
            self.params.push((name.into_owned().into(), value));
        }
    }
}

/// RFC 9110, section 5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// RFC 9110, section 11.2, without the padding.
const fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&[u8]]) -> Vec<Challenge> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_bytes(line).unwrap());
        }
        Challenge::read(&headers)
    }

    /// Each challenge in the form in which it would be written.
    fn told(line: &str) -> String {
        let told = read(&[line.as_bytes()]).iter().map(ToString::to_string).collect::<Vec<_>>();
        told.join(" ; ")
    }

    #[test]
    fn challenges() {
        let table = [
            ("", ""),
            (" , ,", ""),
            ("Bearer", "Bearer"),
            ("bEARER realm=x", r#"bEARER realm="x""#),
            (r#"Bearer realm="a, b=c""#, r#"Bearer realm="a, b=c""#),
            (r#"Bearer realm = "x" , scope	=	"a b""#, r#"Bearer realm="x", scope="a b""#),
            (r#"Bearer a="q\"u\\o\te", b="""#, r#"Bearer a="q\"u\\ote", b="""#),
            (r#"Basic realm="r", Bearer scope="s""#, r#"Basic realm="r" ; Bearer scope="s""#),
            (r#"Basic, Bearer, DPoP algs="ES256""#, r#"Basic ; Bearer ; DPoP algs="ES256""#),
            ("Negotiate YWI=, Bearer", "Negotiate YWI= ; Bearer"),
            ("Negotiate a/b+c==", "Negotiate a/b+c=="),
            (r#"Bearer, error="x""#, r#"Bearer error="x""#),
            // The first of two counts.
            (r#"Bearer scope="a", Scope="b""#, r#"Bearer scope="a""#),
            // What servers get wrong.
            (r#"Bearer realm="x" error="y""#, r#"Bearer realm="x", error="y""#),
            (
                "Bearer resource_metadata=https://h/.well-known/x?a=b, scope=a",
                r#"Bearer resource_metadata="https://h/.well-known/x?a=b", scope="a""#,
            ),
            // Nobody's.
            (r#"realm="x", Bearer"#, "Bearer"),
            (r#""quoted, Basic", Bearer"#, "Bearer"),
            ("@@@ Bearer", "Bearer"),
            (r#"Bearer realm="no end, error="#, "Bearer"),
            (r#"Bearer realm="no end\"#, "Bearer"),
            ("Bearer =x, scope=a", ""),
        ];
        for (line, expected) in table {
            assert_eq!(told(line), expected, "{line}");
        }
    }

    #[test]
    fn lines_are_read_one_by_one() {
        let read = read(&[b"Basic realm=\"open", b"scope=\"nobody\", Bearer scope=\"s\""]);
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].scheme(), read[0].scope()), ("Basic", None));
        assert_eq!((read[1].scheme(), read[1].scope()), ("Bearer", Some("s")));
    }

    #[test]
    fn what_is_read_has_limits() {
        assert_eq!(read(&[&b"Bearer,".repeat(1000)]).len(), MAX_CHALLENGES);
        let mut line = b"Bearer ".to_vec();
        for n in 0..1000 {
            line.extend(format!("p{n}=v,").bytes());
        }
        assert_eq!(read(&[&line])[0].params.len(), MAX_CHALLENGE_PARAMS);
        assert_eq!(read(&[b"Bearer a=\"\xff\""])[0].param("A"), Some("\u{fffd}"));
    }

    #[test]
    fn what_is_written_is_read() {
        let written =
            Challenge::new("Bearer").with("error_description", "a \"b\"\\ \r\nSet-Cookie: ä");
        assert_eq!(written.to_header(), r#"Bearer error_description="a \"b\"\\ ??Set-Cookie: ?""#);
        assert_eq!(read(&[written.to_header().as_bytes()]), [written]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_read(line in "[ -~\t\u{80}-\u{ff}]{0,60}") {
            for challenge in read(&[line.as_bytes()]) {
                proptest::prop_assert!(challenge.scheme().bytes().all(is_token));
            }
        }

        #[test]
        fn any_value_comes_back(value in "[ -~]{0,40}") {
            let written = Challenge::new("Bearer").with("a", &value).with("b", "x");
            let read = read(&[written.to_header().as_bytes()]);
            proptest::prop_assert_eq!(read, [written]);
        }
    }
}
