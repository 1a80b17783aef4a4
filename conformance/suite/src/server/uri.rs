//! URIs and their templates, as far as their characters go. RFC 3986, RFC 6570.

/// An absolute URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uri {
    pub(crate) text: String,
    /// In lower case.
    pub(crate) scheme: String,
}

impl Uri {
    /// The URI, if it is one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once(':')?;
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
        let is_legal = is_legal(rest) && rest.matches('#').count() <= 1;
        (is_scheme && is_legal)
            .then(|| Self { text: text.to_owned(), scheme: scheme.to_ascii_lowercase() })
    }

    fn authority(&self) -> &str {
        let rest = self.text.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }

    pub(crate) fn host(&self) -> &str {
        let authority = self.authority();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match host.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => host,
            _ => host,
        }
    }

    pub(crate) fn has_userinfo(&self) -> bool {
        self.authority().contains('@')
    }

    /// The names of the parameters in query and fragment, in lower case.
    pub(crate) fn parameters(&self) -> Vec<String> {
        let behind = self.text.split_once(['?', '#']).map_or("", |(_, behind)| behind);
        let pairs = behind.split(['&', '?', '#', ';']).filter_map(|pair| pair.split('=').next());
        pairs.map(str::to_ascii_lowercase).collect()
    }
}

/// Whether a text is a URI template: what is in braces are names, and all else is legal in a URI.
pub(crate) fn is_template(text: &str) -> bool {
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((expression, after)) = behind.split_once('}') else { return false };
        if !is_expression(expression) {
            return false;
        }
        literal.push_str(before);
        rest = after;
    }
    literal.push_str(rest);
    is_legal(&literal)
}

fn is_expression(expression: &str) -> bool {
    let names = expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression);
    names.split(',').all(|name| {
        let name = name.strip_suffix('*').unwrap_or(name);
        let (name, prefix) = name.split_once(':').unwrap_or((name, "1"));
        let is_prefix = (1..=4).contains(&prefix.len())
            && prefix.bytes().all(|byte| byte.is_ascii_digit())
            && !prefix.starts_with('0');
        let is_name = |byte| matches!(byte, b'_' | b'.' | b'%') || u8::is_ascii_alphanumeric(&byte);
        is_prefix && !name.is_empty() && name.bytes().all(is_name)
    })
}

/// Whether a text has only characters of URIs, and whole percent encodings.
fn is_legal(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_right = match byte {
            b'%' => {
                let mut is_hex = || bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit());
                is_hex() && is_hex()
            }
            other => other.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&other),
        };
        if !is_right {
            return false;
        }
    }
    true
}

/// Whether the name of a field or parameter sounds like a secret.
pub(crate) fn has_secrets(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['_', '-', ' ', '.'], "");
    let words = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "accesstoken",
        "authtoken",
        "credential",
        "cardnumber",
        "cvv",
        "cvc",
        "privatekey",
    ];
    name == "pin" || words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        for right in ["a:", "test://x", "file:///a%20b", "urn:x:y?q#f", "https://u@[::1]:8/x"] {
            assert!(Uri::parse(right).is_some(), "{right}");
        }
        for wrong in ["", "x", "://x", "1a:b", "a:b c", "a:%zz", "a:%2", "a:\u{e4}", "a:#x#y"] {
            assert!(Uri::parse(wrong).is_none(), "{wrong}");
        }
        let uri = Uri::parse("https://u:p@h:8/p?Token=1&x#y=2").unwrap();
        assert_eq!((uri.host(), uri.has_userinfo()), ("h", true));
        assert_eq!(uri.parameters(), ["token", "x", "y"]);
        assert_eq!(Uri::parse("http://[::1]/").unwrap().host(), "[::1]");
    }

    #[test]
    fn templates() {
        for right in ["test://t/{id}/d", "a:{+path}", "a:{?x,y*}", "a:{v:30}", "a:b"] {
            assert!(is_template(right), "{right}");
        }
        for wrong in ["a:{", "a:}", "a:{}", "a:{a b}", "a:{x:0}", "a: b", "a:{x}}"] {
            assert!(!is_template(wrong), "{wrong}");
        }
    }

    #[test]
    fn secrets() {
        for name in ["Password", "api_key", "PIN", "card number"] {
            assert!(has_secrets(name), "{name}");
        }
        for name in ["name", "spinning", "passage"] {
            assert!(!has_secrets(name), "{name}");
        }
    }
}
