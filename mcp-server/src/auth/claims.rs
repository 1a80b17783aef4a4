//! What tokens and introspections claim, and whether it is enough.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_transport::jose::NumericDate;
use mcp_types::JsonMap;
use serde::Deserialize;

use super::{Access, Presented, Scheme, TokenError};

/// The claims that are looked at (RFC 7519, section 4.1; RFC 9068, section 2.2; RFC 7662, section 2.2).
#[derive(Deserialize)]
pub(super) struct Claims {
    pub(super) iss: Option<String>,
    pub(super) exp: Option<NumericDate>,
    sub: Option<String>,
    aud: Option<Many>,
    nbf: Option<NumericDate>,
    iat: Option<NumericDate>,
    scope: Option<Many>,
    scp: Option<Many>,
    client_id: Option<String>,
    azp: Option<String>,
    cnf: Option<Confirmation>,
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Many {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
struct Confirmation {
    jkt: Option<String>,
}

/// What claims have to agree with.
pub(super) struct Agreed<'a> {
    pub(super) issuer: &'a str,
    /// What else names this server as an audience.
    pub(super) audiences: &'a [String],
    pub(super) skew: Duration,
    pub(super) presented: &'a Presented,
}

impl Claims {
    /// The access that they come to; `all` is what they were read of.
    ///
    /// # Errors
    /// When they are of another issuer, for another audience, not of this time, about nobody, or bound to a key that
    /// was not proven.
    pub(super) fn access(&self, agreed: &Agreed<'_>, all: JsonMap) -> Result<Access, TokenError> {
        let invalid = |why: &str| Err(TokenError::invalid(why));
        if self.iss.as_ref().is_some_and(|issuer| issuer != agreed.issuer) {
            return invalid("The token is of an issuer that is not trusted here");
        }
        if !self.is_for(agreed) {
            return invalid("The token is not for this server");
        }
        let now = agreed.presented.now();
        let at = |date: &NumericDate| UNIX_EPOCH.checked_add(Duration::from_secs(date.0));
        // What is beyond the range of the clock is never.
        let until = self.exp.as_ref().map(|exp| at(exp)?.checked_add(agreed.skew));
        if until.flatten().is_some_and(|until| until <= now) {
            return invalid("The token has expired");
        }
        let not_yet = |date: &Option<NumericDate>| {
            let from = date.as_ref().map(|date| at(date)?.checked_sub(agreed.skew));
            from.is_some_and(|from| from.is_none_or(|from| from > now))
        };
        if not_yet(&self.nbf) || not_yet(&self.iat) {
            return invalid("The token is of a time to come");
        }
        let key = self.cnf.as_ref().and_then(|cnf| cnf.jkt.as_deref());
        if key.is_some() && agreed.presented.scheme() == Scheme::Bearer {
            // RFC 9449, section 7.2: or else a stolen one would be good for whoever leaves the proof out.
            return invalid("The token is bound to a key and is not taken as a bearer token");
        }
        let client = self.client_id.as_deref().or(self.azp.as_deref());
        // One without a name would be the same as all others without one.
        let [subject, client] =
            [self.sub.as_deref(), client].map(|it| it.filter(|it| !it.is_empty()));
        let Some(subject) = subject.or(client) else {
            return invalid("The token names neither a subject nor a client");
        };
        let mut access = Access::new(agreed.issuer, subject).with_scopes(self.scopes());
        if let Some(client) = client {
            access = access.with_client_id(client);
        }
        if let Some(until) = until.flatten() {
            access = access.with_expiry(until);
        }
        if let Some(key) = key {
            access = access.with_key(key);
        }
        Ok(access.with_claims(all))
    }

    /// When it expires, as far as it is within the range of the clock.
    pub(super) fn expires_at(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.exp?.0))
    }

    fn is_for(&self, agreed: &Agreed<'_>) -> bool {
        let is_here = |audience: &str| {
            audience == agreed.presented.audience()
                || agreed.audiences.iter().any(|known| known == audience)
        };
        self.aud.iter().flat_map(Many::iter).any(is_here)
    }

    /// Of `scope`, or `scp` as some providers have it, in one text or in several.
    fn scopes(&self) -> impl Iterator<Item = &str> {
        let scopes = self.scope.iter().chain(&self.scp);
        scopes.flat_map(Many::iter).flat_map(str::split_ascii_whitespace)
    }
}

impl Many {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let list = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        };
        list.iter().map(String::as_str)
    }
}
