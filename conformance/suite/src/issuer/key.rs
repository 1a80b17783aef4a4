//! Keys, and JWTs that they sign: ES256 alone.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde_json::{Value, json};

/// A pair of keys.
pub(crate) struct Key {
    pair: EcdsaKeyPair,
    id: String,
}

/// The key of RFC 7515, appendix A.3. It is no secret, and nothing but tests may trust it.
const WELL_KNOWN: [&str; 3] = [
    "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
];

impl Key {
    /// The one that everybody knows.
    pub(crate) fn well_known() -> Self {
        let [private, x, y] = WELL_KNOWN.map(|part| BASE64.decode(part).expect("it is base64"));
        let public = [&[4], &*x, &*y].concat();
        let random = SystemRandom::new();
        let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair =
            EcdsaKeyPair::from_private_key_and_public_key(signing, &private, &public, &random);
        Self { pair: pair.expect("it is a key"), id: "mcp-conformance".to_owned() }
    }

    /// One that nobody else has, under the name of the other.
    pub(crate) fn random() -> Self {
        let random = SystemRandom::new();
        let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(signing, &random).expect("there is randomness");
        let pair = EcdsaKeyPair::from_pkcs8(signing, made.as_ref(), &random);
        Self { pair: pair.expect("it was just made"), id: Self::well_known().id }
    }

    /// Signs `claims`. The header has `alg` and `kid` besides what is given; null takes one out.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let header = merged(json!({ "alg": "ES256", "kid": self.id }), header);
        let text = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        format!("{text}.{}", encoded(signature.expect("there is randomness")))
    }

    /// Header and claims of a token that this key has signed.
    pub(crate) fn open(&self, token: &str) -> Option<(Value, Value)> {
        let (text, signature) = token.rsplit_once('.')?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        public.verify(text.as_bytes(), &BASE64.decode(signature).ok()?).ok()?;
        let (header, claims) = text.split_once('.')?;
        Some((decoded(header)?, decoded(claims)?))
    }

    /// The public part, as a JWK.
    pub(crate) fn jwk(&self) -> Value {
        let (x, y) = self.point();
        json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y })
    }

    /// The same with all that a set of keys says of one.
    pub(crate) fn listed(&self) -> Value {
        merged(self.jwk(), &json!({ "kid": self.id, "alg": "ES256", "use": "sig" }))
    }

    /// The thumbprint by which tokens are bound to it (RFC 7638).
    pub(crate) fn thumbprint(&self) -> String {
        let (x, y) = self.point();
        hashed(format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#))
    }

    /// The public part as PEM, which is a text like any other to who takes it for a shared secret.
    pub(crate) fn pem(&self) -> String {
        let prefix = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE";
        let point = self.pair.public_key().as_ref().get(1..).unwrap_or_default();
        let body = format!("{prefix}{}", base64::engine::general_purpose::STANDARD.encode(point));
        let (first, second) = body.split_at(64);
        format!("-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----\n")
    }

    fn point(&self) -> (String, String) {
        let point = self.pair.public_key().as_ref().get(1..).unwrap_or_default();
        let (x, y) = point.split_at(point.len() / 2);
        (encoded(x), encoded(y))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// `object` with the members of `more` in it; null takes one out.
pub(crate) fn merged(mut object: Value, more: &Value) -> Value {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
        object.retain(|_, value| !value.is_null());
    }
    object
}

/// As parts of a JWT are written.
pub(crate) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64.encode(bytes)
}

/// A part of a JWT that is JSON.
pub(crate) fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&BASE64.decode(part).ok()?).ok()
}

/// SHA-256, as it is written in JWTs.
pub(crate) fn hashed(bytes: impl AsRef<[u8]>) -> String {
    encoded(digest(&SHA256, bytes.as_ref()))
}

/// A text that was not there before.
pub(crate) fn unique() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).expect("there is randomness");
    encoded(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_opened() {
        let key = Key::well_known();
        let token = key.sign(&json!({ "typ": "at+jwt" }), &json!({ "iss": "x" }));
        let (header, claims) = key.open(&token).unwrap();
        assert_eq!(header, json!({ "alg": "ES256", "kid": "mcp-conformance", "typ": "at+jwt" }));
        assert_eq!(claims, json!({ "iss": "x" }));
        assert!(Key::random().open(&token).is_none());
        assert!(key.open(token.trim_end_matches(|it| it != '.')).is_none());
    }

    #[test]
    fn public_parts() {
        let key = Key::well_known();
        assert_eq!(key.jwk()["x"], WELL_KNOWN[1]);
        assert_eq!(key.jwk()["y"], WELL_KNOWN[2]);
        // As openssl writes them, the second line is what is left of 124 characters.
        assert_eq!(key.pem().lines().map(str::len).collect::<Vec<_>>(), [26, 64, 60, 24]);
        assert_eq!(key.thumbprint().len(), 43);
    }
}
