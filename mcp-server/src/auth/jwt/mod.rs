//! `JwtVerifier`: tokens that say themselves what they are good for, signed by their issuer.

mod discovery;
mod issuer;
mod keys;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_transport::jose::{Algorithm, Unverified};
use serde::Deserialize;

pub use issuer::Issuer;

use super::claims::{Agreed, Claims};
use super::fetch::{Fetch, HttpsFetch};
use super::{Access, Presented, TokenError, TokenVerifier, Verifying};

/// Verifies access tokens that are JWTs (RFC 9068, and what providers have made before it).
///
/// A token is taken if all of this is so:
///
/// - Its issuer is one of those given, compared as a string.
/// - It is signed by one of the [algorithms](Self::algorithms) with a key of that issuer.
/// - This server's resource identifier is among its audiences (`aud`), or [another name](Self::audience) that was agreed
///   on. There is no way around that: a token for another server must not be good here.
/// - It has not expired (`exp`, which it must have), and is not of the future (`nbf`, `iat`), give or take the
///   [skew](Self::skew).
/// - Its type is `at+jwt`, or else `JWT` or none, unless [`require_at_jwt`](Self::require_at_jwt) says otherwise.
/// - It is not bound to a key (`cnf.jkt`), unless it comes through [`Dpop`](super::Dpop).
///
/// Scopes are read of `scope` or `scp`; the subject of `sub`, or else the client; the client of `client_id` or `azp`.
///
/// ```
/// use mcp_server::auth::{JwtVerifier, ResourceServer};
///
/// let issuer = "https://auth.example.com";
/// ResourceServer::new("https://mcp.example.com/mcp")
///     .authorization_server(issuer)
///     .verifier(JwtVerifier::discover(issuer));
/// ```
pub struct JwtVerifier {
    issuers: Vec<Issuer>,
    algorithms: Vec<Algorithm>,
    audiences: Vec<String>,
    skew: Duration,
    only_at_jwt: bool,
    fetch: Arc<dyn Fetch>,
}

impl JwtVerifier {
    /// What is accepted by default: what providers sign by, each safe.
    pub const ALGORITHMS: [Algorithm; 4] =
        [Algorithm::Es256, Algorithm::Rs256, Algorithm::Ps256, Algorithm::EdDsa];
    /// 60 s: how far the clocks of two hosts may lie apart where somebody takes care of them.
    pub const SKEW: Duration = Duration::from_secs(60);
    /// 5 min: more would prolong the life of tokens that are made to be short-lived.
    pub const MAX_SKEW: Duration = Duration::from_secs(300);
    /// Keys that are tried for one token where its header does not tell them apart. Not configurable.
    pub const MAX_TRIES: usize = 8;

    /// Of tokens of `issuer`, whose keys are found through its metadata. See [`Issuer::discover`].
    pub fn discover(issuer: impl Into<String>) -> Self {
        Self::new(Issuer::discover(issuer))
    }

    /// Of tokens of `issuer`.
    pub fn new(issuer: Issuer) -> Self {
        Self {
            issuers: vec![issuer],
            algorithms: Self::ALGORITHMS.to_vec(),
            audiences: Vec::new(),
            skew: Self::SKEW,
            only_at_jwt: false,
            fetch: Arc::new(HttpsFetch::new()),
        }
    }

    /// Adds another issuer whose tokens are taken. The keys of one are not good for another.
    #[must_use]
    pub fn issuer(mut self, issuer: Issuer) -> Self {
        self.issuers.push(issuer);
        self
    }

    /// The only algorithms that are accepted. Default is [`ALGORITHMS`](Self::ALGORITHMS).
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Adds another name of this server as an audience, for providers that do not take resource identifiers but have
    /// names of their own, such as `api://notes`. No other server may have it. Default is the resource identifier alone.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// How far the issuer's clock may lie from this one's, up to [`MAX_SKEW`](Self::MAX_SKEW). Default is
    /// [`SKEW`](Self::SKEW).
    #[must_use]
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = skew.min(Self::MAX_SKEW);
        self
    }

    /// Takes tokens of the type `at+jwt` alone, so that no other token of the issuer can be mistaken for one. Default is
    /// to take `JWT` and none as well, which many providers write. RFC 9068, section 2.1.
    #[must_use]
    pub const fn require_at_jwt(mut self) -> Self {
        self.only_at_jwt = true;
        self
    }

    /// What fetches keys and metadata. Default is an [`HttpsFetch`].
    #[must_use]
    pub fn fetch(mut self, fetch: impl Fetch) -> Self {
        self.fetch = Arc::new(fetch);
        self
    }

    async fn judge(&self, presented: &Presented) -> Result<Access, TokenError> {
        let token = Unverified::parse(presented.token().as_str());
        let token = token.map_err(|error| TokenError::invalid(sentence(&error)))?;
        if !self.algorithms.contains(&token.algorithm()) {
            return Err(TokenError::invalid("The token's algorithm is not accepted"));
        }
        if !self.is_access_token(&token) {
            return Err(TokenError::invalid("The token is no access token by its type"));
        }
        let issuer = self.issuer_of(&token)?;
        let now = presented.now();
        let Some(verified) = issuer.verify(&token, &self.fetch, now).await? else {
            return Err(TokenError::invalid("The token is not signed by a key of its issuer"));
        };
        let malformed = |_| TokenError::invalid("The token's claims are not right");
        let claims: Claims = verified.decode().map_err(malformed)?;
        if claims.exp.is_none() {
            return Err(TokenError::invalid("The token has no expiry"));
        }
        let (issuer, audiences, skew) = (issuer.name(), &*self.audiences, self.skew);
        let agreed = Agreed { issuer, audiences, skew, presented };
        claims.access(&agreed, verified.decode().map_err(malformed)?)
    }

    fn is_access_token(&self, token: &Unverified<'_>) -> bool {
        let is_plain = token.typ().is_none() || token.is_typ("JWT");
        token.is_typ("at+jwt") || (!self.only_at_jwt && is_plain)
    }

    /// Whose keys to verify with. What nobody has vouched for yet chooses among issuers that all are trusted.
    fn issuer_of(&self, token: &Unverified<'_>) -> Result<&Issuer, TokenError> {
        #[derive(Deserialize)]
        struct Said {
            iss: String,
        }
        let said: Option<Said> = serde_json::from_str(token.danger_claims()).ok();
        let issuer = said.and_then(|said| self.issuers.iter().find(|one| one.name() == said.iss));
        let why = "The token is of an issuer that is not trusted here";
        issuer.ok_or_else(|| TokenError::invalid(why))
    }
}

impl TokenVerifier for JwtVerifier {
    fn verify(&self, presented: Presented) -> Verifying<'_> {
        Box::pin(async move { self.judge(&presented).await })
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let issuers: Vec<_> = self.issuers.iter().map(Issuer::name).collect();
        f.debug_struct("JwtVerifier")
            .field("issuers", &issuers)
            .field("algorithms", &self.algorithms)
            .finish_non_exhaustive()
    }
}

/// A clause as a sentence.
pub(super) fn sentence(clause: &impl fmt::Display) -> String {
    let mut text = clause.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
