use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_mcp::BoxFuture;
use tokio::time::timeout;

use super::ask::{Consent, ConsentError};
use crate::Secret;
use crate::browser::{Browser, PageUrl};
use crate::callback_listener::{CallbackListener, Page, Redirect};

/// Opens the page in the browser of this machine, and waits for the browser to come back.
pub struct BrowserConsent {
    listener: CallbackListener,
    browser: Option<Browser>,
    notice: Box<dyn Fn(&str) + Send + Sync>,
    /// The browsers that came back and wait for their page.
    waiting: Mutex<Vec<(Secret, Redirect)>>,
}

impl BrowserConsent {
    /// Opens pages with `browser`, which comes back to `listener`; without one, a person opens them.
    ///
    /// `notice` is told the URL of each page before it is opened: whoever sees no browser can open it
    /// by hand.
    pub fn new(
        listener: CallbackListener,
        browser: impl Into<Option<Browser>>,
        notice: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            listener,
            browser: browser.into(),
            notice: Box::new(notice),
            waiting: Mutex::default(),
        }
    }

    /// Keeps the browser of a redirect waiting; those that gave up are forgotten.
    ///
    /// So there are no more than the listener has connections.
    fn keep(&self, state: &Secret, redirect: Redirect) {
        let mut waiting = self.waiting();
        waiting.retain(|(_, redirect)| !redirect.is_too_late());
        waiting.push((state.clone(), redirect));
    }

    fn take(&self, state: &Secret) -> Option<Redirect> {
        let mut waiting = self.waiting();
        let at = waiting.iter().position(|(known, _)| known == state)?;
        Some(waiting.swap_remove(at).1)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(Secret, Redirect)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a browser may take to read its page.
const READING: Duration = Duration::from_secs(2);

impl Consent for BrowserConsent {
    fn redirect_uri(&self) -> String {
        self.listener.redirect_uri()
    }

    fn has_usual_redirect_uri(&self) -> bool {
        self.listener.is_at_configured_address()
    }

    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>> {
        Box::pin(async move {
            let waiter = self.listener.wait_for(state)?;
            (self.notice)(page.as_str());
            if let Some(browser) = &self.browser
                && let Err(error) = browser.open(page.as_str()).await
            {
                tracing::warn!(%error, "the page has to be opened by hand");
            }
            let redirect = waiter.redirect().await?;
            let query = redirect.query().expose().to_owned();
            self.keep(state, redirect);
            Ok(query)
        })
    }

    fn conclude<'a>(&'a self, state: &'a Secret, page: Page) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(redirect) = self.take(state) {
                // Who reads slower than that sees less, but logs in all the same.
                let _ = timeout(READING, redirect.show(page)).await;
            }
        })
    }
}

impl fmt::Debug for BrowserConsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserConsent")
            .field("listener", &self.listener)
            .field("browser", &self.browser)
            .finish_non_exhaustive()
    }
}
