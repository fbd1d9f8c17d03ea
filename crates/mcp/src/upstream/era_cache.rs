use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::era::Era;
use crate::error::Error;
use crate::mutex::Mutex;

/// Cache of the era of the server at one URL, with a limit on how often it is detected again.
pub(crate) struct EraCache(Mutex<CacheState>);

struct CacheState {
    current: Arc<CachedEra>,
    recheck_limit: RecheckLimit,
}

/// Outcome of one detection, or the detection itself while it runs.
pub(crate) struct CachedEra {
    era: OnceCell<Result<Era, Error>>,
    since: Instant,
    /// True once a call in this era has succeeded.
    proven: AtomicBool,
    /// True if an old server is known to speak HTTP+SSE.
    #[cfg(feature = "legacy")]
    http_sse: AtomicBool,
    /// True if the server is known, or set, to speak no older revision beside the newest.
    #[cfg(feature = "legacy")]
    refuses_sessions: AtomicBool,
    /// True if the server counts as old only until it refuses the handshake.
    #[cfg(feature = "legacy")]
    unclear: AtomicBool,
}

impl EraCache {
    /// A cache with this era, or an empty one.
    pub(crate) fn new(era: Option<Era>) -> Self {
        Self(Mutex::new(CacheState {
            current: Arc::new(CachedEra::new(era)),
            recheck_limit: RecheckLimit::new(Instant::now()),
        }))
    }

    pub(crate) fn current(&self) -> Arc<CachedEra> {
        self.0.lock().current.clone()
    }

    /// The next entry after `past`, which a failure contradicted; `None` if too many were contradicted
    /// lately.
    pub(crate) fn after(&self, past: &Arc<CachedEra>) -> Option<Arc<CachedEra>> {
        let mut state = self.0.lock();
        if Arc::ptr_eq(&state.current, past) {
            // A new outcome that no call has confirmed is not doubted: a server that starts up may
            // fail in any way.
            if !past.is_proven() && past.since.elapsed() < RECHECK_INTERVAL
                || !state.recheck_limit.allow(Instant::now())
            {
                return None;
            }
            state.current = Arc::new(CachedEra::new(None));
        }
        Some(state.current.clone())
    }

    /// The entry after `past`, which is modern, if `past` was unclear and the handshake was refused.
    #[cfg(feature = "legacy")]
    pub(crate) fn modern_after(&self, past: &Arc<CachedEra>) -> Option<Arc<CachedEra>> {
        if !past.unclear.load(Ordering::Relaxed) || past.is_proven() {
            return None;
        }
        let mut state = self.0.lock();
        if Arc::ptr_eq(&state.current, past) {
            let modern = CachedEra::new(Some(Era::Modern));
            modern.set_refuses_sessions();
            state.current = Arc::new(modern);
        }
        Some(state.current.clone())
    }

    /// Removes an entry whose detection failed.
    fn forget(&self, failed: &Arc<CachedEra>) {
        let mut state = self.0.lock();
        if Arc::ptr_eq(&state.current, failed) {
            state.current = Arc::new(CachedEra::new(None));
        }
    }

    /// The era of an entry, detected by `detect` once for all calls that need it.
    pub(crate) async fn era(
        &self,
        cached: &Arc<CachedEra>,
        detect: impl Future<Output = Result<Era, Error>>,
    ) -> Result<Era, Error> {
        // If the call that detects is dropped, one that waits for it detects in its place.
        match cached.era.get_or_init(|| detect).await {
            Ok(era) => Ok(*era),
            Err(error) => {
                // A failure is not kept: the next call detects again.
                self.forget(cached);
                Err(error.shared())
            }
        }
    }
}

impl CachedEra {
    pub(crate) fn known(&self) -> Option<Era> {
        self.era.get()?.as_ref().ok().copied()
    }

