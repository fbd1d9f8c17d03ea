use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::disk::beside;
use super::error::StoreError;
use super::lock::Lock;
use super::login::{Login, Tokens};
use super::login_store::Store;
use crate::secret::Secret;

/// What to do about an access token that no longer works.
#[derive(Debug)]
pub enum Refresh {
    /// Somebody has replaced it already: use this login.
    Changed(Login),
    /// It is ours to replace; everybody else waits.
    Ours(Ticket),
    /// There are no tokens any more: log in.
    Gone,
}

/// The right to refresh the tokens of one login, which ends when it is dropped.
///
/// Dropping it is what to do when the refresh failed without an answer: the tokens stay.
#[derive(Debug)]
pub struct Ticket {
    store: Store,
    name: String,
    login: Login,
    tokens: Box<Tokens>,
    _lock: Lock,
}

impl Store {
    /// Asks to replace the tokens of a login because its access token, `seen`, no longer works.
    ///
    /// Waits while somebody else is at it, in whichever process.
    ///
    /// # Errors
    /// The file cannot be read, or somebody has been refreshing for too long.
    pub fn begin_refresh(&self, name: &str, seen: &Secret) -> Result<Refresh, StoreError> {
        let lock = Lock::acquire(&self.refresh_lock(name), self.limits.refresh_wait)?;
        let Some(login) = self.login(name)? else {
            return Ok(Refresh::Gone);
        };
        Ok(match login.tokens.clone() {
            None => Refresh::Gone,
            Some(tokens) if tokens.access_token != *seen => Refresh::Changed(login),
            Some(tokens) => Refresh::Ours(Ticket {
                store: self.clone(),
                name: name.to_owned(),
                login,
                tokens: Box::new(tokens),
                _lock: lock,
            }),
        })
    }

    /// One for each login, so that a slow authorization server holds up nobody else.
    fn refresh_lock(&self, name: &str) -> std::path::PathBuf {
        let mut suffix = ".refresh-".to_owned();
        for byte in Sha256::digest(name).iter().take(8) {
            write!(suffix, "{byte:02x}").expect("a string can be written");
        }
        beside(&self.path, &(suffix + ".lock"))
    }
}

impl Ticket {
    /// The login as it is now.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// The tokens to replace.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Makes sure that tokens can be stored, before the old ones are given away for them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn rehearse(&self) -> Result<(), StoreError> {
        self.store.rehearse()
    }

    /// Stores what the authorization server gave; what it left out stays. Returns the login to use.
    ///
    /// If the user has logged in or out meanwhile, that stays instead: without a login to use, log
    /// in. After an error it can be tried again, while everybody else still waits.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn complete(&self, tokens: Tokens) -> Result<Option<Login>, StoreError> {
        let tokens = tokens.renewing(&self.tokens);
        self.settle(Some(tokens))
    }

    /// Forgets the tokens because the authorization server said that they are worth nothing.
    ///
    /// If others are there by now, they stay and are returned: the server spoke of ours.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn reject(&self) -> Result<Option<Login>, StoreError> {
        self.settle(None)
    }

    /// Forgets the refresh token because the authorization server said that it is worth nothing; the
    /// access token stays until it ends.
    ///
    /// If others are there by now, they stay and are returned.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn reject_refresh_token(&self) -> Result<Option<Login>, StoreError> {
        let mut tokens = Tokens::clone(&self.tokens);
        tokens.refresh_token = None;
        self.settle(Some(tokens))
    }

    /// Replaces the tokens, if they are still the ones that this ticket is for.
    fn settle(&self, tokens: Option<Tokens>) -> Result<Option<Login>, StoreError> {
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
