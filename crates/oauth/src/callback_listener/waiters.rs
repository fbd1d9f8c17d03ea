use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::page::Page;
use crate::secret::Secret;

/// Waits for the redirect of one login.
///
/// Dropping it ends the wait; a redirect that comes later is refused.
#[derive(Debug)]
pub struct Waiter {
    key: Key,
    waiters: Waiters,
    arrival: oneshot::Receiver<Redirect>,
    deadline: Instant,
}

/// A redirect that came for a login.
#[derive(Debug)]
pub struct Redirect {
    query: Secret,
    page: oneshot::Sender<Page>,
    connection: Connection,
}

/// The browser's connection, which ends once it has its page; nothing is ever sent here.
pub(super) type Connection = watch::Receiver<()>;

/// Why a redirect will not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// Somebody waits for the same state.
    #[error("somebody waits for this login already")]
    Taken,
    /// Too many logins are under way.
    #[error("more than {limit} logins are under way")]
    TooMany {
        /// The most that may be.
        limit: usize,
    },
    /// The user has taken too long.
    #[error("nobody finished the login within {0:?}")]
    TimedOut(Duration),
    /// The listener has been dropped.
    #[error("the callback listener has stopped")]
    Stopped,
}

impl Waiter {
    /// Waits for the redirect.
    ///
    /// # Errors
    /// It did not come in time, or the listener has stopped.
    pub async fn redirect(mut self) -> Result<Redirect, WaitError> {
        match timeout_at(self.deadline, &mut self.arrival).await {
            Ok(Ok(redirect)) => Ok(redirect),
            Ok(Err(_)) => Err(WaitError::Stopped),
            Err(_) => Err(WaitError::TimedOut(self.waiters.patience)),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.waiters.by_state().remove(&self.key);
    }
}

impl Redirect {
    /// The query of the redirect: state, code and whatever else came.
    #[must_use]
    pub fn query(&self) -> &Secret {
        &self.query
    }

    /// Shows the user how the login has ended, and returns once the browser has the page.
    ///
    /// Without this, the page says nothing about it.
    pub async fn show(mut self, page: Page) {
        // A browser that has gone needs no page.
        if self.page.send(page).is_ok() {
            let _ = self.connection.changed().await;
        }
    }

    /// Whether the browser has been shown a page that says nothing, since nothing was known in time.
    pub(crate) fn is_too_late(&self) -> bool {
        self.page.is_closed()
    }
}

/// Who waits for which state.
#[derive(Debug, Clone)]
pub(super) struct Waiters {
    by_state: Arc<Mutex<HashMap<Key, oneshot::Sender<Redirect>>>>,
    limit: usize,
    patience: Duration,
}

/// A digest of a state: how long it takes to look one up says nothing about the others.
type Key = [u8; 32];

impl Waiters {
    pub(super) fn new(limit: usize, patience: Duration) -> Self {
        Self {
            by_state: Arc::default(),
            limit,
            patience,
        }
    }

    /// Waits for `state` from now on.
    pub(super) fn add(&self, state: &Secret) -> Result<Waiter, WaitError> {
        let key = key(state);
        let mut by_state = self.by_state();
        if by_state.contains_key(&key) {
            return Err(WaitError::Taken);
        }
        if by_state.len() >= self.limit {
            return Err(WaitError::TooMany { limit: self.limit });
        }
        let (sender, arrival) = oneshot::channel();
        by_state.insert(key, sender);
        Ok(Waiter {
            key,
            waiters: self.clone(),
            arrival,
            deadline: Instant::now() + self.patience,
        })
    }

    /// Hands a redirect to whoever waits for `state`, once, and returns where its page comes from.
    pub(super) fn deliver(
        &self,
        state: &Secret,
        query: Secret,
        connection: Connection,
    ) -> Option<oneshot::Receiver<Page>> {
        let waiter = self.by_state().remove(&key(state))?;
        let (page, shown) = oneshot::channel();
        let redirect = Redirect {
            query,
            page,
            connection,
        };
        waiter.send(redirect).ok()?;
        Some(shown)
    }

    /// Ends all waits.
    pub(super) fn stop(&self) {
        self.by_state().clear();
    }

    fn by_state(&self) -> MutexGuard<'_, HashMap<Key, oneshot::Sender<Redirect>>> {
        self.by_state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(state: &Secret) -> Key {
    Sha256::digest(state.expose()).into()
}
