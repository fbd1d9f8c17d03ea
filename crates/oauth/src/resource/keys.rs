use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use super::key_set::KeySet;
use super::refusal::Refusal;
use super::schedule::{Schedule, Supply};
use super::source::{KeysError, Source};
use super::token::Token;

/// Key cache of an issuer, with fetches on demand.
#[derive(Debug)]
pub(super) struct Keys(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    source: Arc<Source>,
    state: Mutex<KeysState>,
    /// Signals the end of each fetch.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct KeysState {
    schedule: Schedule,
    keys: Option<Arc<KeySet>>,
}

impl Keys {
    pub(super) fn new(source: Arc<Source>) -> Self {
        Self(Arc::new(Shared {
            source,
            state: Mutex::default(),
            ended: watch::Sender::new(()),
        }))
    }

    /// Fetches the keys, unless a fetch is running or was made recently.
    pub(super) async fn load(&self) -> Result<(), KeysError> {
        if !self.0.state().schedule.begin(Instant::now()) {
            return Ok(());
        }
        self.0.attempt().await
    }

    /// Verifies the signature of `token`.
    ///
    /// An unknown key may be a new one, so newer keys are fetched, but only as often as
    /// [`Schedule`] allows: any client can send a token with an unknown key. Dropping the future ends
    /// the wait; a fetch goes on for later requests.
    pub(super) async fn prove(&self, token: &Token<'_>) -> Result<(), Refusal> {
        let keys = self.current().await.ok_or(Refusal::Unavailable)?;
        let Err(flaw) = keys.prove(token) else {
            return Ok(());
        };
        match self.newer_than(&keys).await {
            Newer::Keys(keys) => Ok(keys.prove(token)?),
            Newer::None => Err(flaw.into()),
            Newer::Unknown => Err(Refusal::Unavailable),
        }
    }

    async fn current(&self) -> Option<Arc<KeySet>> {
        // Before the look at the cache, so that stale keys are replaced while they are used.
        self.0.refresh(Schedule::begin);
        if self.0.usable().is_none() {
            self.0.settled().await;
        }
        self.0.usable()
    }

    async fn newer_than(&self, known: &Arc<KeySet>) -> Newer {
        let is_newer = |keys: &Arc<KeySet>| !Arc::ptr_eq(keys, known);
        // A fetch may have ended since the caller took its keys.
        if let Some(keys) = self.0.state().keys.clone().filter(is_newer) {
            return Newer::Keys(keys);
        }
        self.0.refresh(Schedule::begin_for_unknown_key);
        self.0.settled().await;
        let state = self.0.state();
        match state.keys.clone().filter(is_newer) {
            Some(keys) => Newer::Keys(keys),
            None if state.schedule.has_failed() => Newer::Unknown,
            None => Newer::None,
        }
    }
}

enum Newer {
    Keys(Arc<KeySet>),
    None,
    /// The keys could not be fetched.
    Unknown,
}

impl Shared {
    /// Cached keys, unless they are too old.
    fn usable(&self) -> Option<Arc<KeySet>> {
        let state = self.state();
        match state.schedule.supply(Instant::now()) {
            Supply::Fresh | Supply::Stale => state.keys.clone(),
            Supply::Gone => None,
        }
    }

    /// Fetches the keys in a background task, if `begin` allows it.
    fn refresh(self: &Arc<Self>, begin: fn(&mut Schedule, Instant) -> bool) {
        if !begin(&mut self.state().schedule, Instant::now()) {
            return;
        }
        let shared = self.clone();
        tokio::spawn(async move {
            if let Err(error) = shared.attempt().await {
                let issuer = shared.source.issuer();
                let error: &(dyn std::error::Error + 'static) = &error;
                tracing::warn!(issuer, error, "cannot fetch the keys of the issuer");
            }
        });
    }

    /// Makes one fetch. If it is dropped, it counts as failed.
    async fn attempt(&self) -> Result<(), KeysError> {
        let mut outcome = Outcome {
            shared: self,
            keys: None,
        };
        outcome.keys = Some(Arc::new(self.source.load().await?));
        Ok(())
    }

    /// Waits until no fetch is running. Each one has a time limit.
    async fn settled(&self) {
        // Before the look at the schedule, so that an end between the two is not missed.
        let mut ended = self.ended.subscribe();
        while self.state().schedule.is_running() {
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, KeysState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a fetch when it is dropped.
struct Outcome<'a> {
    shared: &'a Shared,
    keys: Option<Arc<KeySet>>,
}

impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.shared.state();
        match self.keys.take() {
            Some(keys) => {
                state.keys = Some(keys);
                state.schedule.succeed(now);
            }
            None => state.schedule.fail(now),
        }
        // Released first, because all that wait look at the state at once.
        drop(state);
        self.shared.ended.send_replace(());
    }
}
