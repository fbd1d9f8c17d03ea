use std::time::Duration;

use tokio::time::Instant;

/// Decides when the keys of an issuer are fetched, and how long they are good for.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    loaded: Option<Instant>,
    attempt: Attempt,
}

/// What the age of the keys means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// They are as good as new.
    Fresh,
    /// They are used until there are newer ones, which it is time for.
    Stale,
    /// There are none, or they are so old that the issuer may long have withdrawn them.
    Gone,
}

/// How the latest attempt to fetch them went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attempt {
    #[default]
    None,
    Running,
    Succeeded(Instant),
    Failed(Instant),
}

impl Schedule {
    /// How long keys are used without looking for newer ones.
    pub(super) const FRESH: Duration = Duration::from_secs(10 * 60);
    /// How long keys are used while the issuer cannot be asked.
    pub(super) const USABLE: Duration = Duration::from_secs(60 * 60);
    /// How long the next attempt waits after one that went well, whatever strangers send.
    pub(super) const PAUSE: Duration = Duration::from_secs(30);
    /// How long the next attempt waits after one that failed.
    pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

    pub(super) fn supply(&self, now: Instant) -> Supply {
        match self.loaded.map(|loaded| now.duration_since(loaded)) {
            Some(age) if age < Self::FRESH => Supply::Fresh,
            Some(age) if age < Self::USABLE => Supply::Stale,
            _ => Supply::Gone,
        }
    }

    /// Begins an attempt, unless there is one or the last one has just ended.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        let due = match self.attempt {
            Attempt::None => true,
            Attempt::Running => false,
            Attempt::Succeeded(at) => now.duration_since(at) >= Self::PAUSE,
            Attempt::Failed(at) => now.duration_since(at) >= Self::PAUSE_AFTER_FAILURE,
        };
        if due {
            self.attempt = Attempt::Running;
        }
        due
    }

    pub(super) fn succeed(&mut self, now: Instant) {
        self.loaded = Some(now);
        self.attempt = Attempt::Succeeded(now);
    }

    pub(super) fn fail(&mut self, now: Instant) {
        self.attempt = Attempt::Failed(now);
    }

    pub(super) fn is_running(&self) -> bool {
        self.attempt == Attempt::Running
    }

    /// Whether the issuer could not be asked, so that it may have keys that are not known.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.attempt, Attempt::Failed(_))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Schedule, Supply};

    const INSTANT: Duration = Duration::from_millis(1);

    #[test]
    fn keys_age() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        assert_eq!(schedule.supply(start), Supply::Gone);
        schedule.succeed(start);
        for (age, expected) in [
            (Duration::ZERO, Supply::Fresh),
            (Schedule::FRESH - INSTANT, Supply::Fresh),
            (Schedule::FRESH, Supply::Stale),
            (Schedule::USABLE - INSTANT, Supply::Stale),
            (Schedule::USABLE, Supply::Gone),
        ] {
            assert_eq!(schedule.supply(start + age), expected, "{age:?}");
        }
    }

    #[test]
    fn one_attempt_runs_at_a_time_and_the_next_one_waits() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        assert!(schedule.begin(start));
        assert!(!schedule.begin(start + Schedule::USABLE));

        schedule.fail(start);
        let pause = Schedule::PAUSE_AFTER_FAILURE;
        assert!(!schedule.begin(start + pause - INSTANT));
        assert!(schedule.begin(start + pause));

        schedule.succeed(start);
        assert!(!schedule.begin(start + Schedule::PAUSE - INSTANT));
        assert!(schedule.begin(start + Schedule::PAUSE));
    }

    #[test]
    fn a_failure_takes_no_keys_away() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        schedule.succeed(start);
        schedule.fail(start + Schedule::FRESH);
        assert_eq!(schedule.supply(start + Schedule::FRESH), Supply::Stale);
        assert!(schedule.has_failed());
    }
}
