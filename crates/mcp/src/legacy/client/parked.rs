use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::exchange::Exchange;

/// The calls that wait for their clients to come back, oldest first.
pub(super) struct Parked {
    most: usize,
    patience: Duration,
    calls: Mutex<BTreeMap<u64, Waiting>>,
    changed: Notify,
}

struct Waiting {
    until: Instant,
    exchange: Exchange,
}

impl Parked {
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        Self {
            most,
            patience,
            calls: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Whether no call waits.
    #[cfg(feature = "http-client")]
    pub(super) fn is_empty(&self) -> bool {
        self.calls().is_empty()
    }

    /// Whether another call may wait.
    pub(super) fn has_room(&self) -> bool {
        self.calls().len() < self.most
    }

    /// Lets a call wait; its number brings it back.
    pub(super) fn put(&self, exchange: Exchange) {
        let waiting = Waiting {
            until: Instant::now() + self.patience,
            exchange,
        };
        self.calls().insert(waiting.exchange.flight.number, waiting);
        self.changed.notify_one();
    }

    /// Takes a call out, once.
    pub(super) fn take(&self, number: u64) -> Option<Exchange> {
        Some(self.calls().remove(&number)?.exchange)
    }

    /// The next call whose client has not come back in time. Dropping the future loses nothing.
    pub(super) async fn abandoned(&self) -> Exchange {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look at the calls, so that no wake-up is missed.
            changed.as_mut().enable();
            let next = self.calls().values().map(|call| call.until).min();
            match next {
                None => changed.await,
                Some(until) if until <= Instant::now() => {
                    let mut calls = self.calls();
                    let late = calls.extract_if(.., |_, call| call.until <= until).next();
                    if let Some((_, waiting)) = late {
                        return waiting.exchange;
                    }
                }
                Some(until) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = changed => {}
                },
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Waiting>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
