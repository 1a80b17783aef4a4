//! An authorization server of the suite's own, for servers that are protected.
//!
//! It lets nobody sign in: checks mint the tokens that they need. What it serves is what a resource server asks for:
//! metadata, keys, introspection. The key that it signs by is known to everybody, so that it makes no difference
//! which process serves it and which mints.

pub(crate) mod key;
mod serve;

use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(crate) use key::Key;

use crate::wire::json::at;

/// An issuer of tokens. A cheap clone.
#[derive(Clone, Debug)]
pub(crate) struct Issuer(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    url: String,
    key: Key,
}

impl Issuer {
    /// The issuer whose identifier is `http://` and this address, host and port.
    pub(crate) fn new(address: &str) -> Self {
        Self(Arc::new(Parts { url: format!("http://{address}"), key: Key::well_known() }))
    }

    /// The same, served from now on, unless it is served there already: by `mcp-conformance issuer`, for servers that ask it
    /// for its keys as they start.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) async fn begin(address: &str) -> Result<Self, String> {
        let issuer = Self::new(address);
        match TcpListener::bind(address).await {
            Ok(listener) => drop(tokio::spawn(issuer.clone().serve(listener))),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(format!("{address}: {error}")),
        }
        Ok(issuer)
    }

    /// Serves it until the process ends.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) async fn run(address: &str) -> Result<(), String> {
        let listener =
            TcpListener::bind(address).await.map_err(|error| format!("{address}: {error}"))?;
        Self::new(address).serve(listener).await;
        Ok(())
    }

    /// Its identifier.
    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    pub(crate) fn key(&self) -> &Key {
        &self.0.key
    }

    /// A token with these claims, as RFC 9068 has it.
    pub(crate) fn access_token(&self, claims: &Value) -> String {
        self.key().sign(&json!({ "typ": "at+jwt" }), claims)
    }

    /// Its metadata, under either well-known name.
    fn metadata(&self) -> Value {
        let url = self.url();
        json!({
            "issuer": url,
            "jwks_uri": format!("{url}/jwks"),
            "introspection_endpoint": format!("{url}/introspect"),
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }

    /// What it says of a token (RFC 7662).
    fn introspected(&self, token: &str) -> Value {
        let Some((header, claims)) = self.key().open(token) else {
            return json!({ "active": false });
        };
        let seconds = |path| at(&claims, path).as_u64().unwrap_or_default();
        let is_its_own = at(&claims, "/iss") == self.url() && at(&header, "/typ") == "at+jwt";
        if !is_its_own || seconds("/exp") <= now() || seconds("/nbf") > now() {
            return json!({ "active": false });
        }
        key::merged(claims, &json!({ "active": true, "token_type": "Bearer" }))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn introspection() {
        let issuer = Issuer::new("127.0.0.1:1");
        let claims = json!({ "iss": "http://127.0.0.1:1", "aud": "x", "exp": now() + 100 });
        let active = |claims: &Value| issuer.introspected(&issuer.access_token(claims));
        assert_eq!(active(&claims)["active"], true);
        assert_eq!(active(&claims)["aud"], "x");
        let wrong = [
            json!({ "iss": "http://127.0.0.1:2", "exp": now() + 100 }),
            json!({ "iss": "http://127.0.0.1:1", "exp": now() - 100 }),
            json!({ "iss": "http://127.0.0.1:1", "exp": now() + 100, "nbf": now() + 50 }),
            json!({ "iss": "http://127.0.0.1:1" }),
        ];
        for claims in wrong {
            assert_eq!(active(&claims), json!({ "active": false }), "{claims}");
        }
        let foreign = Key::random().sign(&json!({ "typ": "at+jwt" }), &claims);
        for token in ["", "junk", "a.b.c", &foreign] {
            assert_eq!(issuer.introspected(token), json!({ "active": false }), "{token}");
        }
    }
}
