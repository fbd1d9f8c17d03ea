use std::time::Duration;

use tokio::time::Instant;

/// Schedule of the fetches of an issuer's keys.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    loaded: Option<Instant>,
    attempt: Attempt,
    /// Last fetch because of an unknown key.
    asked: Option<Instant>,
}

/// Age of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// Fresh: no fetch is due.
    Fresh,
    /// Stale: they are used while newer ones are fetched.
    Stale,
    /// None, or so old that the issuer may have withdrawn them.
    Gone,
}

/// Result of the last fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attempt {
    #[default]
    None,
    Running,
    Succeeded,
    Failed(Instant),
}

impl Schedule {
    /// Age up to which keys are fresh.
    pub(super) const FRESH: Duration = Duration::from_secs(10 * 60);
    /// Age up to which keys are used while the issuer is unavailable.
    pub(super) const USABLE: Duration = Duration::from_secs(60 * 60);
    /// Minimum time between fetches because of unknown keys, which any client can cause.
    pub(super) const PAUSE: Duration = Duration::from_secs(10);
    /// Minimum time after a failed fetch.
    pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

    pub(super) fn supply(&self, now: Instant) -> Supply {
        match self.loaded.map(|loaded| now.duration_since(loaded)) {
            Some(age) if age < Self::FRESH => Supply::Fresh,
            Some(age) if age < Self::USABLE => Supply::Stale,
            _ => Supply::Gone,
        }
    }

    /// Starts a fetch if the keys are old, unless one is running or has just failed.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        self.supply(now) != Supply::Fresh && self.begin_now(now)
    }

    /// Starts a fetch because of an unknown key, which any client can send.
    pub(super) fn begin_for_unknown_key(&mut self, now: Instant) -> bool {
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

    /// Returns true if the last fetch failed, so that the issuer may have newer keys.
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
        assert!(!schedule.begin_for_unknown_key(start + Schedule::USABLE));

        schedule.fail(start);
        let pause = Schedule::PAUSE_AFTER_FAILURE;
        assert!(!schedule.begin(start + pause - INSTANT));
        assert!(!schedule.begin_for_unknown_key(start + pause - INSTANT));
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
        assert!(schedule.begin_for_unknown_key(start));
        schedule.succeed(start);
        assert!(!schedule.begin_for_unknown_key(start + Schedule::PAUSE - INSTANT));
        assert!(schedule.begin_for_unknown_key(start + Schedule::PAUSE));
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
