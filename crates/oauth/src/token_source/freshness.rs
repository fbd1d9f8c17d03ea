use crate::store::Tokens;

/// Freshness of an access token, by the lifetime that the authorization server named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Not due for a refresh, or of unknown lifetime.
    Fresh,
    /// Due for a refresh, but not expired.
    Due,
    Expired,
}

/// Time of the next refresh in Unix seconds: after 75 to 85 % of the lifetime.
///
/// `jitter`, from 0 to 1, spreads the refreshes of several processes. The lifetime begins with the
/// token request, or `now` if the clock has been set back since.
pub(super) fn refresh_time(tokens: &Tokens, jitter: f64, now: f64) -> Option<f64> {
    let end = tokens.expires_at?;
    let start = tokens.issued_at.filter(|start| *start <= now);
    let life = end - start.unwrap_or(now);
    Some(end - life.max(0.0) * (LATEST + (EARLIEST - LATEST) * jitter))
}

/// Remaining part of the lifetime at the time of a refresh.
const EARLIEST: f64 = 0.25;
const LATEST: f64 = 0.15;

/// Compares `now` with the expiry and with `refresh_time`.
pub(super) fn freshness(tokens: &Tokens, refresh_time: Option<f64>, now: f64) -> Freshness {
    if tokens.has_expired(now) {
        Freshness::Expired
    } else if refresh_time.is_some_and(|time| time <= now) {
        Freshness::Due
    } else {
        Freshness::Fresh
    }
}

#[cfg(test)]
mod tests {
    use super::{Freshness, freshness, refresh_time};
    use crate::Secret;
    use crate::store::Tokens;

    fn tokens(issued_at: Option<f64>, expires_at: Option<f64>) -> Tokens {
        Tokens {
            issued_at,
            expires_at,
            ..Tokens::new(Secret::new("a"))
        }
    }

    #[test]
    fn tokens_are_renewed_late_in_their_life_but_in_time() {
        let cases = [
            // Issued, expires, jitter, now, refresh.
            (Some(1000.0), Some(2000.0), 0.0, 1000.0, Some(1850.0)),
            (Some(1000.0), Some(2000.0), 1.0, 1000.0, Some(1750.0)),
            (Some(1000.0), Some(2000.0), 0.5, 1900.0, Some(1800.0)),
            // No time of issue, or the clock has been set back since.
            (None, Some(2000.0), 0.5, 1000.0, Some(1800.0)),
            (Some(5000.0), Some(6000.0), 0.5, 1000.0, Some(5000.0)),
            // Expired already.
            (None, Some(2000.0), 0.5, 3000.0, Some(2000.0)),
            // No expiry.
            (Some(1000.0), None, 0.5, 1000.0, None),
        ];
        for (issued_at, expires_at, jitter, now, expected) in cases {
            let found = refresh_time(&tokens(issued_at, expires_at), jitter, now);
            assert_eq!(
                found, expected,
                "{issued_at:?} {expires_at:?} {jitter} {now}"
            );
        }
    }

    #[test]
    fn tokens_are_fresh_then_due_then_ended() {
        let tokens = tokens(Some(1000.0), Some(2000.0));
        let cases = [
            (1000.0, Freshness::Fresh),
            (1799.0, Freshness::Fresh),
            (1800.0, Freshness::Due),
            (1999.0, Freshness::Due),
            (2000.0, Freshness::Expired),
        ];
        for (now, expected) in cases {
            assert_eq!(freshness(&tokens, Some(1800.0), now), expected, "{now}");
        }
        let endless = super::tests::tokens(Some(1000.0), None);
        assert_eq!(freshness(&endless, None, 9e9), Freshness::Fresh);
    }
}
