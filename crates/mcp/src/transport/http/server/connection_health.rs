use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::config::HttpServerLimits;

/// Activity of one connection, recorded by the tasks that serve it.
///
/// The listener checks it from time to time, and may be one check late: relaxed order is enough.
/// The clock is not read for requests that arrive whole and are answered without delay.
#[derive(Debug)]
pub(super) struct ConnectionHealth {
    opened: Instant,
    /// Number of requests that are being answered; more than one only in HTTP/2.
    active: AtomicU32,
    /// Number of requests that have ended: their responses were handed over, or they were canceled.
    exchanges: AtomicU32,
    /// True if a head was ambiguous: the connection is lost.
    ambiguous: AtomicBool,
    /// True once a request has been authenticated.
    authenticated: AtomicBool,
    /// Time at which an unfinished head began.
    head_since: AtomicU64,
    /// Time at which the peer stopped reading.
    stalled_since: AtomicU64,
    /// Number of requests whose bodies are waited for.
    unfinished_bodies: AtomicU32,
    /// Time at which the first of these waits began.
    body_since: AtomicU64,
}

/// Request that is being answered, until it is dropped: with its response, or with the future that was to
/// make one, since a client of HTTP/2 may cancel a request before there is a response.
#[derive(Debug)]
pub(super) struct Exchange(Arc<ConnectionHealth>);

/// Wait for the rest of a body, until it is dropped.
pub(super) struct BodyWait<'h>(&'h ConnectionHealth);

/// Marks a time that did not come yet; all others are milliseconds from the opening.
const NEVER: u64 = u64::MAX;

/// View of the listener on a [`ConnectionHealth`], updated at each check.
#[derive(Debug)]
pub(super) struct HealthWatch {
    exchanges: u32,
    /// Time at which the connection was opened, or first checked after its last exchange.
    free_since: Instant,
}

