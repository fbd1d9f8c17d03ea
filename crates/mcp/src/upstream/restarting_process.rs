use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::process::Process;
use crate::error::{Error, Kind, Retry};
use crate::service::{BoxFuture, Call, Reply, Service};

/// A child process that is started again when a call finds that it has exited.
///
/// A call is sent once more only if it certainly did not reach the process that exited. A process
/// that exits again and again is started after growing pauses; calls in between fail at once, with
/// [`Error::retry_after`].
pub struct RestartingProcess {
    process: Arc<Process>,
    schedule: Mutex<RestartSchedule>,
    /// True once it is closed on purpose.
    is_closed: AtomicBool,
}

/// Times of the starts of a process.
#[derive(Debug)]
struct RestartSchedule {
    started: Instant,
    /// Time between the last start and the next one.
    pause: Duration,
}

/// Pause after the first restart; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause. A process that ran as long is started again at once.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl RestartingProcess {
    /// Restarts `process` when it has exited.
    #[must_use]
    pub fn new(process: Arc<Process>) -> Self {
        Self {
            process,
            schedule: Mutex::new(RestartSchedule::new(Instant::now())),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Ends the process as [`Process::close`] does, and starts it no more.
    pub async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        // A restart that checked this before ends first, so that its process is closed and not left behind.
        drop(self.schedule.lock().await);
        self.process.close().await;
    }

    async fn answer(&self, call: Call) -> Result<Reply, Error> {
        self.restart_if_closed().await?;
        match self.process.call(call.clone()).await {
            // Any other call may have been carried out before the server exited.
            Err(error) if error.kind() == Kind::Closed && error.retry() == Retry::Safe => {
                self.restart_if_closed().await?;
                self.process.call(call).await
            }
            outcome => outcome,
        }
    }

    async fn restart_if_closed(&self) -> Result<(), Error> {
        if self.process.state().close_reason().is_none() {
            return Ok(());
        }
        // Calls that find the same exit wait here for one restart.
        let mut schedule = self.schedule.lock().await;
        let state = self.process.state();
        let Some(reason) = state.close_reason() else {
            return Ok(());
        };
        // After the wait, during which the process may have been closed.
        if self.is_closed.load(Ordering::Acquire) {
            return Err(reason.to_error().retry_safe());
        }
        if let Err(wait) = schedule.start(Instant::now()) {
            let error = reason.to_error().retry_safe();
            return Err(error.with_retry_after(wait));
        }
        tracing::warn!(%reason, "starting the server again");
        self.process.restart().await
    }
}

impl Service for RestartingProcess {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.answer(call))
    }

    /// Starts no process: a notification is about what the one before knew.
    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.process.notify(notification)
    }
}

impl RestartSchedule {
    fn new(started: Instant) -> Self {
        Self {
            started,
            pause: Duration::ZERO,
        }
    }

    /// Counts a start now, unless it is too early; then the time to wait is returned.
    fn start(&mut self, now: Instant) -> Result<(), Duration> {
        let lived = now.duration_since(self.started);
        // A server that ran for so long does not fail at its start.
        if lived >= LONGEST_PAUSE {
            self.pause = Duration::ZERO;
        }
        if lived < self.pause {
            return Err(self.pause.saturating_sub(lived));
        }
        self.started = now;
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_exits_at_once_is_started_less_and_less_often() {
        let begin = Instant::now();
        let mut schedule = RestartSchedule::new(begin);
        let mut start = |seconds| schedule.start(begin + Duration::from_secs(seconds));
        let wait = |seconds| Err(Duration::from_secs(seconds));
        let longest = LONGEST_PAUSE.as_secs();
        for (seconds, expect) in [
            (0, Ok(())),
            (0, wait(1)),
            (1, Ok(())),
            (2, wait(1)),
            (3, Ok(())),
            (7, Ok(())),
            (14, wait(1)),
            // A process that ran for long enough has no pause.
            (7 + longest, Ok(())),
            (7 + longest, wait(1)),
        ] {
            assert_eq!(start(seconds), expect, "{seconds}");
        }
        let mut schedule = RestartSchedule::new(begin);
        schedule.pause = LONGEST_PAUSE / 2 + FIRST_PAUSE;
        assert_eq!(schedule.start(begin + LONGEST_PAUSE / 2), wait(1));
        assert_eq!(schedule.start(begin + LONGEST_PAUSE - FIRST_PAUSE), Ok(()));
        assert_eq!(schedule.pause, LONGEST_PAUSE);
    }
}
