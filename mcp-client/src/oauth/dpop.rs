//! Keys that tokens are bound to, and what proves to servers that the client has them. RFC 9449, DPoP.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_transport::auth::Challenge;
use mcp_transport::dpop::Proof;
use mcp_transport::jose::{Algorithm, SigningKey};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde::{Deserialize, Serialize};

use super::error::{Kind, OAuthError};
use super::secret::Secret;
use super::url::Url;
use crate::error::BoxError;

pub(crate) const DPOP: &str = "DPoP";
/// The algorithm of all proofs from here: the one that everybody knows.
pub(crate) const ALGORITHM: Algorithm = Algorithm::Es256;
const HEADER: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// The error of those who want a nonce in proofs. RFC 9449, section 8.
pub(crate) const USE_NONCE: &str = "use_dpop_nonce";

/// What tokens are bound to, or are to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) key: ProofKey,
    /// The server takes no tokens that are not bound.
    pub(crate) is_required: bool,
}

/// A key that tokens are bound to. It is stored with them: whoever starts anew could not use them without it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "Secret", try_from = "Secret")]
pub(crate) struct ProofKey {
    /// In PKCS#8 and base64.
    pkcs8: Secret,
    key: SigningKey,
}

impl ProofKey {
    /// # Errors
    /// When the system has no randomness.
    pub(crate) fn generate() -> Result<Self, OAuthError> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let pkcs8 = made
            .map_err(|_unspecified| OAuthError::new(Kind::Usage, "the system has no randomness"))?;
        Self::try_from(Secret::new(STANDARD.encode(pkcs8))).map_err(|error| {
            OAuthError::new(Kind::Usage, "a key that was made cannot be used").caused_by(error)
        })
    }

    /// The hash of its public half, by which others know it.
    pub(crate) fn thumbprint(&self) -> String {
        self.key.public_jwk().thumbprint().to_string()
    }

    /// Adds to a request to `url` the proof that the client has the key; `token` is what the request carries, if it
    /// carries one. Each is good for one request.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub(crate) fn prove(
        &self,
        headers: &mut HeaderMap,
        url: &str,
        token: Option<&Secret>,
        nonce: Option<&str>,
    ) -> Result<(), OAuthError> {
        let mut proof = Proof::new(&self.key, "POST", url);
        if let Some(token) = token {
            proof = proof.access_token(token.expose());
        }
        if let Some(nonce) = nonce {
            proof = proof.nonce(nonce);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let failed = |error: BoxError| {
            OAuthError::new(Kind::Usage, "the proof of a key cannot be made").caused_by(error)
        };
        let proof = proof.sign(now.as_secs()).map_err(|error| failed(error.into()))?;
        let mut value = HeaderValue::try_from(proof).map_err(|error| failed(error.into()))?;
        value.set_sensitive(true);
        headers.insert(HEADER, value);
        Ok(())
    }
}

impl TryFrom<Secret> for ProofKey {
    type Error = &'static str;

    fn try_from(pkcs8: Secret) -> Result<Self, Self::Error> {
        let der = STANDARD.decode(pkcs8.expose()).ok();
        let key = der.and_then(|der| SigningKey::from_pkcs8(ALGORITHM, &der).ok());
        Ok(Self { key: key.ok_or("a stored key cannot be read")?, pkcs8 })
    }
}

impl From<ProofKey> for Secret {
    fn from(key: ProofKey) -> Self {
        key.pkcs8
    }
}

impl PartialEq for ProofKey {
    fn eq(&self, other: &Self) -> bool {
        self.pkcs8 == other.pkcs8
    }
}

impl Eq for ProofKey {}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProofKey").field(&self.thumbprint()).finish()
    }
}

/// Whether a server that says this takes tokens that are bound.
pub(crate) fn is_offered(challenges: &[Challenge]) -> bool {
    challenges.iter().any(|challenge| challenge.is(DPOP))
}

/// Whether it takes no others.
pub(crate) fn is_required(challenges: &[Challenge]) -> bool {
    is_offered(challenges) && !challenges.iter().any(|challenge| challenge.is("Bearer"))
}

/// The last nonce of each origin, which the next proof to it has to have. RFC 9449, sections 8 and 9.
#[derive(Default)]
pub(crate) struct Nonces(Mutex<Vec<(String, String)>>);

impl Nonces {
    /// 8 origins are remembered: a server and its authorization server are two.
    const MOST: usize = 8;
    /// 1 KiB of a nonce: some put a sealed time there, and all that comes goes back with every request.
    const LONGEST: usize = 1024;

