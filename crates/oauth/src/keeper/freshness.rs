use crate::store::Tokens;

/// Whether an access token is still good, as far as the authorization server said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It is, or nobody said when it ends.
    Fresh,
    /// It is, but not for long.
    Due,
    /// It is not.
    Ended,
}

/// When `tokens` are to be renewed, in Unix seconds: after about 80 % of their life.
///
/// `luck`, from 0 to 1, moves it by some percent, so that processes do not all come at once.
/// The life begins when the tokens were asked for, else `now`.
pub(super) fn renewal_time(tokens: &Tokens, luck: f64, now: f64) -> Option<f64> {
    let end = tokens.expires_at?;
    let start = tokens.issued_at.filter(|start| *start <= now);
    let life = end - start.unwrap_or(now);
    Some(end - life.max(0.0) * (LATEST + (EARLIEST - LATEST) * luck))
}

/// How much of the life is left at the time of the renewal.
const EARLIEST: f64 = 0.25;
const LATEST: f64 = 0.15;

/// Whether `tokens`, to be renewed at `renewal_time`, are still good.
pub(super) fn freshness(tokens: &Tokens, renewal_time: Option<f64>, now: f64) -> Freshness {
    if tokens.has_expired(now) {
        Freshness::Ended
    } else if renewal_time.is_some_and(|time| time <= now) {
        Freshness::Due
    } else {
        Freshness::Fresh
    }
}

#[cfg(test)]
mod tests {
    use super::{Freshness, freshness, renewal_time};
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
            // Issued, ends, luck, now, renewed.
            (Some(1000.0), Some(2000.0), 0.0, 1000.0, Some(1850.0)),
            (Some(1000.0), Some(2000.0), 1.0, 1000.0, Some(1750.0)),
            (Some(1000.0), Some(2000.0), 0.5, 1900.0, Some(1800.0)),
            // Nobody said when it was issued, or the clock has gone back since.
            (None, Some(2000.0), 0.5, 1000.0, Some(1800.0)),
            (Some(5000.0), Some(6000.0), 0.5, 1000.0, Some(5000.0)),
            // It has ended already.
            (None, Some(2000.0), 0.5, 3000.0, Some(2000.0)),
            // Nobody said when it ends.
            (Some(1000.0), None, 0.5, 1000.0, None),
        ];
        for (issued_at, expires_at, luck, now, expected) in cases {
            let found = renewal_time(&tokens(issued_at, expires_at), luck, now);
            assert_eq!(found, expected, "{issued_at:?} {expires_at:?} {luck} {now}");
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
            (2000.0, Freshness::Ended),
        ];
        for (now, expected) in cases {
            assert_eq!(freshness(&tokens, Some(1800.0), now), expected, "{now}");
        }
        let endless = super::tests::tokens(Some(1000.0), None);
        assert_eq!(freshness(&endless, None, 9e9), Freshness::Fresh);
    }
}
