use std::io;
use std::time::Duration;

/// Time limit for finishing a token refresh once the command has been told to end.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Waits for a signal to end: interrupt, termination, or the end of the terminal. Signals count from the call
/// on, not from the first poll.
pub(crate) fn signal() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = match is_hangup_ignored() {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        Ok(async move {
            let hangup = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup => {}
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

/// True if the command is to outlive its terminal: `nohup` has the signal ignored, and a handler would undo
/// that. Best-effort: only Linux tells.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first bit stands for the first signal, which is SIGHUP.
    mask.is_some_and(|mask| mask & 1 == 1)
}
