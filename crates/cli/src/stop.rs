use std::io;
use std::time::Duration;

/// Time limit for finishing a token refresh once the command has been told to end.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Waits for an interrupt or termination signal; signals count from the call on, not from the first poll.
pub(crate) fn signal() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        // Without a handler for signals, the command runs to its end.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
