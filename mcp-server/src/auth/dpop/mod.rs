//! `Dpop`: tokens that are worth nothing without the key they are bound to.

mod nonces;
mod replays;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderName, HeaderValue};
use mcp_transport::auth::ProtectedResourceMetadata;
use mcp_transport::dpop::{Checked, DpopFault, Expected, check};
use mcp_transport::jose::{Algorithm, Thumbprint};

pub use nonces::NonceKey;

use nonces::Nonces;
use replays::{Claim, Replays};

use super::jwt::sentence;
use super::{Access, Presented, Scheme, TokenError, TokenVerifier, Verifying};

/// Around another verifier: takes tokens that are bound to a key together with a proof that the client holds it
/// (RFC 9449), so that a token that leaks is of no use.
///
/// A token comes as `Authorization: DPoP <token>`, and with it one header `DPoP` whose proof
///
/// - is signed by the key that the token is bound to, by one of the [algorithms](Self::algorithms);
/// - is for this method, for the resource identifier of the server, whatever `Host` says, and for this token;
/// - was made within the [window](Self::window), and has not been seen before by this instance;
/// - has a nonce of this server, where [nonces](Self::nonces) are asked for.
///
/// Tokens that are not bound are taken as bearer tokens as before, unless binding is [required](Self::required). Bound ones
/// never are.
///
/// ```
/// use mcp_server::auth::{Dpop, JwtVerifier, ResourceServer};
///
/// let issuer = "https://auth.example.com";
/// ResourceServer::new("https://mcp.example.com/mcp")
///     .authorization_server(issuer)
///     .verifier(Dpop::new(JwtVerifier::discover(issuer)).required());
/// ```
///
/// Web pages need [`Cors`](crate::Cors) that allows them the header `DPoP`, and `DPoP-Nonce` where nonces are used.
///
/// Proofs are remembered in this process. Of several instances each takes a proof once, so that the window, or
/// nonces, bound what a proof that leaks is good for.
pub struct Dpop {
    tokens: Arc<dyn TokenVerifier>,
    algorithms: Vec<Algorithm>,
    names: String,
    window: Duration,
    schemes: &'static [Scheme],
    nonces: Option<Nonces>,
    replays: Replays,
}

impl Dpop {
    /// 60 s: how far the clock of a client may lie from this one's, and how long its proof may be on its way.
    pub const WINDOW: Duration = Duration::from_secs(60);
    /// 5 min: proofs are remembered for twice as long.
    pub const MAX_WINDOW: Duration = Duration::from_secs(300);
    /// Proofs that are remembered, in up to 12 MiB; beyond it no more are taken until some have expired. Not configurable.
    pub const PROOFS: usize = 1 << 17;
    /// The same of one key, which leaves room for others: with the default window 273 requests a second. Not configurable.
    pub const PROOFS_PER_KEY: usize = Self::PROOFS / 4;
    /// 2 min: how long a nonce is handed out; it is good for as long again. Not configurable.
    pub const NONCE_TIME: Duration = Duration::from_secs(120);

    /// Takes the tokens that `tokens` takes.
    pub fn new(tokens: impl TokenVerifier) -> Self {
        let dpop = Self {
            tokens: Arc::new(tokens),
            algorithms: Vec::new(),
            names: String::new(),
            window: Self::WINDOW,
            schemes: &[Scheme::Dpop, Scheme::Bearer],
            nonces: None,
            replays: Replays::new(Self::PROOFS, Self::PROOFS_PER_KEY),
        };
        dpop.algorithms([Algorithm::Es256, Algorithm::EdDsa, Algorithm::Ps256, Algorithm::Rs256])
    }

