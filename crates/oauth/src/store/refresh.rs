use std::fmt::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::disk::beside;
use super::error::StoreError;
use super::lock::Lock;
use super::login::{Login, Tokens};
use super::login_store::LoginStore;
use crate::secret::Secret;

/// Answer to [`LoginStore::begin_refresh`].
#[derive(Debug)]
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
    /// Absent in memory: the single flight of a token source is the only one there.
    _lock: Option<Lock>,
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
            None => Some(Lock::acquire(
                &self.refresh_lock(name)?,
                self.limits.refresh_wait,
            )?),
        };
        let Some(login) = self.login(name)? else {
            return Ok(RefreshDecision::NoTokens);
        };
        Ok(match login.tokens.clone() {
            None => RefreshDecision::NoTokens,
            Some(tokens) if tokens.access_token != *seen => RefreshDecision::Replaced(login),
            Some(tokens) => RefreshDecision::Permitted(RefreshPermit {
                store: self.clone(),
                name: name.to_owned(),
                login,
                tokens: Box::new(tokens),
                _lock: lock,
            }),
        })
    }

    /// Lock file of one login, so that a slow authorization server delays no other login.
    fn refresh_lock(&self, name: &str) -> Result<PathBuf, StoreError> {
        let mut suffix = ".refresh-".to_owned();
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