    fn new(era: Option<Era>) -> Self {
        Self {
            era: OnceCell::new_with(era.map(Ok)),
            since: Instant::now(),
            proven: AtomicBool::new(false),
            #[cfg(feature = "legacy")]
            http_sse: AtomicBool::new(false),
            #[cfg(feature = "legacy")]
            refuses_sessions: AtomicBool::new(false),
            #[cfg(feature = "legacy")]
            unclear: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    pub(crate) fn prove(&self) {
        // Checked first: a store by every call would make all cores fetch the cache line again.
        if !self.is_proven() {
            self.proven.store(true, Ordering::Relaxed);
        }
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn speaks_http_sse(&self) -> bool {
        self.http_sse.load(Ordering::Relaxed)
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn set_speaks_http_sse(&self) {
        self.http_sse.store(true, Ordering::Relaxed);
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn refuses_sessions(&self) -> bool {
        self.refuses_sessions.load(Ordering::Relaxed)
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn set_refuses_sessions(&self) {
        self.refuses_sessions.store(true, Ordering::Relaxed);
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn set_unclear(&self) {
        self.unclear.store(true, Ordering::Relaxed);
    }
}

/// Limit on detections: a few at once, and then one per interval.
///
/// Behind one URL there may be servers of both eras, during an update or for good. Without a limit
/// every other call would be a detection.
struct RecheckLimit {
    left: u32,
    since: Instant,
}

const MAX_RECHECKS: u32 = 3;
const RECHECK_INTERVAL: Duration = Duration::from_secs(15);

impl RecheckLimit {
    fn new(now: Instant) -> Self {
        Self {
            left: MAX_RECHECKS,
            since: now,
        }
    }

    fn allow(&mut self, now: Instant) -> bool {
        while self.left < MAX_RECHECKS
            && now.saturating_duration_since(self.since) >= RECHECK_INTERVAL
        {
            self.left += 1;
            self.since += RECHECK_INTERVAL;
        }
        if self.left == MAX_RECHECKS {
            self.since = now;
        }
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_come_back_one_at_a_time() {
        let start = Instant::now();
        let mut recheck_limit = RecheckLimit::new(start);
        let mut allowed = |seconds| recheck_limit.allow(start + Duration::from_secs(seconds));
        assert_eq!([0, 0, 0, 0].map(&mut allowed), [true, true, true, false]);
        assert_eq!(
            [14, 15, 16, 29].map(&mut allowed),
            [false, true, false, false]
        );
        assert_eq!([30, 30].map(&mut allowed), [true, false]);
        assert_eq!(
            [3600, 3600, 3600, 3600].map(&mut allowed),
            [true, true, true, false]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_epoch_ends_once_for_all_doubting_calls() {
        let era_cache = EraCache::new(Some(Era::Modern));
        let first = era_cache.current();
        assert!(era_cache.after(&first).is_none());
        first.prove();
        let second = era_cache.after(&first).unwrap();
        assert!(Arc::ptr_eq(&second, &era_cache.after(&first).unwrap()));
        tokio::time::advance(RECHECK_INTERVAL).await;
        let third = era_cache.after(&second).unwrap();
        third.prove();
        let fourth = era_cache.after(&third).unwrap();
        fourth.prove();
        let fourth = era_cache.after(&fourth).unwrap();
        fourth.prove();
        assert!(era_cache.after(&fourth).is_none());
        assert!(Arc::ptr_eq(&fourth, &era_cache.after(&first).unwrap()));
    }

    #[tokio::test]
    async fn a_failed_detection_is_made_again() {
        let era_cache = EraCache::new(None);
        let failing = async { Err(Error::internal("no answer")) };
        let error = era_cache
            .era(&era_cache.current(), failing)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "no answer");
        let era = era_cache
            .era(&era_cache.current(), async { Ok(Era::OLD) })
            .await;
        assert_eq!(era.unwrap(), Era::OLD);
        let never = std::future::pending();
        let era = era_cache.era(&era_cache.current(), never).await;
        assert_eq!(era.unwrap(), Era::OLD);
    }
}
