use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::time::Instant;

use super::config::Limits;

/// How a connection is doing, seen from outside the task that serves it.
///
/// Only that task writes, so that relaxed order is enough: the reader may be one look late.
#[derive(Debug)]
pub(super) struct Vitals {
    opened: Instant,
    /// Whether a request is being answered.
    busy: AtomicBool,
    /// Whether a head was ambiguous: the connection is lost.
    ambiguous: AtomicBool,
    /// When the connection was opened or the last response was handed over.
    free_since: AtomicU64,
    /// When an unfinished head began.
    head_since: AtomicU64,
    /// When the peer stopped reading.
    stalled_since: AtomicU64,
}

/// Marks a moment that did not come yet; all others are milliseconds from the opening.
const NEVER: u64 = u64::MAX;

impl Vitals {
    /// A connection that has just been opened and owes us a head.
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            busy: AtomicBool::new(false),
            ambiguous: AtomicBool::new(false),
            free_since: AtomicU64::new(0),
            head_since: AtomicU64::new(0),
            stalled_since: AtomicU64::new(NEVER),
        }
    }

    pub(super) fn begin_exchange(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    pub(super) fn end_exchange(&self) {
        self.free_since.store(self.now(), Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    pub(super) fn mark_ambiguous(&self) {
        self.ambiguous.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ambiguous(&self) -> bool {
        self.ambiguous.load(Ordering::Relaxed)
    }

    /// Part of a head has arrived.
    pub(super) fn head_begins(&self) {
        self.begin(&self.head_since);
    }

    /// No head is unfinished.
    pub(super) fn head_ends(&self) {
        end(&self.head_since);
    }

    /// The peer does not take what we write.
    pub(super) fn stalls(&self) {
        self.begin(&self.stalled_since);
    }

    /// The peer takes what we write.
    pub(super) fn flows(&self) {
        end(&self.stalled_since);
    }

    /// Whether nothing has been asked or left to send from `moment` on.
    pub(super) fn is_free_since(&self, moment: Instant) -> bool {
        !self.is_busy()
            && self.stalled_since.load(Ordering::Relaxed) == NEVER
            && self.free_since.load(Ordering::Relaxed) <= self.at(moment)
    }

    /// Whether the connection has used up its time at `now`.
    pub(super) fn is_overdue(&self, now: Instant, limits: &Limits) -> bool {
        let now = self.at(now);
        let passed = |since: u64, limit: std::time::Duration| {
            u128::from(now.saturating_sub(since)) >= limit.as_millis()
        };
        let stalled = self.stalled_since.load(Ordering::Relaxed);
        if stalled != NEVER {
            return passed(stalled, limits.idle_timeout);
        }
        if self.is_busy() {
            return false;
        }
        let free = self.free_since.load(Ordering::Relaxed);
        match self.head_since.load(Ordering::Relaxed) {
            NEVER => passed(free, limits.idle_timeout),
            // A head that came early waited for us, not we for it.
            head => passed(head.max(free), limits.header_timeout),
        }
    }

    fn begin(&self, moment: &AtomicU64) {
        if moment.load(Ordering::Relaxed) == NEVER {
            moment.store(self.now(), Ordering::Relaxed);
        }
    }

    fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    fn at(&self, moment: Instant) -> u64 {
        let passed = moment.saturating_duration_since(self.opened);
        u64::try_from(passed.as_millis()).unwrap_or(NEVER - 1)
    }
}

fn end(moment: &AtomicU64) {
    if moment.load(Ordering::Relaxed) != NEVER {
        moment.store(NEVER, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::advance;

    fn limits() -> Limits {
        Limits {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            ..Limits::default()
        }
    }

    /// How many seconds pass before the connection is overdue.
    async fn seconds_left(vitals: &Vitals) -> u32 {
        for seconds in 0..1000 {
            if vitals.is_overdue(Instant::now(), &limits()) {
                return seconds;
            }
            advance(Duration::from_secs(1)).await;
        }
        1000
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_ten_seconds_and_a_rest_sixty() {
        assert_eq!(seconds_left(&Vitals::new()).await, 10);

        let vitals = Vitals::new();
        vitals.head_ends();
        vitals.begin_exchange();
        assert_eq!(seconds_left(&vitals).await, 1000);
        vitals.end_exchange();
        assert_eq!(seconds_left(&vitals).await, 60);

        vitals.begin_exchange();
        vitals.end_exchange();
        advance(Duration::from_secs(50)).await;
        vitals.head_begins();
        advance(Duration::from_secs(5)).await;
        vitals.head_begins();
        assert_eq!(seconds_left(&vitals).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_early_counts_from_the_end_of_the_last_exchange() {
        let vitals = Vitals::new();
        vitals.begin_exchange();
        vitals.head_ends();
        vitals.head_begins();
        advance(Duration::from_secs(500)).await;
        vitals.end_exchange();
        assert_eq!(seconds_left(&vitals).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_has_sixty_seconds_even_in_an_exchange() {
        let vitals = Vitals::new();
        vitals.begin_exchange();
        vitals.stalls();
        advance(Duration::from_secs(30)).await;
        vitals.flows();
        vitals.stalls();
        assert_eq!(seconds_left(&vitals).await, 60);
    }
}
