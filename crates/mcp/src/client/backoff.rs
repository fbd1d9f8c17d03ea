use std::time::Duration;

/// Exponential back-off: the delay doubles with each attempt, up to a maximum, with jitter.
///
/// Half of each delay is fixed and half is random, so that clients that lost a server together do
/// not reconnect together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backoff {
    /// Upper bound of the first delay.
    pub first: Duration,
    /// Upper bound of all delays.
    pub cap: Duration,
}

impl Backoff {
    /// Makes a back-off with these bounds of the first delay and of all delays.
    #[must_use]
    pub const fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap }
    }

    /// Returns the delay before attempt number `attempt`, which counts from 0.
    pub(crate) fn delay(self, attempt: u32) -> Duration {
        let mut bytes = [0; 4];
        // Without randomness every delay is the longest, which is safe.
        let random = getrandom::fill(&mut bytes).map_or(u32::MAX, |()| u32::from_ne_bytes(bytes));
        self.jittered(attempt, random)
    }

    /// Returns the delay for a random number: 0 gives the shortest, the largest the longest.
    fn jittered(self, attempt: u32, random: u32) -> Duration {
        let factor = 2_u32.checked_pow(attempt).unwrap_or(u32::MAX);
        let longest = self.first.saturating_mul(factor).min(self.cap);
        let half = longest / 2;
        half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_at_most_half_is_random() {
        let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
        for (attempt, longest_ms) in [(0, 500), (1, 1000), (5, 16_000), (6, 30_000), (99, 30_000)] {
            let longest = Duration::from_millis(longest_ms);
            assert_eq!(backoff.jittered(attempt, 0), longest / 2, "{attempt}");
            assert_eq!(backoff.jittered(attempt, u32::MAX), longest, "{attempt}");
        }
    }
}
