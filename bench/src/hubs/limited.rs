//! Figures of measurements that have a time limit.

use std::time::Duration;

/// A time, or the limit that it exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// The time.
    Took(Duration),
    /// The measurement ended at this limit without an outcome.
    MoreThan(Duration),
}

/// Calls per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// The rate.
    PerSecond(f64),
    /// No call ended within the time of one at this rate.
    LessThan(f64),
}

impl Time {
    /// Shortest time that it can be, in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        match self {
            Self::Took(time) | Self::MoreThan(time) => time.as_secs_f64(),
        }
    }
}

impl Rate {
    /// Returns the rate of a number of calls in this time.
    #[must_use]
    pub fn of(calls: u32, time: Duration) -> Self {
        match calls {
            0 => Self::LessThan(1.0 / time.as_secs_f64()),
            calls => Self::PerSecond(f64::from(calls) / time.as_secs_f64()),
        }
    }

    /// Highest rate that it can be.
    #[must_use]
    pub fn per_second(self) -> f64 {
        match self {
            Self::PerSecond(rate) | Self::LessThan(rate) => rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_without_calls_is_below_that_of_one() {
        let time = Duration::from_secs(4);
        assert_eq!(Rate::of(2, time), Rate::PerSecond(0.5));
        assert_eq!(Rate::of(0, time), Rate::LessThan(0.25));
    }
}
