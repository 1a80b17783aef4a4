//! Requests to a `World`, and where they go.

use super::super::Seen;
use super::state::Token;

/// Where an issuer has its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    OAuth,
    OpenId,
    /// Behind the issuer's path.
    OpenIdBehind,
}

impl Form {
    /// The path, for an issuer of this path.
    pub(super) fn path(self, issuer: &str) -> String {
        match self {
            Self::OAuth => format!("/.well-known/oauth-authorization-server{issuer}"),
            Self::OpenId => format!("/.well-known/openid-configuration{issuer}"),
            Self::OpenIdBehind => format!("{issuer}/.well-known/openid-configuration"),
        }
    }
}

/// A request, and what is known of it.
pub(super) struct Visit<'a> {
    pub(super) seen: &'a Seen,
    /// How many came to this place before.
    pub(super) turn: usize,
    /// The path of the issuer whose place it is.
    pub(super) issuer: &'a str,
    /// The token that it came with, if that is good.
    pub(super) token: Option<Token>,
}

impl Visit<'_> {
    /// The issuer whose place it is.
    pub(super) fn issuer_url(&self) -> String {
        format!("{}{}", self.seen.origin, self.issuer)
    }
}

/// Where a request goes, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The server.
    Mcp,
    /// Its metadata.
    Resource,
    /// The metadata of an issuer.
    Issuer,
    Register,
    Authorize,
    Token,
    Elsewhere,
}

impl Place {
    pub(super) fn of(seen: &Seen) -> Self {
        let path = path(seen);
        let ends = [
            ("/register", Self::Register),
            ("/authorize", Self::Authorize),
            ("/token", Self::Token),
        ];
        if path == "/mcp" {
            Self::Mcp
        } else if path.contains("/oauth-protected-resource") || path.starts_with("/custom/") {
            Self::Resource
        } else if path.contains("/.well-known/") {
            Self::Issuer
        } else {
            let found = ends.into_iter().find(|(end, _)| path.ends_with(end));
            found.map_or(Self::Elsewhere, |(_, place)| place)
        }
    }

    /// The path of the issuer whose endpoint it is.
    pub(super) fn issuer(seen: &Seen) -> &str {
        path(seen).rsplit_once('/').map_or("", |(issuer, _)| issuer)
    }
}

pub(super) fn path(seen: &Seen) -> &str {
    seen.target().split('?').next().unwrap_or_default()
}
