use std::io;
use std::time::Duration;

/// Time limit for finishing a token refresh once the command has been told to end.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Signals to end: interrupt, termination, or the end of the terminal. They count from the creation on.
pub(crate) struct StopSignals {
    #[cfg(unix)]
    signals: Vec<tokio::signal::unix::Signal>,
}

impl StopSignals {
    pub(crate) fn listen() -> io::Result<Self> {
        Self::listen_for(!is_hangup_ignored())
    }

    /// Signals that end a service, which reloads its configuration at a hangup unless it has a terminal.
    fn listen_as_service() -> io::Result<Self> {
        Self::listen_for(!is_hangup_ignored() && has_terminal())
    }

    fn listen_for(hangup: bool) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
            if hangup {
                kinds.push(SignalKind::hangup());
            }
            let signals = kinds.into_iter().map(signal).collect::<Result<_, _>>()?;
            Ok(Self { signals })
        }
        #[cfg(not(unix))]
        {
            let _ = hangup;
            Ok(Self {})
        }
    }

    /// Waits for the next signal. Dropping the future is safe.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        std::future::poll_fn(|cx| {
            let mut polled = self.signals.iter_mut().map(|signal| signal.poll_recv(cx));
            match polled.any(|polled| polled.is_ready()) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
        #[cfg(not(unix))]
        // Without a handler for signals, the command runs to its end.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signal by which the user asks a service to read its configuration again: a hangup, where that does not mean
/// that the terminal is gone.
pub(crate) struct ReloadSignal {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl ReloadSignal {
    fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let is_used = !is_hangup_ignored() && !has_terminal();
            let signal = is_used.then(|| signal(SignalKind::hangup())).transpose()?;
            Ok(Self { signal })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// None: a hangup ends this process.
    fn none() -> Self {
        Self {
            #[cfg(unix)]
            signal: None,
        }
    }

    /// Waits for the signal. Dropping the future is safe.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Signals to a process that serves. They count from the creation on.
pub(crate) struct ServingSignals {
    pub(crate) stop: StopSignals,
    pub(crate) reload: ReloadSignal,
}

impl ServingSignals {
    /// Signals to the server of one client, which all end it.
    pub(crate) fn of_one_client() -> io::Result<Self> {
        Ok(Self {
            stop: StopSignals::listen()?,
            reload: ReloadSignal::none(),
        })
    }

    /// Signals to a service, which reads its configuration again at a hangup.
    pub(crate) fn of_service() -> io::Result<Self> {
        Ok(Self {
            stop: StopSignals::listen_as_service()?,
            reload: ReloadSignal::listen()?,
        })
    }
}

/// Waits for a signal to end. Signals count from the call on, not from the first poll.
pub(crate) fn signal() -> io::Result<impl Future<Output = ()>> {
    let mut signals = StopSignals::listen()?;
    Ok(async move { signals.next().await })
}

/// True if the process has a terminal, which can go away.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

#[cfg(not(unix))]
fn has_terminal() -> bool {
    true
}

#[cfg(not(unix))]
fn is_hangup_ignored() -> bool {
    false
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
