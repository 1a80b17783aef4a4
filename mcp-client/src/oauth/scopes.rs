//! Which scopes to ask for.

use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, Scopes};

use super::discovery::AuthorizationServerMetadata;

/// What the challenges of a server say that its requests need.
pub(crate) fn challenged(challenges: &[Challenge]) -> Scopes {
    let ours = challenges.iter().filter(|challenge| challenge.is("Bearer") || challenge.is("DPoP"));
    ours.filter_map(Challenge::scope).flat_map(|scope| scope.split(' ')).collect()
}

/// What to ask for: `wanted`, or what the resource says that basic use needs, or nothing in particular. What lets
/// tokens be refreshed is among them if, and only if, the issuer offers it. Specification: Scope Selection Strategy,
/// Refresh Tokens.
pub(crate) fn select(
    wanted: &Scopes,
    resource: &ProtectedResourceMetadata,
    issuer: &AuthorizationServerMetadata,
) -> Scopes {
    let basic = resource.scopes_supported.iter().flatten().collect();
    let chosen = if wanted.is_empty() { &basic } else { wanted };
    let mut chosen: Scopes = chosen.iter().filter(|scope| *scope != OFFLINE).collect();
    // By itself it would be asked for in place of whatever is given by default.
    if !chosen.is_empty() && issuer.offers(OFFLINE) {
        chosen.insert(OFFLINE);
    }
    chosen
}

/// What lets tokens be refreshed, where an issuer has a scope for that.
pub(crate) const OFFLINE: &str = "offline_access";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection() {
        // What was asked for before or is asked for now, the resource's, the issuer's, what is asked for.
        let table = [
            ("mcp:basic", Some("mcp:basic mcp:read"), None, "mcp:basic"),
            ("other", Some("mcp:basic mcp:read"), None, "other"),
            ("", Some("mcp:basic mcp:read mcp:write"), None, "mcp:basic mcp:read mcp:write"),
            ("", None, None, ""),
            ("", Some(""), None, ""),
            ("", None, Some("a offline_access"), ""),
            ("a", None, Some("a offline_access"), "a offline_access"),
            ("", Some("a"), Some("offline_access"), "a offline_access"),
            ("a", None, Some("a"), "a"),
            ("a offline_access", None, Some("a"), "a"),
            ("a offline_access", None, None, "a"),
            ("", Some("a offline_access"), Some("a"), "a"),
            ("offline_access a", None, Some("offline_access"), "a offline_access"),
            ("offline_access", None, Some("offline_access"), ""),
        ];
        let list = |scopes: &str| -> Vec<String> {
            Scopes::parse(scopes).iter().map(str::to_owned).collect()
        };
        for (wanted, basic, offered, expected) in table {
            let mut resource = ProtectedResourceMetadata::new("r", ["i"]);
            resource.scopes_supported = basic.map(list);
            let issuer = AuthorizationServerMetadata {
                scopes_supported: offered.map(list),
                ..AuthorizationServerMetadata::default()
            };
            let selected = select(&Scopes::parse(wanted), &resource, &issuer);
            assert_eq!(selected.to_string(), expected, "{wanted} {basic:?} {offered:?}");
        }
    }

    #[test]
    fn challenges() {
        let challenges = [
            Challenge::new("Basic").with("scope", "no"),
            Challenge::new("Bearer").with("scope", "a b"),
            Challenge::new("DPoP").with("scope", "b c"),
        ];
        assert_eq!(challenged(&challenges).to_string(), "a b c");
    }
}
