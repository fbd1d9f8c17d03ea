use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::config::Limits;

/// How a connection is doing, noted by the task that serves it.
///
/// Only that task writes, so that relaxed order is enough: who looks may be one look late. The
/// clock is not read for requests that arrive whole and are answered without delay.
#[derive(Debug)]
pub(super) struct Vitals {
    opened: Instant,
    /// Whether a request is being answered.
    busy: AtomicBool,
    /// How many responses have been handed over.
    exchanges: AtomicU32,
    /// Whether a head was ambiguous: the connection is lost.
    ambiguous: AtomicBool,
    /// When an unfinished head began.
    head_since: AtomicU64,
    /// When the peer stopped reading.
    stalled_since: AtomicU64,
}

/// Marks a moment that did not come yet; all others are milliseconds from the opening.
const NEVER: u64 = u64::MAX;

/// How a connection is doing, seen by looking at it from time to time.
#[derive(Debug)]
pub(super) struct Watch {
    exchanges: u32,
    /// When the connection was opened or first seen after its last exchange.
    free_since: Instant,
}

impl Vitals {
    /// A connection that has just been opened and owes us a head.
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            busy: AtomicBool::new(false),
            exchanges: AtomicU32::new(0),
            ambiguous: AtomicBool::new(false),
            head_since: AtomicU64::new(0),
            stalled_since: AtomicU64::new(NEVER),
        }
    }

    pub(super) fn begin_exchange(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    pub(super) fn end_exchange(&self) {
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
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

    fn begin(&self, moment: &AtomicU64) {
        if moment.load(Ordering::Relaxed) == NEVER {
            let passed = self.opened.elapsed().as_millis();
            let passed = u64::try_from(passed).unwrap_or(NEVER - 1);
            moment.store(passed, Ordering::Relaxed);
        }
    }

    fn moment(&self, moment: &AtomicU64) -> Option<Instant> {
        match moment.load(Ordering::Relaxed) {
            NEVER => None,
            passed => Some(self.opened + Duration::from_millis(passed)),
        }
    }
}

impl Watch {
    /// Begins to watch a connection that has just been opened.
    pub(super) fn new(vitals: &Vitals) -> Self {
        Self {
            exchanges: 0,
            free_since: vitals.opened,
        }
    }

    /// Whether the connection has used up its time.
    pub(super) fn is_overdue(&mut self, vitals: &Vitals, now: Instant, limits: &Limits) -> bool {
        self.look(vitals, now);
        let passed = |since: Instant| now.saturating_duration_since(since);
        if let Some(stalled) = vitals.moment(&vitals.stalled_since) {
            return passed(stalled) >= limits.idle_timeout;
        }
        if vitals.busy.load(Ordering::Relaxed) {
            return false;
        }
        match vitals.moment(&vitals.head_since) {
            None => passed(self.free_since) >= limits.idle_timeout,
            // A head that came early waited for us, not we for it.
            Some(head) => passed(head.max(self.free_since)) >= limits.header_timeout,
        }
    }

    /// Whether the connection had nothing to do at this look and the one before.
    pub(super) fn is_free(&mut self, vitals: &Vitals, now: Instant) -> bool {
        self.look(vitals, now);
        now > self.free_since
            && !vitals.busy.load(Ordering::Relaxed)
            && vitals.moment(&vitals.stalled_since).is_none()
    }

    fn look(&mut self, vitals: &Vitals, now: Instant) {
        let exchanges = vitals.exchanges.load(Ordering::Relaxed);
        if exchanges != self.exchanges {
            self.exchanges = exchanges;
            self.free_since = now;
        }
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
    use tokio::time::advance;

    fn limits() -> Limits {
        Limits {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            ..Limits::default()
        }
    }

    struct Subject {
        vitals: Vitals,
        watch: Watch,
    }

    impl Subject {
        fn new() -> Self {
            let vitals = Vitals::new();
            let watch = Watch::new(&vitals);
            Self { vitals, watch }
        }

        /// How many seconds pass before the connection is overdue, watched every second.
        async fn seconds_left(&mut self) -> u32 {
            for seconds in 0..1000 {
                let now = Instant::now();
                if self.watch.is_overdue(&self.vitals, now, &limits()) {
                    return seconds;
                }
                advance(Duration::from_secs(1)).await;
            }
            1000
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_ten_seconds_and_a_rest_sixty() {
        let mut subject = Subject::new();
        assert_eq!(subject.seconds_left().await, 10);

        let mut subject = Subject::new();
        subject.vitals.head_ends();
        subject.vitals.begin_exchange();
        assert_eq!(subject.seconds_left().await, 1000);
        subject.vitals.end_exchange();
        assert_eq!(subject.seconds_left().await, 60);

        subject.vitals.begin_exchange();
        subject.vitals.end_exchange();
        subject.vitals.head_begins();
        advance(Duration::from_secs(5)).await;
        subject.vitals.head_begins();
        advance(Duration::from_secs(1)).await;
        subject.vitals.head_ends();
        subject.vitals.head_begins();
        assert_eq!(subject.seconds_left().await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_early_counts_from_the_end_of_the_last_exchange() {
        let mut subject = Subject::new();
        subject.vitals.begin_exchange();
        subject.vitals.head_ends();
        subject.vitals.head_begins();
        advance(Duration::from_secs(500)).await;
        subject.vitals.end_exchange();
        assert_eq!(subject.seconds_left().await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_has_sixty_seconds_even_in_an_exchange() {
        let mut subject = Subject::new();
        subject.vitals.begin_exchange();
        subject.vitals.stalls();
        advance(Duration::from_secs(30)).await;
        subject.vitals.flows();
        subject.vitals.stalls();
        assert_eq!(subject.seconds_left().await, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_free_when_it_was_so_for_two_looks() {
        let Subject { vitals, mut watch } = Subject::new();
        let mut look = async |vitals: &Vitals| {
            advance(Duration::from_millis(10)).await;
            watch.is_free(vitals, Instant::now())
        };
        assert!(look(&vitals).await);
        vitals.begin_exchange();
        assert!(!look(&vitals).await);
        vitals.end_exchange();
        assert!(!look(&vitals).await);
        vitals.stalls();
        assert!(!look(&vitals).await);
        vitals.flows();
        assert!(look(&vitals).await);
    }
}