    /// The one that `url` wants to see, if it has sent one.
    pub(crate) fn of(&self, url: &str) -> Option<String> {
        let origin = Url::parse(url).ok()?.origin_key();
        let nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.iter().find(|(known, _)| *known == origin).map(|(_, nonce)| nonce.clone())
    }

    /// Remembers the one that an answer from `url` has; returns whether it has one.
    pub(crate) fn note(&self, url: &str, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|value| value.to_str().ok());
        let nonce = nonce.filter(|nonce| (1..=Self::LONGEST).contains(&nonce.len()));
        let (Some(nonce), Ok(url)) = (nonce, Url::parse(url)) else { return false };
        let origin = url.origin_key();
        let mut nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.retain(|(known, _)| *known != origin);
        nonces.truncate(Self::MOST - 1);
        nonces.insert(0, (origin, nonce.to_owned()));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcp_transport::dpop::{Expected, check};

    use super::*;

    #[test]
    fn a_key_comes_back_from_a_store_and_is_not_shown() {
        let key = ProofKey::generate().unwrap();
        let stored = serde_json::to_string(&key).unwrap();
        let back: ProofKey = serde_json::from_str(&stored).unwrap();
        assert_eq!(back, key);
        assert_eq!(back.thumbprint(), key.thumbprint());
        let shown = format!("{key:?} {:#?}", Binding { key: key.clone(), is_required: true });
        assert!(shown.contains(&key.thumbprint()) && !shown.contains(stored.trim_matches('"')));
        for other in ["\"\"", "\"AAAA\"", "\"\u{e4}\"", "7"] {
            assert!(serde_json::from_str::<ProofKey>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn proofs() {
        let key = ProofKey::generate().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (url, token) = ("https://mcp.example/mcp?a=b#c", Secret::from("token"));
        for (token, nonce) in [(None, None), (Some(&token), None), (Some(&token), Some("n"))] {
            let mut headers = HeaderMap::new();
            key.prove(&mut headers, url, token, nonce).unwrap();
            assert!(headers["dpop"].is_sensitive());
            let expected = Expected {
                method: "POST",
                url: "https://mcp.example/mcp",
                access_token: token.map(Secret::expose),
                nonces: &[],
                algorithms: &[Algorithm::Es256],
                now,
                window: Duration::from_secs(60),
            };
            let checked = check(headers["dpop"].to_str().unwrap(), &expected).unwrap();
            assert_eq!(checked.nonce.as_deref(), nonce);
            assert_eq!(checked.thumbprint.to_string(), key.thumbprint());
        }
    }

    #[test]
    fn nonces_are_those_of_an_origin() {
        let nonces = Nonces::default();
        let answer = |nonce: &str| HeaderMap::from_iter([(NONCE, nonce.parse().unwrap())]);
        assert!(nonces.note("https://a.example/token", &answer("one")));
        assert!(nonces.note("https://b.example/token", &answer("two")));
        assert!(nonces.note("https://B.example/other?x", &answer("three")));
        for none in ["", &"n".repeat(Nonces::LONGEST + 1)] {
            assert!(!nonces.note("https://a.example/", &answer(none)));
        }
        assert!(!nonces.note("https://a.example/", &HeaderMap::new()));
        let table = [
            ("https://a.example/mcp", Some("one")),
            ("https://b.example", Some("three")),
            ("http://a.example/mcp", None),
            ("https://a.example:8443/", None),
            ("no url", None),
        ];
        for (url, expected) in table {
            assert_eq!(nonces.of(url).as_deref(), expected, "{url}");
        }
        for n in 0..20 {
            nonces.note(&format!("https://h{n}.example/"), &answer("n"));
        }
        assert_eq!(nonces.0.lock().unwrap().len(), Nonces::MOST);
        assert_eq!(nonces.of("https://a.example/"), None);
    }

    #[test]
    fn what_challenges_ask_for() {
        let table: [(&[&str], bool, bool); 5] = [
            (&[], false, false),
            (&["Bearer"], false, false),
            (&["dpop"], true, true),
            (&["Bearer", "DPoP"], true, false),
            (&["DPoP", "Basic"], true, true),
        ];
        for (schemes, offered, required) in table {
            let challenges: Vec<_> = schemes.iter().map(|it| Challenge::new(*it)).collect();
            assert_eq!((is_offered(&challenges), is_required(&challenges)), (offered, required));
        }
    }
}
