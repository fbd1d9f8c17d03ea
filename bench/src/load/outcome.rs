//! Length of a load and its measured latencies.

use std::time::{Duration, Instant};

use crate::statistics::percentile;

/// Length of the load on each connection.
#[derive(Debug, Clone, Copy)]
pub enum Length {
    /// Until this many requests were answered.
    Requests(u64),
    /// Until this much time has passed.
    Time(Duration),
}

impl Length {
    /// Returns whether a connection that began at `start` has done its part.
    #[must_use]
    pub fn is_reached(self, answered: u64, start: Instant, now: Instant) -> bool {
        match self {
            Self::Requests(requests) => answered >= requests,
            Self::Time(time) => now.duration_since(start) >= time,
        }
    }
}

/// Measurements of a load generator.
#[derive(Debug)]
pub struct Outcome {
    sorted: Vec<Duration>,
    elapsed: Duration,
}

impl Outcome {
    /// Collects the latencies of all requests that were answered within `elapsed`.
    #[must_use]
    pub fn new(mut latencies: Vec<Duration>, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        Self {
            sorted: latencies,
            elapsed,
        }
    }

    /// Returns the number of requests that were answered.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// Returns the throughput.
    #[must_use]
    pub fn requests_per_second(&self) -> f64 {
        self.sorted.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns a percentile of the latencies.
    #[must_use]
    pub fn latency(&self, percent: usize) -> Duration {
        percentile(&self.sorted, percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_sums_up_its_requests() {
        let latencies = [30, 10, 20].map(Duration::from_micros).to_vec();
        let outcome = Outcome::new(latencies, Duration::from_millis(500));
        assert_eq!(
            (
                outcome.requests(),
                outcome.requests_per_second(),
                outcome.latency(50)
            ),
            (3, 6.0, Duration::from_micros(20))
        );
    }

    #[test]
    fn a_load_ends_by_count_or_by_time() {
        let start = Instant::now();
        let later = start + Duration::from_secs(2);
        assert_eq!(
            [
                Length::Requests(5).is_reached(4, start, later),
                Length::Requests(5).is_reached(5, start, start),
                Length::Time(Duration::from_secs(3)).is_reached(9, start, later),
                Length::Time(Duration::from_secs(2)).is_reached(0, start, later),
            ],
            [false, true, false, true]
        );
    }
}
