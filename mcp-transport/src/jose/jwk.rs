//! Public keys in JSON.

use std::fmt;

use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::de::IgnoredAny;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Algorithm, InvalidJwk, InvalidJwt, Thumbprint, decode, encode};

/// A public key in JSON (RFC 7517): EC on P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits.
///
/// One that holds its private half, as no published key may, is an error rather than a key. Members not named
/// here, certificates among them, are ignored. Coordinates have their full length and the numbers of RSA no leading
/// zero, as RFC 7518 demands; whether a point is on its curve shows when it is verified with.
#[derive(Clone, PartialEq, Eq)]
pub struct Jwk {
    material: Material,
    id: Option<String>,
    algorithm: Option<String>,
    usage: Option<String>,
    operations: Option<Vec<String>>,
}

impl Jwk {
    /// Reads a key.
    ///
    /// # Errors
    /// When it is malformed, of another kind, too small or too large, or private.
    pub fn parse(text: &str) -> Result<Self, InvalidJwk> {
        serde_json::from_str::<Wire>(text).map_err(InvalidJwk::Malformed)?.try_into()
    }

    /// The member `kid`, by which the issuer names the key.
    #[must_use]
    pub fn key_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether signatures by the algorithm can be verified with the key: it has the right kind and curve, and its
    /// members `alg`, `use` and `key_ops`, where it has them, say so too.
    #[must_use]
    pub fn fits(&self, algorithm: Algorithm) -> bool {
        let is_meant =
            |name: &String| Algorithm::from_name(name).is_some_and(|meant| meant == algorithm);
        self.algorithm.as_ref().is_none_or(is_meant)
            && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.operations.as_ref().is_none_or(|list| list.iter().any(|one| one == "verify"))
            && self.material.verifier(algorithm).is_some()
    }

    /// Verifies a signature in the form that JWS has it: of ECDSA the two numbers side by side, not DER.
    ///
    /// # Errors
    /// When the key does not [fit](Self::fits), or the signature is not the key's over the message.
    pub fn verify(
        &self,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidJwt> {
        let verifier = self.material.verifier(algorithm).filter(|_| self.fits(algorithm));
        let verified = match verifier.ok_or(InvalidJwt::Unfit(algorithm))? {
            Verifier::Point(kind, key) => {
                UnparsedPublicKey::new(kind, key).verify(message, signature)
            }
            Verifier::Rsa(parameters, key) => key.verify(parameters, message, signature),
        };
        // What ring says is that it failed.
        verified.or(Err(InvalidJwt::Signature))
    }

    /// What the key is recognised by, however it is named (RFC 7638).
    #[must_use]
    pub fn thumbprint(&self) -> Thumbprint {
        // The hash is over the members in the order of their names.
        Thumbprint::of(&match &self.material {
            Material::Ec { curve, point } => {
                let (x, y) = curve.coordinates(point);
                let (crv, x, y) = (curve.name(), encode(x), encode(y));
                format!(r#"{{"crv":"{crv}","kty":"EC","x":"{x}","y":"{y}"}}"#)
            }
            Material::Ed25519(key) => {
                format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, encode(key))
            }
            Material::Rsa { n, e } => {
                format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(e), encode(n))
            }
        })
    }

    pub(super) fn new(material: Material, id: Option<String>) -> Self {
        Self { material, id, algorithm: None, usage: None, operations: None }
    }
}

impl fmt::Debug for Jwk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Jwk");
        debug.field("thumbprint", &self.thumbprint()).field("id", &self.id);
        debug.finish_non_exhaustive()
    }
}

impl<'de> Deserialize<'de> for Jwk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Jwk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        match &self.material {
            Material::Ec { curve, point } => {
                let (x, y) = curve.coordinates(point);
                members.serialize_entry("kty", "EC")?;
                members.serialize_entry("crv", curve.name())?;
                members.serialize_entry("x", &encode(x))?;
                members.serialize_entry("y", &encode(y))?;
            }
            Material::Ed25519(key) => {
                members.serialize_entry("kty", "OKP")?;
                members.serialize_entry("crv", "Ed25519")?;
                members.serialize_entry("x", &encode(key))?;
            }
            Material::Rsa { n, e } => {
                members.serialize_entry("kty", "RSA")?;
                members.serialize_entry("n", &encode(n))?;
                members.serialize_entry("e", &encode(e))?;
            }
        }
        let texts = [("kid", &self.id), ("alg", &self.algorithm), ("use", &self.usage)];
        for (name, text) in texts {
            if let Some(text) = text {
                members.serialize_entry(name, text)?;
            }
        }
        if let Some(operations) = &self.operations {
            members.serialize_entry("key_ops", operations)?;
        }
        members.end()
    }
}

/// The key itself.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Material {
    /// Uncompressed, as SEC 1 has it: a four and the two coordinates.
    Ec {
        curve: Curve,
        point: Vec<u8>,
    },
    Ed25519(Vec<u8>),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
}

