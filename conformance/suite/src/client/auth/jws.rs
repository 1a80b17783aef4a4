//! Keys, and tokens that are signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde_json::Value;

use crate::verdict::{Stop, Verdict};

/// A key for ES256.
pub(super) struct Key {
    /// PKCS #8, as PEM.
    pub(super) pem: String,
    public: Vec<u8>,
}

impl Key {
    pub(super) fn new() -> Verdict<Self> {
        let (random, no_key) =
            (SystemRandom::new(), |_unspecified| Stop::skip("there is no randomness here"));
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).map_err(no_key)?;
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random);
        let pair = pair.map_err(|error| Stop::skip(error.to_string()))?;
        let body = STANDARD.encode(document.as_ref());
        let lines = body.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            lines.join("\n")
        );
        Ok(Self { pem, public: pair.public_key().as_ref().to_vec() })
    }

    /// The header and the claims of a token that was signed with this key.
    pub(super) fn verified(&self, token: &str) -> Verdict<(Value, Value)> {
        let wrong =
            |why: &str| Stop::fail("a JWT that the key has signed", format!("{why}: {token}"));
        let parts = token.split('.').collect::<Vec<_>>();
        let [header, claims, signature] = &*parts else { return Err(wrong("not three parts")) };
        let bytes =
            |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|error| wrong(&error.to_string()));
        let signed = format!("{header}.{claims}");
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.public);
        let verified = key.verify(signed.as_bytes(), &bytes(signature)?);
        verified.map_err(|_unspecified| wrong("another signature"))?;
        let json = |part: &str| {
            serde_json::from_slice(&bytes(part)?).map_err(|error| wrong(&error.to_string()))
        };
        Ok((json(header)?, json(claims)?))
    }
}

/// What looks like a JWT with these claims. Nobody can have signed it.
pub(super) fn unsigned(claims: &Value) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let header = part(r#"{"alg":"ES256","typ":"JWT"}"#);
    format!("{header}.{}.{}", part(&claims.to_string()), URL_SAFE_NO_PAD.encode([7; 64]))
}
