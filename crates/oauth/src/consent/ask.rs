use std::fmt;
use std::future::ready;
use std::io;
use std::time::Duration;

use callgate_mcp::BoxFuture;

use crate::Secret;
use crate::browser::PageUrl;
use crate::callback_listener::{Page, WaitError};

/// Asks the user for consent.
pub trait Consent: fmt::Debug + Send + Sync + 'static {
    /// Redirect URI of the authorization request.
    fn redirect_uri(&self) -> String;

    /// Returns true if [`redirect_uri`](Self::redirect_uri) is the one that clients are registered
    /// with.
    ///
    /// Otherwise only a client that is registered in this login can be used.
    fn has_usual_redirect_uri(&self) -> bool {
        true
    }

    /// Has the user open `page`, and returns the redirect URL of the browser, or its query.
    ///
    /// It may contain a code, so it is a secret. It has not been checked yet. Dropping the future
    /// ends the wait.
    ///
    /// # Errors
    /// The user did not answer.
    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>>;

    /// Shows the user the result of the login with `state`, if possible.
    ///
    /// Returns once it is shown, so that the program may exit.
    fn conclude<'a>(&'a self, _state: &'a Secret, _page: Page) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }
}

/// The user did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsentError {
    /// The browser did not return.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The time passed without a pasted address.
    #[error("the login was not finished within {0:?}")]
    TimedOut(Duration),
    /// The input ended before anything was pasted.
    #[error("the input ended before the URL of the redirect")]
    Ended,
    /// The pasted text is too long.
    #[error("the pasted text is longer than {limit} bytes")]
    TooLong {
        /// Limit in bytes.
        limit: usize,
    },
    /// The input cannot be read.
    #[error("cannot read what was pasted")]
    Input(#[source] io::Error),
}
