//! Cache hints: for how long and for whom a result may be cached.
//!
//! Every result that may be kept says so in its members `ttlMs` and `cacheScope`. They are optional
//! here because a peer may leave them out, which means 0 and private; the results that we send have both.

use serde::{Deserialize, Deserializer, Serialize};

use crate::number::Number;

/// Scope in which a cached result may be shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheScope {
    /// Only within the authorization it was fetched with.
    #[default]
    Private,
    /// Any cache.
    Public,
}

/// Reads `ttlMs`: a negative number counts as 0, a fraction is cut off.
pub(crate) fn ttl_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    // The cast saturates, as it should: a lifetime that is too long for the type is the longest.
    Ok(number.map(|number| number.as_u64().unwrap_or(number.as_f64() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Cacheable {
        #[serde(default, deserialize_with = "ttl_ms")]
        ttl_ms: Option<u64>,
    }

    #[test]
    fn odd_times_to_live_are_read_as_the_nearest_that_is_allowed() {
        for (text, expect) in [
            (r"{}", None),
            (r#"{"ttl_ms":null}"#, None),
            (r#"{"ttl_ms":60000}"#, Some(60_000)),
            (r#"{"ttl_ms":6e4}"#, Some(60_000)),
            (r#"{"ttl_ms":1.9}"#, Some(1)),
            (r#"{"ttl_ms":-5}"#, Some(0)),
            (r#"{"ttl_ms":1e99}"#, Some(u64::MAX)),
        ] {
            let seen: Cacheable = serde_json::from_str(text).unwrap();
            assert_eq!(seen.ttl_ms, expect, "{text}");
        }
    }
}
