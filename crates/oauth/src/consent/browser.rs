use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_mcp::BoxFuture;

use super::ask::{Consent, ConsentError};
use crate::Secret;
use crate::browser::{Browser, BrowserProcess, OpenError, PageUrl};
use crate::callback_listener::{CallbackListener, Page, Redirect};

/// Opens the page in the browser of this machine, and waits for the redirect.
pub struct BrowserConsent {
    listener: CallbackListener,
    browser: Option<Browser>,
    notify: Notify,
    /// Browsers that were redirected and wait for the final page.
    waiting: Mutex<Vec<(Secret, Redirect)>>,
}

/// Message to the user during a login in the browser.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// URL of the page, before it is opened: a user who sees no browser opens it by hand.
    Page(&'a str),
    /// The browser did not open the page.
    ///
    /// May come after the login: some programs are the browser itself and exit when the user closes it.
    NotOpened(&'a OpenError),
}

type Notify = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

impl BrowserConsent {
    /// Opens pages with `browser`; without one, the user opens them. `notify` tells the user.
    pub fn new(
        listener: CallbackListener,
        browser: impl Into<Option<Browser>>,
        notify: impl Fn(Notice<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            listener,
            browser: browser.into(),
            notify: Arc::new(notify),
            waiting: Mutex::default(),
        }
    }

    /// Keeps the browser of a redirect waiting, and drops those that have disconnected.
    ///
    /// So there are never more than the listener has connections.
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
            (self.notify)(Notice::Page(page.as_str()));
            match self.browser.as_ref().map(|it| it.open(page.as_str())) {
                Some(Ok(process)) => watch(process, self.notify.clone()),
                Some(Err(error)) => (self.notify)(Notice::NotOpened(&error)),
                None => {}
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
                // Bounded by the listener, which ends a connection that is not read.
                redirect.show(page).await;
            }
        })
    }
}

/// Reports a failure of the browser program whenever it comes.
///
/// A slow machine needs seconds before the program can even fail, and a browser in the foreground runs
/// until the user closes it. So the exit itself is awaited, beside the login and beyond it.
fn watch(process: BrowserProcess, notify: Notify) {
    tokio::spawn(async move {
        if let Err(error) = process.exit().await {
            notify(Notice::NotOpened(&error));
        }
    });
}

impl fmt::Debug for BrowserConsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserConsent")
            .field("listener", &self.listener)
            .field("browser", &self.browser)
            .finish_non_exhaustive()
    }
}
