use std::fmt;
use std::future::ready;
use std::io;
use std::time::Duration;

use callgate_mcp::BoxFuture;

use crate::Secret;
use crate::browser::PageUrl;
use crate::callback_listener::{Page, WaitError};

/// Asks a person for consent.
pub trait Consent: fmt::Debug + Send + Sync + 'static {
    /// Where the authorization server is to send the browser afterwards.
    fn redirect_uri(&self) -> String;

    /// Whether [`redirect_uri`](Self::redirect_uri) is the one that clients are registered with.
    ///
    /// If it is not, only a client that is registered just now is good for it:
    /// see [`Options::for_new_redirect_uri`](crate::registration::Options::for_new_redirect_uri).
    fn has_usual_redirect_uri(&self) -> bool {
        true
    }

    /// Has a person open `page`, and returns the URL that the browser was sent to afterwards, or its query.
    ///
    /// It may hold a code, so it is a secret.
    /// What comes back has not been checked: that is what [`Flow::redirect`](crate::flow::Flow::redirect) does.
    /// Dropping the future ends the wait.
    ///
    /// # Errors
    /// Nobody answered.
    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>>;

    /// Shows the person how the login with `state` has ended, if there is still a place for it.
    ///
    /// Returns once it is shown, so that the program may end.
    fn conclude<'a>(&'a self, _state: &'a Secret, _page: Page) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }
}

/// Why nobody answered.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// The browser did not come back.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// Nobody pasted anything in time.
    #[error("nobody finished the login within {0:?}")]
    TimedOut(Duration),
    /// The input ended before anything was pasted.
    #[error("the input ended before the URL of the redirect")]
    Ended,
    /// Nobody pastes that much.
    #[error("the pasted text is longer than {limit} bytes")]
    TooLong {
        /// The most bytes.
        limit: usize,
    },
    /// The input cannot be read.
    #[error("cannot read what was pasted")]
    Input(#[source] io::Error),
}
