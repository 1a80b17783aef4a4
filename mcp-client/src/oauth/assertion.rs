//! Assertions that a client signs to prove who it is. RFC 7523, section 2.2.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_transport::jose::{Header, SigningKey};
use serde_json::json;

use super::client_id::{AuthMethod, ClientId};
use super::error::{Kind, OAuthError};
use super::pkce::random;

/// 2 min that an assertion is good for: clocks differ, and whoever finds one should be late.
const LIFE: Duration = Duration::from_secs(120);

/// An assertion for one request to `audience`, an authorization server by what it calls itself. The endpoint would do as
/// well by the RFC, but an assertion that names one could be used by another server at the same address.
///
/// # Errors
/// When the client has no key, or the system no randomness.
pub(crate) fn client_assertion(
    client: &ClientId,
    audience: &str,
    now: SystemTime,
) -> Result<String, OAuthError> {
    let missing = || {
        let name = AuthMethod::PrivateKeyJwt.as_str();
        OAuthError::new(Kind::Usage, format!("{name} wants a key, which the client has not"))
    };
    let ClientKey(key) = client.key.as_ref().ok_or_else(missing)?;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let claims = json!({
        "iss": client.id,
        "sub": client.id,
        "aud": audience,
        "jti": random()?,
        "iat": now.as_secs(),
        "exp": (now + LIFE).as_secs(),
    });
    key.sign_jwt(&Header::new("JWT"), &claims).map_err(|error| {
        OAuthError::new(Kind::Usage, "the client's assertion cannot be signed").caused_by(error)
    })
}

/// The key that a client signs by. Two are the same whose public halves are.
#[derive(Clone, Debug)]
pub(crate) struct ClientKey(pub(crate) Box<SigningKey>);

impl PartialEq for ClientKey {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        one.algorithm() == other.algorithm() && one.public_jwk() == other.public_jwk()
    }
}

impl Eq for ClientKey {}

#[cfg(test)]
mod tests {
    use mcp_transport::jose::{Algorithm, Unverified};
    use serde_json::Value;

    use super::*;

    /// RFC 7523, section 3.
    #[test]
    fn claims() {
        let now = UNIX_EPOCH + Duration::from_secs(1_785_000_000);
        let table = [
            ("client", "https://as.example", Algorithm::Es256, None),
            (
                "https://app.example/client.json",
                "https://as.example/a/",
                Algorithm::EdDsa,
                Some("k1"),
            ),
            ("a \"b\" \u{e4}", "http://127.0.0.1:1", Algorithm::Es384, Some("")),
        ];
        for (id, audience, algorithm, key_id) in table {
            let mut key = SigningKey::generate(algorithm).unwrap();
            if let Some(key_id) = key_id {
                key = key.with_key_id(key_id);
            }
            let client = ClientId::signing(id, key.clone());
            let made = || client_assertion(&client, audience, now).unwrap();
            let (one, two) = (made(), made());
            let token = Unverified::parse(&one).unwrap();
            assert_eq!((token.typ(), token.key_id()), (Some("JWT"), key_id));
            let mut claims: Value =
                token.verify(key.public_jwk(), algorithm).unwrap().decode().unwrap();
            let jti = claims["jti"].take();
            assert_eq!(jti.as_str().unwrap().len(), 43);
            let expected = json!({
                "iss": id, "sub": id, "aud": audience, "jti": null, "iat": 1_785_000_000, "exp": 1_785_000_120,
            });
            assert_eq!(claims, expected);
            let two: Value =
                serde_json::from_str(Unverified::parse(&two).unwrap().danger_claims()).unwrap();
            assert_ne!(two["jti"], jti);
        }
    }

    #[test]
    fn without_a_key() {
        let stored = serde_json::to_value(ClientId::signing(
            "id",
            SigningKey::generate(Algorithm::Es256).unwrap(),
        ));
        let stored = stored.unwrap();
        assert_eq!(stored, json!({ "id": "id", "method": "private_key_jwt" }));
        let client: ClientId = serde_json::from_value(stored).unwrap();
        let error = client_assertion(&client, "https://a", UNIX_EPOCH).unwrap_err();
        assert!(error.is_usage());
        assert_eq!(error.to_string(), "private_key_jwt wants a key, which the client has not");
    }
}
