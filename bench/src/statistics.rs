//! The arithmetic behind the tables.

use std::time::Duration;

/// Returns the nearest-rank percentile of sorted values, or zero when there are none.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// Returns the median, the mean of the middle two where their number is even, or zero when there
/// are no values.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let lower = sorted.len().saturating_sub(1) / 2;
    match (sorted.get(lower), sorted.get(upper)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => 0.0,
    }
}

/// Two runs of the same program that differ only in the number of requests they answered.
///
/// The difference of their totals is what the additional requests cost: start-up and shutdown
/// cancel.
#[derive(Debug, Clone, Copy)]
pub struct RunLengths {
    /// Requests of the shorter run.
    pub short: u64,
    /// Requests of the longer run.
    pub long: u64,
}

impl RunLengths {
    /// Returns the cost of one request, given the totals of both runs.
    #[must_use]
    pub fn per_request(&self, short_total: u64, long_total: u64) -> f64 {
        (long_total as f64 - short_total as f64) / (self.long - self.short) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(values: &[u64]) -> Vec<Duration> {
        values.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        let check = |values: &[u64], percent, expected| {
            assert_eq!(
                percentile(&millis(values), percent),
                Duration::from_millis(expected)
            );
        };
        check(&hundred, 50, 50);
        check(&hundred, 99, 99);
        check(&hundred, 100, 100);
        check(&[7], 50, 7);
        check(&[1, 2, 3], 50, 2);
        check(&[1, 2, 3], 99, 3);
        check(&[], 50, 0);
    }

    #[test]
    fn a_median_ignores_order_and_outliers() {
        assert_eq!(median([3.0, 100.0, 1.0]), 3.0);
        assert_eq!(median([4.0, 2.0]), 3.0);
        assert_eq!(median([5.0]), 5.0);
        assert_eq!(median([]), 0.0);
    }

    #[test]
    fn start_up_cancels_in_the_difference_of_two_runs() {
        let lengths = RunLengths {
            short: 200,
            long: 1200,
        };
        let start_up = 5_000_000;
        let total = |requests: u64| start_up + requests * 41_000;
        assert_eq!(lengths.per_request(total(200), total(1200)), 41_000.0);
    }
}
