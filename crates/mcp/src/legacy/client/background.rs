use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Sends small messages in the background: answers, cancellations, and the ends of sessions.
///
/// Their number is limited, and each has a timeout.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundSender {
    permits: Arc<Semaphore>,
    timeout: Duration,
}

/// Maximum number of messages on their way: as many calls may be dropped at once.
#[cfg(feature = "http-client")]
const MAX_TASKS: u32 = 1024;

/// Timeout of one message.
#[cfg(feature = "http-client")]
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

impl BackgroundSender {
    #[cfg(feature = "http-client")]
    pub(crate) fn new() -> Self {
        Self::with_limits(MAX_TASKS, SEND_TIMEOUT)
    }

    /// Sends up to `max` messages at once, each with this timeout.
    pub(super) fn with_limits(max: u32, timeout: Duration) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(max as usize)),
            timeout,
        }
    }

    /// Runs `task` in the background. It is dropped if the runtime has ended or too many are running.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let permit = self.permits.clone().try_acquire_owned();
        // Calls may be dropped outside of a runtime, for example when a program ends.
        let (Ok(permit), Ok(runtime)) = (permit, Handle::try_current()) else {
            tracing::debug!("dropped a message to an old server: too many are on their way");
            return;
        };
        let task = tokio::time::timeout(self.timeout, task);
        runtime.spawn(async move {
            if task.await.is_err() {
                tracing::debug!("sending a message to an old server timed out");
            }
            drop(permit);
        });
    }

    /// Waits until all tasks so far have ended.
    #[cfg(feature = "http-client")]
    pub(crate) async fn idle(&self) {
        // It cannot fail: the semaphore is never closed.
        let _all = self.permits.acquire_many(MAX_TASKS).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn only_so_much_is_done_at_once_and_not_for_long() {
        let background = BackgroundSender::new();
        let begun = Arc::new(AtomicU32::new(0));
        for _ in 0..=MAX_TASKS {
            let begun = begun.clone();
            background.run(async move {
                begun.fetch_add(1, Ordering::Relaxed);
                std::future::pending::<()>().await;
            });
        }
        background.idle().await;
        assert_eq!(begun.load(Ordering::Relaxed), MAX_TASKS);
    }
}
