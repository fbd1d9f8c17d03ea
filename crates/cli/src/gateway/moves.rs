use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Changes of the process that runs the servers. Calls that one of them disturbs wait for its end.
#[derive(Debug, Default)]
pub(super) struct Moves(watch::Sender<MoveState>);

#[derive(Debug, Clone, Copy, Default)]
struct MoveState {
    /// Number of changes that have ended.
    count: u64,
    is_moving: bool,
}

/// A change, which ends when this is dropped.
pub(super) struct Moving<'a>(&'a Moves);

/// Time for which a call waits for the end of a change.
const LIMIT: Duration = Duration::from_secs(10);

/// Time for which a call that was not delivered waits for a change. The end of a process is noticed at once; one that
/// runs and does not answer is no reason for a change.
const NOTICE: Duration = Duration::from_secs(3);

impl Moves {
    pub(super) fn begin(&self) -> Moving<'_> {
        self.0.send_modify(|state| state.is_moving = true);
        Moving(self)
    }

    pub(super) fn count(&self) -> u64 {
        self.0.borrow().count
    }

    /// Waits for the end of a change, if there is one under way.
    pub(super) async fn finished(&self) {
        if !self.0.borrow().is_moving {
            return;
        }
        self.wait(LIMIT, |state| !state.is_moving).await;
    }

    /// Waits for the end of a change after the one with the number `count`. Returns false if there is none.
    pub(super) async fn next(&self, count: u64) -> bool {
        self.wait(NOTICE, |state| state.count != count).await
    }

    async fn wait(&self, limit: Duration, is_there: impl Fn(&MoveState) -> bool) -> bool {
        let mut states = self.0.subscribe();
        let wait = timeout(limit, states.wait_for(is_there)).await;
        wait.is_ok_and(|wait| wait.is_ok())
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| {
            state.count += 1;
            state.is_moving = false;
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn calls_wait_for_the_end_of_a_change() {
        let moves = Moves::default();
        moves.finished().await;
        let moving = moves.begin();
        let mut finished = std::pin::pin!(moves.finished());
        assert_eq!(finished.as_mut().now_or_never(), None);
        drop(moving);
        finished.await;
        assert!(moves.next(0).await);
        assert_eq!(moves.next(1).now_or_never(), None);
    }
}
