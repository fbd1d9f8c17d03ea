use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::mutex::Mutex;

/// Bounded queue of values that wait to be taken, oldest first, all with the same timeout.
///
/// Suspended calls wait in one for input of their clients, and questions of the server that came
/// outside of any call wait in another for a call to carry them.
pub(super) struct TimeoutQueue<T> {
    max: usize,
    timeout: Duration,
    values: Mutex<VecDeque<(Instant, T)>>,
    changed: Notify,
}

impl<T> TimeoutQueue<T> {
    pub(super) fn new(max: usize, timeout: Duration) -> Self {
        Self {
            max,
            timeout,
            values: Mutex::default(),
            changed: Notify::new(),
        }
    }

    #[cfg(feature = "http-client")]
    pub(super) fn is_empty(&self) -> bool {
        self.values.lock().is_empty()
    }

    /// Queues a value, or gives it back if the queue is full.
    pub(super) fn put(&self, value: T) -> Result<(), T> {
        self.put_in_share(value, usize::MAX, |_| true)
    }

    /// Queues a value, or gives it back if the queue is full, or has `share` values already that share
    /// a limit with this one.
    pub(super) fn put_in_share(
        &self,
        value: T,
        share: usize,
        shares: impl Fn(&T) -> bool,
    ) -> Result<(), T> {
        let mut values = self.values.lock();
        let shared = values.iter().filter(|(_, value)| shares(value));
        if values.len() >= self.max || shared.count() >= share {
            return Err(value);
        }
        values.push_back((Instant::now() + self.timeout, value));
        drop(values);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes out all values that match.
    pub(super) fn take(&self, matches: impl Fn(&T) -> bool) -> Vec<T> {
        let mut values = self.values.lock();
        if values.is_empty() {
            return Vec::new();
        }
        let all = std::mem::take(&mut *values).into_iter();
        let (taken, kept): (VecDeque<_>, _) = all.partition(|(_, value)| matches(value));
        *values = kept;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// The next value whose timeout has passed. Dropping the future is safe.
    pub(super) async fn expired(&self) -> T {
        loop {
            let next = self.values.lock().front().map(|(until, _)| *until);
            match next {
                // A change since the check is not missed: `notify_one` is remembered.
                None => self.changed.notified().await,
                Some(until) => {
                    sleep_until(until).await;
                    // Another task may have taken the value meanwhile.
                    let is_late = |front: &mut (Instant, T)| front.0 <= Instant::now();
                    if let Some((_, value)) = self.values.lock().pop_front_if(is_late) {
                        return value;
                    }
                }
            }
        }
    }
}
