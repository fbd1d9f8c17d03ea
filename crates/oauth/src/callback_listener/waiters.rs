use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::page::Page;
use crate::secret::Secret;

/// Wait for the redirect of one login.
///
/// Dropping it ends the wait; a later redirect is refused.
#[derive(Debug)]
pub struct Waiter {
    key: Key,
    waiters: Waiters,
    arrival: oneshot::Receiver<Redirect>,
    deadline: Instant,
}

/// Redirect of a login.
#[derive(Debug)]
pub struct Redirect {
    query: Secret,
    page: oneshot::Sender<Page>,
    connection: Connection,
}

/// Connection of the browser. The channel closes once the page is sent; it carries no values.
pub(super) type Connection = watch::Receiver<()>;

/// The redirect will not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// There is a wait for the same state.
    #[error("this login is already in progress")]
    Taken,
    /// Too many logins are in progress.
    #[error("more than {limit} logins are in progress")]
    TooMany {
        /// Maximum number of logins.
        limit: usize,
    },
    /// The user did not finish the login in time.
    #[error("the login was not finished within {0:?}")]
    TimedOut(Duration),
    /// The listener has been dropped.
    #[error("the callback listener has stopped")]
    Stopped,
}

impl Waiter {
    /// Waits for the redirect.
    ///
    /// # Errors
    /// The redirect did not come in time, or the listener has stopped.
    pub async fn redirect(mut self) -> Result<Redirect, WaitError> {
        match timeout_at(self.deadline, &mut self.arrival).await {
            Ok(Ok(redirect)) => Ok(redirect),
            Ok(Err(_)) => Err(WaitError::Stopped),
            Err(_) => Err(WaitError::TimedOut(self.waiters.timeout)),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.waiters.by_state().remove(&self.key);
    }
}

impl Redirect {
    /// Query of the redirect, with state and code.
    #[must_use]
    pub fn query(&self) -> &Secret {
        &self.query
    }

    /// Shows the result of the login, and returns once the browser has the page.
    ///
    /// Without this, the page does not mention the result.
    pub async fn show(mut self, page: Page) {
        // A browser that has disconnected needs no page.
        if self.page.send(page).is_ok() {
            let _ = self.connection.changed().await;
        }
    }

    /// Returns true if the browser was shown a neutral page, because the result was not known in
    /// time.
    pub(crate) fn is_too_late(&self) -> bool {
        self.page.is_closed()
    }
}

/// Waits by state.
#[derive(Debug, Clone)]
pub(super) struct Waiters {
    by_state: Arc<Mutex<HashMap<Key, oneshot::Sender<Redirect>>>>,
    limit: usize,
    timeout: Duration,
}

/// Digest of a state, so that the time of a lookup reveals nothing about other states.
type Key = [u8; 32];

impl Waiters {
    pub(super) fn new(limit: usize, timeout: Duration) -> Self {
        Self {
            by_state: Arc::default(),
            limit,
            timeout,
        }
    }

    /// Registers a wait.
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
            deadline: Instant::now() + self.timeout,
        })
    }

    /// Delivers a redirect to the wait for `state`, once, and returns the receiver of its page.
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
