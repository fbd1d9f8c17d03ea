use std::fmt::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::disk::beside;
use super::error::StoreError;
use super::failure::{FailedRefresh, MAX_RECORD};
use super::lock::Lock;
use super::login::{Login, Tokens};
use super::login_store::LoginStore;
use crate::secret::Secret;

/// Answer to [`LoginStore::begin_refresh`].
#[derive(Debug)]
#[non_exhaustive]
pub enum RefreshDecision {
    /// Another process has replaced the token: use this login.
    Replaced(Login),
    /// This process may replace the token; others wait.
    Permitted(RefreshPermit),
    /// There are no tokens any more: log in.
    NoTokens,
}

/// Permission to refresh the tokens of one login. It ends when it is dropped.
///
/// Drop it if the refresh failed without an answer: the tokens stay.
#[derive(Debug)]
pub struct RefreshPermit {
    store: LoginStore,
    name: String,
    login: Login,
    tokens: Box<Tokens>,
    last_failure: Option<FailedRefresh>,
    /// Absent in memory: the single flight of a token source is the only one there.
    lock: Option<Lock>,
}

impl LoginStore {
    /// Asks to replace the tokens of a login because its access token `seen` no longer works.
    ///
    /// Waits while another process does so. The stored token is compared under the lock, so that a
    /// process that waited uses the new token instead of spending the old refresh token again.
    ///
    /// # Errors
    /// The file cannot be read, or another process has been refreshing for too long.
    pub fn begin_refresh(&self, name: &str, seen: &Secret) -> Result<RefreshDecision, StoreError> {
        let lock = match self.memory {
            Some(_) => None,
            None => Some(self.lock_refresh(name)?),
        };
        let Some(login) = self.login(name)? else {
            return Ok(RefreshDecision::NoTokens);
        };
        Ok(match login.tokens.clone() {
            None => RefreshDecision::NoTokens,
            Some(tokens) if tokens.access_token != *seen => RefreshDecision::Replaced(login),
            Some(tokens) => RefreshDecision::Permitted(RefreshPermit {
                last_failure: lock.as_ref().and_then(|lock| last_failure(lock, seen)),
                store: self.clone(),
                name: name.to_owned(),
                login,
                tokens: Box::new(tokens),
                lock,
            }),
        })
    }

    /// Waits for other processes that refresh the same login, and tells the user if that takes long.
    fn lock_refresh(&self, name: &str) -> Result<Lock, StoreError> {
        let path = self.refresh_lock(name)?;
        Lock::acquire(&path, self.limits.refresh_wait, || {
            tracing::warn!("waiting for another process, which is refreshing the login `{name}`");
        })
    }

    /// Lock file of one login, so that a slow authorization server delays no other login.
    fn refresh_lock(&self, name: &str) -> Result<PathBuf, StoreError> {
        let mut suffix = ".refresh-".to_owned();
        // Names are URLs, which no file name can be. A collision would only make two logins wait for each
        // other.
        for byte in Sha256::digest(name).iter().take(8) {
            write!(suffix, "{byte:02x}").expect("a string can be written");
        }
        Ok(beside(&self.file()?, &(suffix + ".lock")))
    }
}

impl RefreshPermit {
    /// Current login.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// Tokens to replace.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Last attempt to replace these tokens, if it failed without an answer.
    #[must_use]
    pub fn last_failure(&self) -> Option<&FailedRefresh> {
        self.last_failure.as_ref()
    }

    /// Records that this attempt failed without an answer, for the processes that come next.
    ///
    /// `times` are those of the failure and of the next attempt, in Unix seconds. Best-effort:
    /// without the record, the next process makes an attempt of its own.
    pub fn record_failure(&self, reason: &str, failures: u32, times: (f64, f64)) {
        let Some(lock) = &self.lock else { return };
        let record = FailedRefresh::new(&self.tokens.access_token, reason, failures, times);
        if let Err(error) = lock.set_record(&record.to_bytes()) {
            tracing::debug!(%error, "cannot record a failed refresh");
        }
    }

    /// Checks that new tokens could be stored, before the old refresh token is spent.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        self.store.check_writable()
    }

    /// Stores the tokens of a refresh, and returns the login to use. Fields that the response left
    /// out keep their value.
    ///
    /// A login or logout that the user made meanwhile wins; `None` means that the user is logged
    /// out. After an error this can be tried again, while other processes still wait.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn complete(&self, tokens: Tokens) -> Result<Option<Login>, StoreError> {
        let tokens = tokens.completed_from(&self.tokens);
        self.replace_tokens(Some(tokens))
    }

    /// Deletes the tokens because the authorization server has revoked them.
    ///
    /// Tokens that were stored meanwhile stay and are returned: the server spoke of the old ones.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn reject(&self) -> Result<Option<Login>, StoreError> {
        self.replace_tokens(None)
    }

    /// Deletes the refresh token because the authorization server has revoked it. The access token
    /// stays until it expires.
    ///
    /// Tokens that were stored meanwhile stay and are returned.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn reject_refresh_token(&self) -> Result<Option<Login>, StoreError> {
        let mut tokens = Tokens::clone(&self.tokens);
        tokens.refresh_token = None;
        self.replace_tokens(Some(tokens))
    }

    /// Replaces the tokens, if they are still the ones that the permit was given for.
    fn replace_tokens(&self, tokens: Option<Tokens>) -> Result<Option<Login>, StoreError> {
        self.store.edit(|document| {
            let has_tokens = |login: &Login| login.tokens.is_some();
            let Some(mut login) = document.login(&self.name).filter(has_tokens) else {
                return (None, None);
            };
            if login.tokens.as_ref() != Some(&self.tokens) {
                return (None, Some(login));
            }
            login.tokens = tokens;
            let changed = document.with_login(&self.name, &login);
            (Some(changed), Some(login).filter(has_tokens))
        })
    }
}

fn last_failure(lock: &Lock, seen: &Secret) -> Option<FailedRefresh> {
    // A record that cannot be read is missing: the next attempt is then made at once.
    FailedRefresh::read(&lock.record(MAX_RECORD).ok()?, seen)
}
