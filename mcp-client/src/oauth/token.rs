//! `Tokens`: what the token endpoint gives.

use std::time::{Duration, SystemTime};

use mcp_transport::auth::Scopes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::secret::Secret;

/// An access token, and what came with it. RFC 6749, section 5.1.
///
/// Serialised it shows its secrets: whoever stores it protects the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// What is sent with every request.
    pub access_token: Secret,
    /// How it is sent: `Bearer`, whatever else a provider calls that, or `DPoP`.
    pub token_type: String,
    /// What gets the next one, where the provider gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// When it expires by this machine's clock, where the provider says so. In seconds since 1970 where it is stored.
    #[serde(default, with = "unix_time", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<SystemTime>,
    /// What it is good for, separated by spaces. Where the provider does not say so it is what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl Tokens {
    /// A token of the usual kind that is known from elsewhere.
    pub fn bearer(access_token: impl Into<Secret>) -> Self {
        Self {
            access_token: access_token.into(),
            token_type: BEARER.to_owned(),
            refresh_token: None,
            expires_at: None,
            scope: None,
        }
    }

    /// Whether it has expired, or will within `margin`. One that says nothing of it has not.
    pub fn expires_within(&self, margin: Duration) -> bool {
        let left = |at: SystemTime| at.duration_since(SystemTime::now()).unwrap_or_default();
        self.expires_at.is_some_and(|at| left(at) <= margin)
    }

    /// What it is good for, as far as the provider said.
    pub fn scopes(&self) -> Scopes {
        self.scope.as_deref().map(Scopes::parse).unwrap_or_default()
    }
}

pub(crate) const BEARER: &str = "Bearer";

/// A number of seconds: a whole one, one with a fraction, or one in a string. Less than none is none; what is no number
/// is not known.
pub(crate) fn seconds(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // More than all of it is cut to the largest number there is, by the conversion itself.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is what is meant: towards zero, and not below"
    )]
    number.is_finite().then_some(number as u64)
}

/// Seconds since 1970.
pub(crate) mod unix_time {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let since = time.map(|time| time.duration_since(UNIX_EPOCH).unwrap_or_default());
        since.map(|since| since.as_secs()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let seconds = Option::<u64>::deserialize(deserializer)?;
        Ok(seconds.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_margin() {
        let mut tokens = Tokens::bearer("a");
        assert!(!tokens.expires_within(Duration::MAX));
        let (now, hour) = (SystemTime::now(), Duration::from_secs(3600));
        let table = [
            (now - hour, Duration::ZERO, true),
            (SystemTime::UNIX_EPOCH, Duration::ZERO, true),
            (now, Duration::ZERO, true),
            (now + hour, Duration::ZERO, false),
            (now + hour, hour * 2, true),
            (now + hour, hour / 2, false),
            (now + hour, Duration::MAX, true),
        ];
        for (at, margin, expected) in table {
            tokens.expires_at = Some(at);
            assert_eq!(tokens.expires_within(margin), expected, "{at:?} {margin:?}");
        }
    }
}
