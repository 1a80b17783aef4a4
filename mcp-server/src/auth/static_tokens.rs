//! `StaticTokens`: a list of tokens, for development.

use std::fmt;
use std::future::ready;
use std::hint::black_box;

use mcp_transport::auth::ProtectedResourceMetadata;

use super::{Access, Presented, TokenError, TokenVerifier, Verifying};

/// A fixed list of tokens and whose they are, for development and tests: no issuer has made them and nobody can revoke
/// them. A server that takes them says so in its log when it is built.
///
/// ```
/// use mcp_server::auth::{Access, StaticTokens};
///
/// let tokens = StaticTokens::new()
///     .token("alice-secret", Access::new("dev", "alice").with_scopes(["notes:read", "notes:write"]))
///     .token("bob-secret", Access::new("dev", "bob").with_scopes(["notes:read"]));
/// ```
///
/// Every token is compared with all of them, in a time that tells nothing but its length. The `Debug` form shows how
/// many there are.
#[derive(Clone, Default)]
pub struct StaticTokens(Vec<(Box<str>, Access)>);

impl StaticTokens {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token, of letters, digits and `-._~+/` as every bearer token is; with others in it nobody can send it.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>, access: Access) -> Self {
        self.0.push((token.into().into(), access));
        self
    }

    fn find(&self, token: &str) -> Option<&Access> {
        let mut found = None;
        for (known, access) in &self.0 {
            if is_same(known.as_bytes(), token.as_bytes()) {
                found = Some(access);
            }
        }
        found
    }
}

impl TokenVerifier for StaticTokens {
    fn verify(&self, presented: Presented) -> Verifying<'_> {
        let access = self.find(presented.token().as_str()).cloned();
        Box::pin(ready(access.ok_or_else(|| TokenError::invalid("The token is not known"))))
    }

    fn describe(&self, _: &mut ProtectedResourceMetadata) {
        // Called once, when the server is built.
        tracing::warn!(tokens = self.0.len(), "static tokens are taken, which is for development");
    }
}

/// Without an early end, which would tell how much of a guess is right.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
    a.len() == b.len() && black_box(differing) == 0
}

impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaticTokens({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same() {
        let table = [
            ("", "", true),
            ("a", "", false),
            ("a", "a", true),
            ("ab", "a", false),
            ("a", "ab", false),
            ("ab", "ba", false),
        ];
        for (a, b, same) in table {
            assert_eq!(is_same(a.as_bytes(), b.as_bytes()), same, "{a:?} {b:?}");
        }
    }

    #[test]
    fn tokens_are_not_shown() {
        let tokens = StaticTokens::new().token("canary", Access::new("dev", "canary"));
        assert_eq!(format!("{tokens:?}"), "StaticTokens(1)");
        assert_eq!(tokens.find("canary").map(Access::subject), Some("canary"));
        assert!(tokens.find("canar").is_none() && tokens.find("").is_none());
    }
}
