use std::sync::Arc;

use callgate_mcp::transport::http::client::{Authorizer, Credentials, Outgoing, Refused, Verdict};
use callgate_mcp::{BoxFuture, Error};
use http::{HeaderMap, StatusCode};

use super::config::Config;
use super::error::{KeeperError, NeedsLogin, Reason};
use super::status::Status;
use crate::store::Login;

/// Gets the tokens for one server, keeps them and renews them.
#[derive(Debug)]
pub struct Keeper {
    config: Config,
}

/// Whether a login that works is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogIn {
    /// Only log in if the server refuses what there is.
    IfNeeded,
    /// Log in whatever there is.
    Again,
}

/// What became of the tokens at the authorization server when a login was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// It was told that they are not used any more.
    Revoked,
    /// It cannot be told.
    Unsupported,
    /// It could not be told now.
    Failed,
    /// There was no login.
    NoLogin,
}

impl Keeper {
    /// Keeps the tokens for one server. Nothing is read or sent yet.
    #[must_use]
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self { config })
    }

    /// Makes sure that there is a login, through the consent of a person if need be.
    ///
    /// # Errors
    /// There is none.
    pub async fn log_in(&self, _when: LogIn) -> Result<Status, KeeperError> {
        Err(self.needs_login())
    }

    /// Tells the authorization server that the tokens are not used any more, and forgets everything.
    ///
    /// # Errors
    /// The login could not be forgotten.
    pub async fn log_out(&self) -> Result<Revocation, KeeperError> {
        Err(self.needs_login())
    }

    /// What is known about the login.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn status(&self) -> Result<Status, KeeperError> {
        Ok(Status::of(&Login::default()))
    }

    fn needs_login(&self) -> KeeperError {
        KeeperError::NeedsLogin(NeedsLogin {
            server: self.config.server.clone(),
            reason: Reason::NoLogin,
        })
    }
}

impl Authorizer for Keeper {
    fn credentials<'a>(
        &'a self,
        _request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials::none()) })
    }

    fn observe(&self, _status: StatusCode, _headers: &HeaderMap) {}

    fn refused<'a>(&'a self, _refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let error = Arc::new(self.needs_login()).of_request(&self.config.name);
        Box::pin(async { Err(error) })
    }
}
