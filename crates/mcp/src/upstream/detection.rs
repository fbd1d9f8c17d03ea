use std::future::{Future, ready};
use std::sync::{Arc, OnceLock};

use callgate_wire::Version;
use callgate_wire::legacy::method::opens_session;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::error::{Error, Kind};
#[cfg(feature = "legacy")]
use crate::legacy::client::session::Session;
use crate::mutex::Mutex;
#[cfg(feature = "legacy")]
use crate::service::Service as _;
use crate::service::{BoxFuture, Call, Reply};
use crate::transport::line::Link;
use crate::transport::{self, CloseReason, ConnectionState};

/// Detection of the revision of a server on lines: made by the first call, shared by all calls.
///
/// It also watches the connection, so that [`Detection::closed`] works while no call is made.
pub(crate) struct Detection {
    attempt: Mutex<Attempt>,
    state: StateCell,
}

pub(crate) enum Detected {
    /// The server speaks the newest revision, on this link.
    Modern(Arc<Link>),
    /// The server speaks an older revision, and a session is open.
    #[cfg(feature = "legacy")]
    Old(Arc<Session>, Arc<Link>),
}

/// Handle of the task that detects, by which it starts to watch each link that it makes.
#[derive(Clone)]
pub(crate) struct LinkWatcher {
    state: StateCell,
    generation: u64,
}

/// State of the connection and the number of restarts, which tells late events of an earlier
/// process apart.
type StateCell = Arc<watch::Sender<(u64, ConnectionState)>>;

/// Outcome of a detection, once it has ended.
type Outcome = Arc<OnceLock<Result<Detected, CloseReason>>>;

/// One detection, which may not have begun.
#[derive(Default)]
struct Attempt {
    outcome: Outcome,
    running: Option<(AbortHandle, watch::Receiver<()>)>,
}

impl Detection {
    /// A detection that has not begun, of the server on `link`.
    pub(crate) fn new(link: &Arc<Link>) -> Self {
        let state = watch::Sender::new((0, ConnectionState::NotConnected));
        let detection = Self {
            attempt: Mutex::default(),
            state: Arc::new(state),
        };
        detection.watcher(|_| {}).watch(link.clone());
        detection
    }

    /// Makes a call. If the revision is not known yet, `detect` is run, once for all calls.
    pub(crate) fn call<'a, F>(
        &'a self,
        name: &'a Arc<str>,
        call: Call,
        detect: impl FnOnce(LinkWatcher) -> F + Send + 'a,
    ) -> BoxFuture<'a, Result<Reply, Error>>
    where
        F: Future<Output = Result<Detected, Error>> + Send + 'static,
    {
        // All callers share the connection: none may change its era for the others.
        if opens_session(&call.method) {
            return Box::pin(ready(Err(Error::method_not_found(&call.method))));
        }
        let outcome = self.attempt.lock().outcome.clone();
        match outcome.get() {
            // One box for the whole call: this is the path of every call but the first.
            Some(Ok(Detected::Modern(link))) => {
                let link = link.clone();
                Box::pin(async move { link.call(call).await })
            }
            Some(_) => Box::pin(call_detected(outcome, name, call)),
            None => Box::pin(async move {
                let outcome = self.detected(name, detect).await;
                call_detected(outcome, name, call).await
            }),
        }
    }

    /// Passes on a notification of a client, in the same way as a call.
    pub(crate) async fn notify<F>(
        &self,
        name: &Arc<str>,
        notification: Call,
        detect: impl FnOnce(LinkWatcher) -> F,
    ) where
        F: Future<Output = Result<Detected, Error>> + Send + 'static,
    {
        let outcome = self.attempt.lock().outcome.clone();
        let outcome = match outcome.get() {
            Some(_) => outcome,
            None => self.detected(name, detect).await,
        };
        match outcome.get() {
            Some(Ok(Detected::Modern(link))) => link.pass_on(notification).await,
            #[cfg(feature = "legacy")]
            Some(Ok(Detected::Old(session, _))) => session.notify(notification).await,
            _ => tracing::debug!(server = %name, "dropped a notification: there is no connection"),
        }
    }

    /// Waits for the detection, which is begun unless it has begun.
    async fn detected<F>(&self, name: &Arc<str>, detect: impl FnOnce(LinkWatcher) -> F) -> Outcome
    where
        F: Future<Output = Result<Detected, Error>> + Send + 'static,
    {
        let (outcome, mut done) = self.begin(name, detect);
        // Nothing is ever sent: the channel closes when the detection has ended.
        while done.changed().await.is_ok() {}
        outcome
    }

    /// Revision that the server speaks, once it is detected.
    pub(crate) fn version(&self) -> Option<Version> {
        let outcome = self.attempt.lock().outcome.clone();
        Some(outcome.get()?.as_ref().ok()?.version())
    }

    pub(crate) fn state(&self) -> ConnectionState {
        self.state.borrow().1.clone()
    }

    /// Waits until the connection is closed or the detection has failed. Dropping the future is
    /// safe.
    pub(crate) async fn closed(&self) -> CloseReason {
        transport::closed(&self.state, |state| state.1.close_reason()).await
    }

    /// Forgets the outcome, so that the next call detects again; `link` is the connection from now
    /// on. A detection that runs is stopped, and the calls that wait for it fail.
    pub(crate) fn reset(&self, link: &Arc<Link>) {
        let mut attempt = self.attempt.lock();
        // Dropped after the lock is released: this ends a session, and what belongs to it.
        let before = std::mem::take(&mut *attempt);
        // Before it is released: a call that begins the next detection must not count as one from before.
        let watcher = self.watcher(|state| *state = (state.0 + 1, ConnectionState::NotConnected));
        drop(attempt);
        // After the change of the state: reports of the task that is stopped no longer count then.
        before.abort();
        watcher.watch(link.clone());
    }

    /// Begins the detection unless it has begun.
    ///
    /// It goes on when the call that began it is dropped: a handshake cannot be taken back.
    fn begin<F>(
        &self,
        name: &Arc<str>,
        detect: impl FnOnce(LinkWatcher) -> F,
    ) -> (Outcome, watch::Receiver<()>)
    where
        F: Future<Output = Result<Detected, Error>> + Send + 'static,
    {
        let mut attempt = self.attempt.lock();
        if let Some((_, done)) = &attempt.running {
            return (attempt.outcome.clone(), done.clone());
        }
        let watcher = self.watcher(|state| state.1 = ConnectionState::Connecting);
        let detecting = detect(watcher.clone());
        let (working, done) = watch::channel(());
        let (outcome, name) = (attempt.outcome.clone(), name.clone());
        let task = tokio::spawn(async move {
            let detected = detecting.await;
            let detected = detected.map_err(|error| CloseReason::of_error(&name, &error));
            // The state first, so that calls which find the outcome do not find `Connecting` beside it.
            watcher.end_connecting(&detected);
            // It cannot be set already: only this task sets it.
            let _ = outcome.set(detected);
            // This wakes the calls that wait; so does stopping the task.
            drop(working);
        });
        attempt.running = Some((task.abort_handle(), done.clone()));
        (attempt.outcome.clone(), done)
    }

    /// Changes the state, and returns a watcher of the process that it is then about.
    fn watcher(&self, change: impl FnOnce(&mut (u64, ConnectionState))) -> LinkWatcher {
        self.state.send_modify(change);
        LinkWatcher {
            generation: self.state.borrow().0,
            state: self.state.clone(),
        }
    }
}