impl ConnectionHealth {
    /// A connection that has just been opened, and whose first head is due.
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            active: AtomicU32::new(0),
            exchanges: AtomicU32::new(0),
            ambiguous: AtomicBool::new(false),
            authenticated: AtomicBool::new(false),
            head_since: AtomicU64::new(0),
            stalled_since: AtomicU64::new(NEVER),
            unfinished_bodies: AtomicU32::new(0),
            body_since: AtomicU64::new(NEVER),
        }
    }

    pub(super) fn begin_exchange(self: &Arc<Self>) -> Exchange {
        self.active.fetch_add(1, Ordering::Relaxed);
        Exchange(self.clone())
    }

    pub(super) fn mark_ambiguous(&self) {
        self.ambiguous.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ambiguous(&self) -> bool {
        self.ambiguous.load(Ordering::Relaxed)
    }

    /// A request has been authenticated.
    pub(super) fn authenticate(&self) {
        if !self.is_authenticated() {
            self.authenticated.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
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

    /// True while a request is being answered.
    pub(super) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }

    /// The rest of a body has to be waited for.
    pub(super) fn wait_for_body(&self) -> BodyWait<'_> {
        self.unfinished_bodies.fetch_add(1, Ordering::Relaxed);
        self.begin(&self.body_since);
        BodyWait(self)
    }

    /// Time since which the connection has been waiting for bodies, if it does nothing else.
    pub(super) fn only_bodies_since(&self) -> Option<Instant> {
        let active = self.active.load(Ordering::Relaxed);
        let are_all = self.unfinished_bodies.load(Ordering::Relaxed) >= active;
        self.moment(&self.body_since).filter(|_| are_all)
    }

    fn begin(&self, moment: &AtomicU64) {
        // The first moment counts: a peer that sends byte by byte gains no time.
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

impl Drop for Exchange {
    fn drop(&mut self) {
        let Self(health) = self;
        health.exchanges.fetch_add(1, Ordering::Relaxed);
        health.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for BodyWait<'_> {
    fn drop(&mut self) {
        let Self(health) = self;
        if health.unfinished_bodies.fetch_sub(1, Ordering::Relaxed) == 1 {
            end(&health.body_since);
        }
    }
}

impl HealthWatch {
    /// Begins to watch a connection that has just been opened.
    pub(super) fn new(health: &ConnectionHealth) -> Self {
        Self {
            exchanges: 0,
            free_since: health.opened,
        }
    }

    /// True if the connection has exceeded one of its time limits.
    pub(super) fn is_overdue(
        &mut self,
        health: &ConnectionHealth,
        now: Instant,
        limits: &HttpServerLimits,
    ) -> bool {
        self.update(health, now);
        let passed = |since: Instant| now.saturating_duration_since(since);
        // Before the requests in progress: a peer that does not read its answer is overdue all the same.
        if let Some(stalled) = health.moment(&health.stalled_since) {
            return passed(stalled) >= limits.idle_timeout;
        }
        if health.is_active() {
            return false;
        }
        match health.moment(&health.head_since) {
            None => passed(self.free_since) >= limits.idle_timeout,
            // A head may arrive while the request before it is answered; its time begins after.
            Some(head) => passed(head.max(self.free_since)) >= limits.header_timeout,
        }
    }

    /// True if the connection was idle at this check and the one before.
    pub(super) fn is_idle(&mut self, health: &ConnectionHealth, now: Instant) -> bool {
        self.update(health, now);
        now > self.free_since
            && !health.is_active()
            && health.moment(&health.stalled_since).is_none()
    }

    fn update(&mut self, health: &ConnectionHealth, now: Instant) {
        let exchanges = health.exchanges.load(Ordering::Relaxed);
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

    fn limits() -> HttpServerLimits {
        HttpServerLimits {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            ..HttpServerLimits::default()
        }
    }

    struct Subject {
        health: Arc<ConnectionHealth>,
        watch: HealthWatch,
    }

    impl Subject {
        fn new() -> Self {
            let health = Arc::new(ConnectionHealth::new());
            let watch = HealthWatch::new(&health);
            Self { health, watch }
        }

        /// Seconds until the connection is overdue, checked every second.
        async fn seconds_left(&mut self) -> u32 {
            for seconds in 0..1000 {
                let now = Instant::now();
                if self.watch.is_overdue(&self.health, now, &limits()) {
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
        subject.health.head_ends();
        let exchange = subject.health.begin_exchange();
        assert_eq!(subject.seconds_left().await, 1000);
        drop(exchange);
        assert_eq!(subject.seconds_left().await, 60);

        drop(subject.health.begin_exchange());
        subject.health.head_begins();
        advance(Duration::from_secs(5)).await;
        subject.health.head_begins();
        advance(Duration::from_secs(1)).await;
        subject.health.head_ends();
        subject.health.head_begins();
        assert_eq!(subject.seconds_left().await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_early_counts_from_the_end_of_the_last_exchange() {
        let mut subject = Subject::new();
        let exchange = subject.health.begin_exchange();
        subject.health.head_ends();
        subject.health.head_begins();
        advance(Duration::from_secs(500)).await;
        drop(exchange);
        assert_eq!(subject.seconds_left().await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_has_sixty_seconds_even_in_an_exchange() {
        let mut subject = Subject::new();
        let _exchange = subject.health.begin_exchange();
        subject.health.stalls();
        advance(Duration::from_secs(30)).await;
        subject.health.flows();
        subject.health.stalls();
        assert_eq!(subject.seconds_left().await, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_free_when_it_was_so_for_two_looks() {
        let Subject { health, mut watch } = Subject::new();
        let mut look = async |health: &ConnectionHealth| {
            advance(Duration::from_millis(10)).await;
            watch.is_idle(health, Instant::now())
        };
        assert!(look(&health).await);
        let exchange = health.begin_exchange();
        assert!(!look(&health).await);
        drop(exchange);
        assert!(!look(&health).await);
        health.stalls();
        assert!(!look(&health).await);
        health.flows();
        assert!(look(&health).await);
    }
}
