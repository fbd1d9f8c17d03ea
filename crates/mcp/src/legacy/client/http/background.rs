use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Small things to send that nobody waits for: cancellations, and the ends of sessions.
///
/// Only so many are under way at once, and each only for so long.
#[derive(Debug, Clone)]
pub(in crate::legacy::client) struct Background(Arc<Semaphore>);

/// As many calls may be dropped at once.
const MOST: u32 = 1024;

/// How long one of them may take.
const TIME: Duration = Duration::from_secs(5);

impl Background {
    pub(in crate::legacy::client) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST as usize)))
    }

    /// Does `task` some time soon. Where there is no runtime any more, or too much to do, it is left.
    pub(super) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let permit = self.0.clone().try_acquire_owned();
        let (Ok(permit), Ok(runtime)) = (permit, Handle::try_current()) else {
            tracing::debug!("could not tell an old server that something is over");
            return;
        };
        runtime.spawn(async move {
            if tokio::time::timeout(TIME, task).await.is_err() {
                tracing::debug!("an old server did not take a message in time");
            }
            drop(permit);
        });
    }

    /// Waits until everything so far is done.
    pub(in crate::legacy::client) async fn idle(&self) {
        // It cannot fail: the semaphore is never closed.
        let _all = self.0.acquire_many(MOST).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn only_so_much_is_done_at_once_and_not_for_long() {
        let background = Background::new();
        let begun = Arc::new(AtomicU32::new(0));
        for _ in 0..=MOST {
            let begun = begun.clone();
            background.run(async move {
                begun.fetch_add(1, Ordering::Relaxed);
                std::future::pending::<()>().await;
            });
        }
        background.idle().await;
        assert_eq!(begun.load(Ordering::Relaxed), MOST);
    }
}