/// Makes a call after the detection.
async fn call_detected(outcome: Outcome, name: &Arc<str>, call: Call) -> Result<Reply, Error> {
    // In either case of an error the call was not sent.
    match outcome.get() {
        Some(Ok(Detected::Modern(link))) => link.call(call).await,
        #[cfg(feature = "legacy")]
        Some(Ok(Detected::Old(session, _))) => session.call(call).await,
        Some(Err(reason)) => Err(reason.to_error().retry_safe()),
        None => {
            let text = format!("server `{name}` was restarted before the call was sent");
            let error = Error::new(Kind::Closed, text).from_upstream(name);
            Err(error.retry_safe())
        }
    }
}

impl Drop for Detection {
    fn drop(&mut self) {
        self.attempt.lock().abort();
    }
}

impl Attempt {
    fn abort(&self) {
        if let Some((task, _)) = &self.running {
            task.abort();
        }
    }
}

impl Detected {
    fn version(&self) -> Version {
        match self {
            Self::Modern(_) => Version::LATEST,
            #[cfg(feature = "legacy")]
            Self::Old(session, _) => session.version(),
        }
    }

    fn link(&self) -> &Link {
        match self {
            Self::Modern(link) => link,
            #[cfg(feature = "legacy")]
            Self::Old(_, link) => link,
        }
    }
}

impl LinkWatcher {
    /// Reports the end of `link`, unless a detection runs: that one decides what the end means.
    pub(crate) fn watch(&self, link: Arc<Link>) {
        let Self { state, generation } = self.clone();
        tokio::spawn(async move {
            let reason = link.closed().await;
            state.send_if_modified(|state| {
                let counts =
                    state.0 == generation && !matches!(state.1, ConnectionState::Connecting);
                if counts {
                    state.1 = ConnectionState::Closed(reason);
                }
                counts
            });
        });
    }

    /// Reports the outcome of the detection.
    fn end_connecting(&self, detected: &Result<Detected, CloseReason>) {
        self.state.send_if_modified(|state| {
            let counts = state.0 == self.generation;
            if counts {
                // The end of a link was not reported while the detection ran.
                state.1 = match detected {
                    Err(reason) => ConnectionState::Closed(reason.clone()),
                    Ok(detected) => match detected.link().close_reason() {
                        Some(reason) => ConnectionState::Closed(reason),
                        None => ConnectionState::Connected {
                            version: detected.version(),
                        },
                    },
                };
            }
            counts
        });
    }
}
