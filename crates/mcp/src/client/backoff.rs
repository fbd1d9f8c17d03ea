use std::time::Duration;

/// How long to wait between attempts: twice as long each time, up to a cap, with jitter.
///
/// Half of each wait is fixed and half is random, so that clients that lost a server together do
/// not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The longest first wait.
    pub first: Duration,
    /// The longest wait of all.
    pub cap: Duration,
}

impl Backoff {
    /// How long to wait before attempt number `attempt`, which counts from 0.
    pub(crate) fn delay(self, attempt: u32) -> Duration {
        let mut bytes = [0; 4];
        // Without randomness every wait is the longest, which is safe.
        let random = getrandom::fill(&mut bytes).map_or(u32::MAX, |()| u32::from_ne_bytes(bytes));
        self.jittered(attempt, random)
    }

    /// The delay for a given random number: 0 gives the shortest, the largest the longest.
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
        let backoff = Backoff {
            first: Duration::from_millis(500),
            cap: Duration::from_secs(30),
        };
        for (attempt, longest_ms) in [(0, 500), (1, 1000), (5, 16_000), (6, 30_000), (99, 30_000)] {
            let longest = Duration::from_millis(longest_ms);
            assert_eq!(backoff.jittered(attempt, 0), longest / 2, "{attempt}");
            assert_eq!(backoff.jittered(attempt, u32::MAX), longest, "{attempt}");
        }
    }
}
