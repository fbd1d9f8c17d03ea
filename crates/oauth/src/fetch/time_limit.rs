use std::time::Duration;

use tokio::time::{Instant, timeout};

/// Runs `work` for at most `limit`; `None` if that was not enough.
///
/// Only time in which this process runs counts. A process that was stopped, by Ctrl-Z for example,
/// finds every timer expired when it goes on, before it has read an answer that came meanwhile. If
/// it gave up then, it would lose a refresh token that is issued only once.
pub(crate) async fn within<T>(
    limit: Duration,
    mut work: impl Future<Output = T> + Unpin,
) -> Option<T> {
    let mut left = limit;
    while !left.is_zero() {
        let slice = left.min(SLICE);
        let begun = Instant::now();
        if let Ok(done) = timeout(slice, &mut work).await {
            return Some(done);
        }
        let was_stopped = begun.elapsed() > slice + SLICE;
        if !was_stopped {
            left -= slice;
        }
    }
    None
}

/// Step in which time is counted. A step that takes much longer is not.
const SLICE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::{Instant, advance, sleep};

    use super::within;

    const LIMIT: Duration = Duration::from_millis(30_500);

    #[tokio::test(start_paused = true)]
    async fn work_has_its_time_and_no_more() {
        let start = Instant::now();
        assert_eq!(within(LIMIT, pending::<()>()).await, None);
        // The clock of the runtime counts in milliseconds, and rounds up in each step.
        let late = start.elapsed() - LIMIT;
        assert!(late < Duration::from_millis(100), "{late:?}");
        let work = Box::pin(sleep(LIMIT - Duration::from_millis(400)));
        assert_eq!(within(LIMIT, work).await, Some(()));
        assert_eq!(within(Duration::ZERO, pending::<()>()).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_came_while_the_process_was_stopped_is_read() {
        let (answer, answered) = oneshot::channel();
        let outer = tokio::spawn(within(2 * LIMIT, Box::pin(within(LIMIT, answered))));
        tokio::task::yield_now().await;
        // Both limits are over at once, and the answer is seen after that.
        advance(10 * LIMIT).await;
        tokio::task::yield_now().await;
        answer.send("token").unwrap();
        assert_eq!(outer.await.unwrap(), Some(Some(Ok("token"))));
    }
}
