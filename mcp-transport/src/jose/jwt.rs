//! Tokens that came from elsewhere.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;

use super::{Algorithm, InvalidJwt, Jwk, decode};
use crate::json::{Object, decode_string};
use crate::limits::{MAX_JOSE_HEADER, MAX_JWT};
use crate::quote;

/// A well formed token that nobody has vouched for yet.
///
/// What its header says is good for choosing a key, and for nothing else. Its `Debug` form shows neither the token nor
/// its claims.
pub struct Unverified<'a> {
    /// Header and claims as they were signed.
    signed: &'a str,
    signature: Vec<u8>,
    algorithm: Algorithm,
    typ: Option<Box<str>>,
    key_id: Option<Box<str>>,
    jwk: Option<Jwk>,
    claims: String,
}

impl<'a> Unverified<'a> {
    /// Reads a token in compact form (RFC 7515, section 7.1) whose claims are a JSON object.
    ///
    /// # Errors
    /// When it is longer than [`MAX_JWT`], or its header than [`MAX_JOSE_HEADER`]; is no strict base64url or
    /// JSON; has a member of header or claims twice; is signed by no [`Algorithm`]; or has critical extensions (`crit`),
    /// since none is understood, unencoded payloads (`b64`) neither.
    pub fn parse(token: &'a str) -> Result<Self, InvalidJwt> {
        if token.len() > MAX_JWT {
            return Err(InvalidJwt::Long);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(InvalidJwt::NotCompact)?;
        let (header, claims) = signed.split_once('.').ok_or(InvalidJwt::NotCompact)?;
        if header.len() > MAX_JOSE_HEADER.div_ceil(3) * 4 {
            return Err(InvalidJwt::LongHeader);
        }
        let (header, claims) = (text(header)?, text(claims)?);
        let signature = decode(signature).ok_or(InvalidJwt::NotCompact)?;
        let header = Object::parse(&header).map_err(InvalidJwt::Header)?;
        Object::parse(&claims).map_err(InvalidJwt::Claims)?;
        if header.get("crit").is_some() {
            return Err(InvalidJwt::Critical);
        }
        let algorithm = string(&header, "alg")?.ok_or(InvalidJwt::Member("alg"))?;
        Ok(Self {
            signed,
            signature,
            algorithm: Algorithm::from_name(&algorithm)
                .ok_or_else(|| InvalidJwt::Algorithm(quote(&algorithm)))?,
            typ: string(&header, "typ")?.map(Into::into),
            key_id: string(&header, "kid")?.map(Into::into),
            jwk: header.get("jwk").map(Jwk::parse).transpose().map_err(InvalidJwt::Jwk)?,
            claims,
        })
    }

    /// The algorithm that it claims to be signed by. Accept it only out of a list made beforehand.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The member `kid` of the header.
    #[must_use]
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// The member `jwk` of the header: a key that the token brings along, which proves no more than that its sender
    /// has it.
    #[must_use]
    pub fn jwk(&self) -> Option<&Jwk> {
        self.jwk.as_ref()
    }

    /// The member `typ` of the header.
    #[must_use]
    pub fn typ(&self) -> Option<&str> {
        self.typ.as_deref()
    }

    /// Whether it is declared to be of this type: a media type, compared without case and without the `application/` that
    /// may stand before it (RFC 7515, section 4.1.9).
    #[must_use]
    pub fn is_typ(&self, expected: &str) -> bool {
        const PREFIX: &str = "application/";
        self.typ().is_some_and(|typ| {
            let prefixed = typ.split_at_checked(PREFIX.len());
            let bare = prefixed.filter(|(prefix, _)| prefix.eq_ignore_ascii_case(PREFIX));
            bare.map_or(typ, |(_, bare)| bare).eq_ignore_ascii_case(expected)
        })
    }

    /// The claims before anything has been verified, in JSON: for finding out whose keys to verify with.
    #[must_use]
    pub fn danger_claims(&self) -> &str {
        &self.claims
    }

    /// Verifies the signature with this key, by this algorithm. May be tried with several keys.
    ///
    /// # Errors
    /// When the token claims another algorithm, the key does not [fit](Jwk::fits) it, or the signature is
    /// wrong.
    pub fn verify(&self, key: &Jwk, algorithm: Algorithm) -> Result<Verified<'_>, InvalidJwt> {
        if self.algorithm != algorithm {
            return Err(InvalidJwt::OtherAlgorithm(algorithm));
        }
        key.verify(algorithm, self.signed.as_bytes(), &self.signature)?;
        Ok(Verified(self))
    }
}

impl fmt::Debug for Unverified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unverified")
            .field("algorithm", &self.algorithm)
            .field("typ", &self.typ)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// A token whose signature has been verified: the proof that its claims are those of the owner of the key.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a>(&'a Unverified<'a>);

impl<'a> Verified<'a> {
    /// The claims, a JSON object without a repeated member.
    #[must_use]
    pub fn claims(&self) -> &'a str {
        &self.0.claims
    }

    /// The claims as a type.
    ///
    /// # Errors
    /// When they do not fit it.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.claims())
    }
}

fn text(part: &str) -> Result<String, InvalidJwt> {
    let bytes = decode(part).ok_or(InvalidJwt::NotCompact)?;
    String::from_utf8(bytes).or(Err(InvalidJwt::NotUtf8))
}

fn string<'h>(header: &Object<'h>, name: &'static str) -> Result<Option<Cow<'h, str>>, InvalidJwt> {
    let value = header.get(name);
    value.map(|raw| decode_string(raw).ok_or(InvalidJwt::Member(name))).transpose()
}

/// Any text is read without panicking, and none verifies with a key that has signed nothing.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_jwt(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Ok(token) = Unverified::parse(text) {
        let verified = token.jwk().map(|key| token.verify(key, token.algorithm()));
        assert!(!matches!(verified, Some(Err(InvalidJwt::OtherAlgorithm(_)))));
    }
    if let Ok(key) = Jwk::parse(text) {
        let again = serde_json::to_string(&key).expect("a key is JSON");
        assert_eq!(Jwk::parse(&again).expect("what is written can be read"), key);
    }
    drop(super::JwkSet::parse(text));
}