enum Verifier<'a> {
    Point(&'static dyn VerificationAlgorithm, &'a [u8]),
    Rsa(&'static signature::RsaParameters, RsaPublicKeyComponents<&'a [u8]>),
}

impl Material {
    /// How ring verifies the algorithm with this key, if it can be.
    fn verifier(&self, algorithm: Algorithm) -> Option<Verifier<'_>> {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        Some(match (self, algorithm) {
            (Self::Ec { curve: Curve::P256, point }, Es256) => {
                Verifier::Point(&signature::ECDSA_P256_SHA256_FIXED, point)
            }
            (Self::Ec { curve: Curve::P384, point }, Es384) => {
                Verifier::Point(&signature::ECDSA_P384_SHA384_FIXED, point)
            }
            (Self::Ed25519(key), EdDsa) => Verifier::Point(&signature::ED25519, key),
            (Self::Rsa { n, e }, algorithm) => {
                let parameters = match algorithm {
                    Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    Es256 | Es384 | EdDsa => return None,
                };
                Verifier::Rsa(parameters, RsaPublicKeyComponents { n, e })
            }
            _ => return None,
        })
    }
}

impl Curve {
    const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
        }
    }

    /// Bytes of a coordinate.
    const fn width(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }

    /// The two halves behind the four.
    fn coordinates(self, point: &[u8]) -> (&[u8], &[u8]) {
        let coordinates = point.get(1..).unwrap_or_default();
        coordinates.split_at_checked(self.width()).unwrap_or_default()
    }
}

/// What is read of a key. Names that it repeats are refused by what serde derives.
#[derive(Deserialize)]
struct Wire {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    // All that is private or secret in any kind of key.
    d: Option<IgnoredAny>,
    p: Option<IgnoredAny>,
    q: Option<IgnoredAny>,
    dp: Option<IgnoredAny>,
    dq: Option<IgnoredAny>,
    qi: Option<IgnoredAny>,
    oth: Option<IgnoredAny>,
    k: Option<IgnoredAny>,
}

impl Wire {
    fn is_private(&self) -> bool {
        let private = [&self.d, &self.p, &self.q, &self.dp, &self.dq, &self.qi, &self.oth, &self.k];
        private.into_iter().any(Option::is_some)
    }

    fn material(&self) -> Result<Material, InvalidJwk> {
        match (&*self.kty, self.crv.as_deref()) {
            ("EC", Some("P-256")) => self.point(Curve::P256),
            ("EC", Some("P-384")) => self.point(Curve::P384),
            ("OKP", Some("Ed25519")) => Ok(Material::Ed25519(bytes("x", &self.x, 32)?)),
            ("RSA", _) => self.rsa(),
            _ => Err(InvalidJwk::Unsupported),
        }
    }

    fn point(&self, curve: Curve) -> Result<Material, InvalidJwk> {
        let mut point = vec![4];
        point.extend(bytes("x", &self.x, curve.width())?);
        point.extend(bytes("y", &self.y, curve.width())?);
        Ok(Material::Ec { curve, point })
    }

    fn rsa(&self) -> Result<Material, InvalidJwk> {
        let (n, e) = (number("n", &self.n)?, number("e", &self.e)?);
        let unused = n.first().map_or(0, |first| first.leading_zeros() as usize);
        if !(MIN_RSA_BITS..=MAX_RSA_BITS).contains(&(n.len() * 8 - unused)) {
            return Err(InvalidJwk::Size);
        }
        if e.len() > MAX_EXPONENT {
            return Err(InvalidJwk::Member("e"));
        }
        Ok(Material::Rsa { n, e })
    }
}

impl TryFrom<Wire> for Jwk {
    type Error = InvalidJwk;

    fn try_from(wire: Wire) -> Result<Self, InvalidJwk> {
        if wire.is_private() {
            return Err(InvalidJwk::Private);
        }
        Ok(Self {
            material: wire.material()?,
            id: wire.kid,
            algorithm: wire.alg,
            usage: wire.usage,
            operations: wire.key_ops,
        })
    }
}

fn bytes(name: &'static str, text: &Option<String>, length: usize) -> Result<Vec<u8>, InvalidJwk> {
    let bytes = text.as_deref().and_then(decode).filter(|bytes| bytes.len() == length);
    bytes.ok_or(InvalidJwk::Member(name))
}

/// A positive number in as few bytes as it takes.
fn number(name: &'static str, text: &Option<String>) -> Result<Vec<u8>, InvalidJwk> {
    let bytes = text.as_deref().and_then(decode);
    let bytes = bytes.filter(|bytes| bytes.first().is_some_and(|first| *first != 0));
    bytes.ok_or(InvalidJwk::Member(name))
}

/// Below, RSA is not safe any more; a key of 1024 bits has been within reach for years.
const MIN_RSA_BITS: usize = 2048;

/// Above, verifying would cost a peer's choice of time.
const MAX_RSA_BITS: usize = 8192;

/// Bytes of an exponent: ring takes up to 33 bits, and everybody uses 65537.
const MAX_EXPONENT: usize = 5;
