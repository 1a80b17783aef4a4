//! How long a result stays fresh, and for whom. Specification: Caching.

use serde::{Deserialize, Deserializer, Serialize};

use crate::Number;
use crate::object::Lenient;

/// What a server says about keeping a result.
///
/// It can be read by itself from the JSON of a result, whatever else is in there.
///
/// Specification: Caching, Cacheable Model; schema `CacheableResult`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHint {
    /// For how many milliseconds after its arrival the result is fresh; 0 is stale at once.
    #[serde(default, deserialize_with = "ttl_ms")]
    pub ttl_ms: u64,
    /// Who may be served from the cache.
    #[serde(default, deserialize_with = "cache_scope")]
    pub cache_scope: CacheScope,
}

/// Who may be served a cached result. Specification: Caching, Cache Scope Field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it; what is unknown is private")]
pub enum CacheScope {
    /// Anyone: nothing in it depends on who asked.
    Public,
    /// Only requests of the same authorization context.
    #[default]
    Private,
}

/// A result that says how long it stays fresh. Specification: Caching, Cacheable Results.
pub trait Cacheable {
    /// What it says.
    fn cache_hint(&self) -> CacheHint;
    /// Makes it say `hint`.
    fn set_cache_hint(&mut self, hint: CacheHint);
}

/// Implements [`Cacheable`] for types with the fields `ttl_ms` and `cache_scope`.
macro_rules! cacheable {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::Cacheable for $type {
            fn cache_hint(&self) -> $crate::CacheHint {
                $crate::CacheHint { ttl_ms: self.ttl_ms, cache_scope: self.cache_scope }
            }
            fn set_cache_hint(&mut self, hint: $crate::CacheHint) {
                self.ttl_ms = hint.ttl_ms;
                self.cache_scope = hint.cache_scope;
            }
        }
    )+};
}
pub(crate) use cacheable;

/// Reads a `ttlMs`: an integer from 0 to `u64::MAX`, however written (`300000`, `3e5`). All else is 0,
/// because a hint that makes no sense should not keep a result.
pub(crate) fn ttl_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = Lenient::<Number>::deserialize(deserializer)?.0;
    Ok(number.and_then(Number::as_u64).unwrap_or(0))
}

/// Reads a `cacheScope`: all but `"public"` is private, the side on which an error does no harm.
pub(crate) fn cache_scope<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<CacheScope, D::Error> {
    Lenient::deserialize(deserializer).map(|scope| scope.0.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_that_makes_no_sense_is_zero() {
        let table = [
            ("300000", 300_000),
            ("0", 0),
            ("3e5", 300_000),
            ("300000.0", 300_000),
            ("18446744073709551615", u64::MAX),
            ("18446744073709551616", 0),
            ("1e999", 0),
            ("-1", 0),
            ("0.5", 0),
            (r#""5""#, 0),
            ("null", 0),
            ("true", 0),
            ("[1]", 0),
            (r#"{"a":1}"#, 0),
        ];
        for (ttl, expected) in table {
            let text = format!(r#"{{"tools":[],"ttlMs":{ttl},"cacheScope":"public"}}"#);
            let hint: CacheHint = serde_json::from_str(&text).unwrap();
            assert_eq!(hint, CacheHint { ttl_ms: expected, cache_scope: CacheScope::Public });
        }
    }

    #[test]
    fn a_scope_that_makes_no_sense_is_private() {
        for scope in [r#""private""#, r#""Public""#, r#""shared""#, "null", "1", "{}"] {
            let text = format!(r#"{{"cacheScope":{scope}}}"#);
            let hint: CacheHint = serde_json::from_str(&text).unwrap();
            assert_eq!(hint, CacheHint::default(), "{scope}");
        }
        assert_eq!(
            serde_json::to_string(&CacheHint::default()).unwrap(),
            r#"{"ttlMs":0,"cacheScope":"private"}"#
        );
    }
}
