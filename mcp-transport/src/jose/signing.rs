//! Signing.

use std::fmt;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaEncoding};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde::Serialize;
use serde_json::{Map, Value};

use super::jwk::{Curve, Material};
use super::{Algorithm, InvalidKey, Jwk, SignError, encode};

/// A private key and the one algorithm it signs by. Cheap to clone; never shown.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    algorithm: Algorithm,
    public: Jwk,
}

impl SigningKey {
    /// The first private key in PEM: PKCS#8 (`PRIVATE KEY`) of any kind, or PKCS#1 (`RSA PRIVATE KEY`). RSA keys have
    /// 2048 to 4096 bits, and EC keys hold their public half, as usual.
    ///
    /// The caller's bytes stay the caller's to erase; the key in memory is not erased when it is dropped.
    ///
    /// # Errors
    /// When there is none, it is encrypted or in SEC1 form (`EC PRIVATE KEY`), or it is no key for the algorithm.
    pub fn from_pem(algorithm: Algorithm, pem: &[u8]) -> Result<Self, InvalidKey> {
        // Whatever is wrong with the text, its error would show some of it.
        match PrivateKeyDer::from_pem_slice(pem).or(Err(InvalidKey::NoKey))? {
            PrivateKeyDer::Pkcs8(key) => Self::from_pkcs8(algorithm, key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => {
                let rsa = Rsa::new(algorithm, RsaKeyPair::from_der(key.secret_pkcs1_der()))?;
                Ok(Self::new(algorithm, Pair::Rsa(rsa)))
            }
            PrivateKeyDer::Sec1(_) => Err(InvalidKey::Sec1),
            _ => Err(InvalidKey::NoKey),
        }
    }

    /// The private key in PKCS#8, version 1 or 2, in DER.
    ///
    /// # Errors
    /// When it is no key for the algorithm.
    pub fn from_pkcs8(algorithm: Algorithm, der: &[u8]) -> Result<Self, InvalidKey> {
        let random = SystemRandom::new();
        let pair = match algorithm {
            Algorithm::Es256 | Algorithm::Es384 => {
                let pair = EcdsaKeyPair::from_pkcs8(ecdsa(algorithm), der, &random);
                Pair::Ecdsa(pair.map_err(|error| unfit(algorithm, error))?)
            }
            // The checked form takes only version 2, which holds the public key, and OpenSSL writes version 1.
            Algorithm::EdDsa => Pair::Ed25519(
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)
                    .map_err(|error| unfit(algorithm, error))?,
            ),
            _ => Pair::Rsa(Rsa::new(algorithm, RsaKeyPair::from_pkcs8(der))?),
        };
        Ok(Self::new(algorithm, pair))
    }

    /// A new random key, for ES256, ES384 or EdDSA.
    ///
    /// # Errors
    /// When the operating system has no randomness, or the algorithm is one of RSA's.
    pub fn generate(algorithm: Algorithm) -> Result<Self, InvalidKey> {
        let random = SystemRandom::new();
        let pkcs8 = match algorithm {
            Algorithm::Es256 | Algorithm::Es384 => {
                EcdsaKeyPair::generate_pkcs8(ecdsa(algorithm), &random)
            }
            Algorithm::EdDsa => Ed25519KeyPair::generate_pkcs8(&random),
            _ => return Err(InvalidKey::NotGenerated(algorithm)),
        };
        Self::from_pkcs8(algorithm, pkcs8.or(Err(InvalidKey::NoRandomness))?.as_ref())
    }

    /// Names the key: the member `kid` of its public half, and of the headers of what it signs.
    #[must_use]
    pub fn with_key_id(mut self, id: impl Into<String>) -> Self {
        self.public = Jwk::new(self.pair.public(self.algorithm), Some(id.into()));
        self
    }

    /// The algorithm it signs by.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The public half, with the key's id if it has one.
    #[must_use]
    pub fn public_jwk(&self) -> &Jwk {
        &self.public
    }

    /// Signs any bytes; the signature in the form that JWS has it.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let random = SystemRandom::new();
        let signature = match &*self.pair {
            Pair::Ecdsa(pair) => pair.sign(&random, message).map(|made| made.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(Rsa { pair, encoding }) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature).map(|()| signature)
            }
        };
        signature.or(Err(SignError::Failed))
    }

    /// Signs claims; the token in compact form.
    ///
    /// # Errors
    /// When the claims are no JSON object, or the operating system has no randomness.
    pub fn sign_jwt(&self, header: &Header, claims: &impl Serialize) -> Result<String, SignError> {
        let claims = serde_json::to_vec(claims).map_err(SignError::Claims)?;
        if !claims.starts_with(b"{") {
            return Err(SignError::Claims(serde::ser::Error::custom("something else")));
        }
        let mut members = header.0.clone();
        members.insert("alg".to_owned(), self.algorithm.as_str().into());
        if let Some(id) = self.public.key_id() {
            members.entry("kid").or_insert_with(|| id.into());
        }
        let header = Value::Object(members).to_string();
        let mut token = format!("{}.{}", encode(header), encode(claims));
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        token.push_str(&encode(signature));
        Ok(token)
    }

    fn new(algorithm: Algorithm, pair: Pair) -> Self {
        let public = Jwk::new(pair.public(algorithm), None);
        Self { pair: Arc::new(pair), algorithm, public }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("SigningKey");
        debug.field("algorithm", &self.algorithm).field("public", &self.public);
        debug.finish_non_exhaustive()
    }
}

/// The header of a token to be signed. The key adds `alg` and, if it has an id, `kid`.
#[derive(Clone, Debug, Default)]
pub struct Header(Map<String, Value>);

impl Header {
    /// A header with this `typ`, such as `JWT`.
    #[must_use]
    pub fn new(typ: &str) -> Self {
        Self::default().member("typ", typ)
    }

    /// Sets another member, such as `jwk` or `x5t#S256`.
    #[must_use]
    pub fn member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Rsa),
}

impl Pair {
    fn public(&self, algorithm: Algorithm) -> Material {
        match self {
            Self::Ecdsa(pair) => {
                let curve = if algorithm == Algorithm::Es256 { Curve::P256 } else { Curve::P384 };
                Material::Ec { curve, point: pair.public_key().as_ref().to_vec() }
            }
            Self::Ed25519(pair) => Material::Ed25519(pair.public_key().as_ref().to_vec()),
            Self::Rsa(rsa) => {
                let PublicKeyComponents { n, e } = rsa.pair.public().into();
                Material::Rsa { n, e }
            }
        }
    }
}

struct Rsa {
    pair: RsaKeyPair,
    encoding: &'static dyn RsaEncoding,
}

impl Rsa {
    fn new(
        algorithm: Algorithm,
        pair: Result<RsaKeyPair, ring::error::KeyRejected>,
    ) -> Result<Self, InvalidKey> {
        let encoding: &'static dyn RsaEncoding = match algorithm {
            Algorithm::Rs256 => &signature::RSA_PKCS1_SHA256,
            Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
            Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
            Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
            Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
            Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => {
                return Err(unfit(algorithm, "it is one of RSA"));
            }
        };
        Ok(Self { pair: pair.map_err(|error| unfit(algorithm, error))?, encoding })
    }
}

/// How ring signs by one of the two algorithms of ECDSA.
fn ecdsa(algorithm: Algorithm) -> &'static signature::EcdsaSigningAlgorithm {
    match algorithm {
        Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        _ => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
    }
}

fn unfit(
    algorithm: Algorithm,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> InvalidKey {
    InvalidKey::Unfit { algorithm, source: why.into() }
}
