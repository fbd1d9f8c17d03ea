use std::time::Duration;

use tokio::time::Instant;

/// Decides when the keys of an issuer are fetched, and how long they are good for.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    loaded: Option<Instant>,
    attempt: Attempt,
    /// When a stranger last made us ask.
    asked: Option<Instant>,
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
    Succeeded,
    Failed(Instant),
}

impl Schedule {
    /// How long keys are used without looking for newer ones.
    pub(super) const FRESH: Duration = Duration::from_secs(10 * 60);
    /// How long keys are used while the issuer cannot be asked.
    pub(super) const USABLE: Duration = Duration::from_secs(60 * 60);
    /// How often strangers can make us ask.
    pub(super) const PAUSE: Duration = Duration::from_secs(10);
    /// How long the next attempt waits after one that failed.
    pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

    pub(super) fn supply(&self, now: Instant) -> Supply {
        match self.loaded.map(|loaded| now.duration_since(loaded)) {
            Some(age) if age < Self::FRESH => Supply::Fresh,
            Some(age) if age < Self::USABLE => Supply::Stale,
            _ => Supply::Gone,
        }
    }

    /// Begins an attempt if the keys are old, unless there is one or the last one has just failed.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        self.supply(now) != Supply::Fresh && self.begin_now(now)
    }

    /// Begins an attempt because of a signature that no key explains, which any stranger can send.
    pub(super) fn begin_for_stranger(&mut self, now: Instant) -> bool {
        let since = self.asked.map(|asked| now.duration_since(asked));
        let begins = since.is_none_or(|since| since >= Self::PAUSE) && self.begin_now(now);
        if begins {
            self.asked = Some(now);
        }
        begins
    }

    fn begin_now(&mut self, now: Instant) -> bool {
        let begins = match self.attempt {
            Attempt::None | Attempt::Succeeded => true,
            Attempt::Running => false,
            Attempt::Failed(at) => now.duration_since(at) >= Self::PAUSE_AFTER_FAILURE,
        };
        if begins {
            self.attempt = Attempt::Running;
        }
        begins
    }

    pub(super) fn succeed(&mut self, now: Instant) {
        self.loaded = Some(now);
        self.attempt = Attempt::Succeeded;
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
    fn one_attempt_runs_at_a_time_and_waits_after_a_failure() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        assert!(schedule.begin(start));
        assert!(!schedule.begin(start + Schedule::USABLE));
        assert!(!schedule.begin_for_stranger(start + Schedule::USABLE));

        schedule.fail(start);
        let pause = Schedule::PAUSE_AFTER_FAILURE;
        assert!(!schedule.begin(start + pause - INSTANT));
        assert!(!schedule.begin_for_stranger(start + pause - INSTANT));
        assert!(schedule.begin(start + pause));

        schedule.succeed(start);
        assert!(!schedule.begin(start + Schedule::FRESH - INSTANT));
        assert!(schedule.begin(start + Schedule::FRESH));
    }

    #[test]
    fn strangers_wait_for_each_other_but_not_for_us() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        assert!(schedule.begin(start));
        schedule.succeed(start);
        assert!(schedule.begin_for_stranger(start));
        schedule.succeed(start);
        assert!(!schedule.begin_for_stranger(start + Schedule::PAUSE - INSTANT));
        assert!(schedule.begin_for_stranger(start + Schedule::PAUSE));
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
