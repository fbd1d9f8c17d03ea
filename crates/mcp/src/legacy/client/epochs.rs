use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::era::Era;
use crate::error::Error;

/// What is known about the era of one server, and when to ask again.
pub(super) struct Epochs(Mutex<State>);

struct State {
    current: Arc<Epoch>,
    doubts: Doubts,
}

/// The time for which one answer about the era holds.
pub(super) struct Epoch {
    era: OnceCell<Result<Era, Error>>,
    since: Instant,
    /// Whether anything was ever answered in this way.
    proven: AtomicBool,
    /// Whether an old server is known to have the transport with two endpoints.
    two_endpoints: AtomicBool,
}

impl Epochs {
    /// An era that is yet to be asked for, if it is not given.
    pub(super) fn new(era: Option<Era>) -> Self {
        Self(Mutex::new(State {
            current: Arc::new(Epoch::new(era)),
            doubts: Doubts::new(Instant::now()),
        }))
    }

    pub(super) fn current(&self) -> Arc<Epoch> {
        self.state().current.clone()
    }

    /// The epoch after `past`, which was contradicted; `None` where that happened too often lately.
    pub(super) fn after(&self, past: &Arc<Epoch>) -> Option<Arc<Epoch>> {
        let mut state = self.state();
        if Arc::ptr_eq(&state.current, past) {
            // What was just found out is not doubted because of what does not work yet.
            if !past.is_proven() && past.since.elapsed() < EVERY
                || !state.doubts.allow(Instant::now())
            {
                return None;
            }
            state.current = Arc::new(Epoch::new(None));
        }
        Some(state.current.clone())
    }

    /// Forgets an epoch that could not even begin.
    fn forget(&self, failed: &Arc<Epoch>) {
        let mut state = self.state();
        if Arc::ptr_eq(&state.current, failed) {
            state.current = Arc::new(Epoch::new(None));
        }
    }

    /// The era of an epoch: asked for by one, and waited for by all others.
    pub(super) async fn era(
        &self,
        epoch: &Arc<Epoch>,
        ask: impl Future<Output = Result<Era, Error>>,
    ) -> Result<Era, Error> {
        match epoch.era.get_or_init(|| ask).await {
            Ok(era) => Ok(*era),
            Err(error) => {
                self.forget(epoch);
                Err(error.shared())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Epoch {
    /// The era, if it has been found out.
    pub(super) fn known(&self) -> Option<Era> {
        self.era.get()?.as_ref().ok().copied()
    }

    fn new(era: Option<Era>) -> Self {
        Self {
            era: OnceCell::new_with(era.map(Ok)),
            since: Instant::now(),
            proven: AtomicBool::new(false),
            two_endpoints: AtomicBool::new(false),
        }
    }

    pub(super) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    pub(super) fn prove(&self) {
        // Written once: everybody reads it.
        if !self.is_proven() {
            self.proven.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn has_two_endpoints(&self) -> bool {
        self.two_endpoints.load(Ordering::Relaxed)
    }

    pub(super) fn learn_two_endpoints(&self) {
        self.two_endpoints.store(true, Ordering::Relaxed);
    }
}

/// How often the era is doubted: a few times at once, and then once in a while.
///
/// Behind one URL there may be servers of both eras, for a time or for good.
struct Doubts {
    left: u32,
    since: Instant,
}

const MOST_DOUBTS: u32 = 3;
const EVERY: Duration = Duration::from_secs(15);

impl Doubts {
    fn new(now: Instant) -> Self {
        Self {
            left: MOST_DOUBTS,
            since: now,
        }
    }

    fn allow(&mut self, now: Instant) -> bool {
        while self.left < MOST_DOUBTS && now.saturating_duration_since(self.since) >= EVERY {
            self.left += 1;
            self.since += EVERY;
        }
        if self.left == MOST_DOUBTS {
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
        let mut doubts = Doubts::new(start);
        let mut allowed = |seconds| doubts.allow(start + Duration::from_secs(seconds));
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
    async fn an_epoch_ends_once_for_all_who_doubt_it() {
        let epochs = Epochs::new(Some(Era::Modern));
        let first = epochs.current();
        assert!(epochs.after(&first).is_none());
        first.prove();
        let second = epochs.after(&first).unwrap();
        assert!(Arc::ptr_eq(&second, &epochs.after(&first).unwrap()));
        tokio::time::advance(EVERY).await;
        let third = epochs.after(&second).unwrap();
        third.prove();
        let fourth = epochs.after(&third).unwrap();
        fourth.prove();
        let fourth = epochs.after(&fourth).unwrap();
        fourth.prove();
        assert!(epochs.after(&fourth).is_none());
        assert!(Arc::ptr_eq(&fourth, &epochs.after(&first).unwrap()));
    }

    #[tokio::test]
    async fn a_failed_question_is_asked_again() {
        let epochs = Epochs::new(None);
        let failing = async { Err(Error::internal("no answer")) };
        let error = epochs.era(&epochs.current(), failing).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer");
        let era = epochs.era(&epochs.current(), async { Ok(Era::OLD) }).await;
        assert_eq!(era.unwrap(), Era::OLD);
        let never = std::future::pending();
        let era = epochs.era(&epochs.current(), never).await;
        assert_eq!(era.unwrap(), Era::OLD);
    }
}