    /// Takes no tokens but bound ones. Default is to take bearer tokens besides.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.schemes = &[Scheme::Dpop];
        self
    }

    /// The algorithms of proofs, as clients are told. Default are ES256, EdDSA, PS256 and RS256.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        let names: Vec<_> = self.algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
        self.names = names.join(" ");
        self
    }

    /// How far a proof's time may lie from now, before or behind it, up to [`MAX_WINDOW`](Self::MAX_WINDOW).
    /// Default is [`WINDOW`](Self::WINDOW).
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window.min(Self::MAX_WINDOW);
        self
    }

    /// Asks every client for a nonce of this server, so that nobody makes proofs for later. A client that has none is
    /// given one and comes again. Nothing is kept: whatever instance has the same key knows them again. Default
    /// is not to. RFC 9449, section 9.
    #[must_use]
    pub fn nonces(mut self, key: &NonceKey) -> Self {
        self.nonces = Some(Nonces::new(key, Self::NONCE_TIME));
        self
    }

    async fn judge(&self, presented: Presented) -> Result<Access, TokenError> {
        if presented.scheme() != Scheme::Dpop {
            let access = self.tokens.verify(presented).await?;
            return match access.key() {
                None => Ok(access),
                Some(_) => Err(TokenError::invalid(
                    "The token is bound to a key, and has to come with a proof",
                )),
            };
        }
        // Before the token, which may have to be asked about elsewhere.
        let proof = self.check(&presented)?;
        let access = self.tokens.verify(presented.clone()).await?;
        let bound = access.key().and_then(|key| Thumbprint::from_str(key).ok());
        match bound {
            Some(key) if key == proof.thumbprint => {}
            Some(_) => return Err(invalid("The proof is of another key than the token")),
            None => return Err(TokenError::invalid("The token is not bound to a key")),
        }
        // Last: only who has a good token can fill the memory.
        self.remember(&proof, &presented)?;
        Ok(self.with_nonce(access, &proof, &presented))
    }

    fn check(&self, presented: &Presented) -> Result<Checked, TokenError> {
        let head = presented.head();
        let mut proofs = head.headers.get_all(HEADER).iter();
        let proof = match (proofs.next(), proofs.next()) {
            (Some(proof), None) => proof.to_str().unwrap_or_default(),
            (None, _) => return Err(invalid("The request has no DPoP proof")),
            (Some(_), Some(_)) => return Err(invalid("The request has more than one DPoP proof")),
        };
        let now = seconds(presented);
        let nonces = self.nonces.as_ref().map(|nonces| nonces.good_at(now));
        let nonces: Vec<_> = nonces.iter().flatten().map(String::as_str).collect();
        let expected = Expected {
            method: head.method.as_str(),
            url: presented.audience(),
            access_token: Some(presented.token().as_str()),
            nonces: &nonces,
            algorithms: &self.algorithms,
            now,
            window: self.window,
        };
        check(proof, &expected).map_err(|fault| match (&fault, nonces.first()) {
            (DpopFault::Nonce, Some(nonce)) => {
                let wanted = TokenError::proof("use_dpop_nonce", sentence(&fault));
                nonce_header(nonce)
                    .into_iter()
                    .fold(wanted, |error, value| error.with_response_header(NONCE, value))
            }
            _ => invalid(sentence(&fault)),
        })
    }

    fn remember(&self, proof: &Checked, presented: &Presented) -> Result<(), TokenError> {
        let until = proof.issued_at.saturating_add(self.window.as_secs());
        let claim = self.replays.claim(proof.thumbprint, &proof.jti, until, seconds(presented));
        match claim {
            Claim::First => Ok(()),
            Claim::Seen => Err(invalid("The proof has been used before")),
            Claim::Full => {
                tracing::warn!("proofs of possession come faster than they can be remembered");
                Err(TokenError::unavailable(TokenError::RETRY_AFTER))
            }
        }
    }

    /// The next nonce in time, so that only the first request of a client is asked to come again.
    fn with_nonce(&self, access: Access, proof: &Checked, presented: &Presented) -> Access {
        let Some(nonces) = &self.nonces else { return access };
        let [current, _] = nonces.good_at(seconds(presented));
        match nonce_header(&current) {
            Some(value) if proof.nonce.as_ref() != Some(&current) => {
                access.with_response_header(NONCE, value)
            }
            _ => access,
        }
    }
}

impl TokenVerifier for Dpop {
    fn verify(&self, presented: Presented) -> Verifying<'_> {
        Box::pin(self.judge(presented))
    }

    fn schemes(&self) -> &[Scheme] {
        self.schemes
    }

    fn proof_algorithms(&self) -> Option<&str> {
        Some(&self.names)
    }

    fn describe(&self, metadata: &mut ProtectedResourceMetadata) {
        self.tokens.describe(metadata);
        let names = self.algorithms.iter().map(ToString::to_string).collect();
        metadata.dpop_signing_alg_values_supported = Some(names);
        if !self.schemes.contains(&Scheme::Bearer) {
            metadata.dpop_bound_access_tokens_required = Some(true);
        }
    }
}

impl fmt::Debug for Dpop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpop")
            .field("algorithms", &self.algorithms)
            .field("window", &self.window)
            .field("schemes", &self.schemes)
            .finish_non_exhaustive()
    }
}

fn invalid(why: impl Into<String>) -> TokenError {
    TokenError::proof("invalid_dpop_proof", why)
}

fn nonce_header(nonce: &str) -> Option<HeaderValue> {
    nonce.parse().ok()
}

fn seconds(presented: &Presented) -> u64 {
    presented.now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

const HEADER: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
