use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Time of the next attempt at something that failed: each failure in a row doubles the wait.
#[derive(Debug, Default)]
pub(crate) struct RetryTimer {
    failures: u32,
    due: Option<Instant>,
}

/// Wait after the first failure.
const FIRST: Duration = Duration::from_secs(1);
/// Longest wait.
const LONGEST: Duration = Duration::from_secs(5 * 60);

impl RetryTimer {
    /// Plans the next attempt after a failure.
    pub(crate) fn fail(&mut self) {
        let factor = 2_u32.checked_pow(self.failures).unwrap_or(u32::MAX);
        let wait = FIRST.saturating_mul(factor).min(LONGEST);
        self.due = Some(Instant::now() + wait);
        self.failures = self.failures.saturating_add(1);
    }

    /// Begins an attempt: there is no next one until it fails. Earlier failures still count.
    pub(crate) fn begin(&mut self) {
        self.due = None;
    }

    /// Forgets the failures: there is no next attempt.
    pub(crate) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// True if there is a next attempt.
    pub(crate) fn is_pending(&self) -> bool {
        self.due.is_some()
    }

    /// True if the time of the next attempt has come.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    /// Waits for the time of the next attempt; for ever if there is none. Dropping the future loses
    /// nothing, and the attempt is due until it has failed or succeeded.
    pub(crate) async fn due(&self) {
        at(self.due).await;
    }
}

/// Waits until a time; for ever without one.
pub(crate) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_five_minutes_and_begin_anew_after_a_success() {
        let mut timer = RetryTimer::default();
        let mut waits = Vec::new();
        for _ in 0..11 {
            let start = Instant::now();
            timer.fail();
            timer.due().await;
            waits.push(start.elapsed().as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        timer.succeed();
        timer.fail();
        let start = Instant::now();
        timer.due().await;
        assert_eq!(start.elapsed(), FIRST);
    }
}
