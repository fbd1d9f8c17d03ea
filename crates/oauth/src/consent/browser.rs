use std::fmt;

use callgate_mcp::BoxFuture;

use super::ask::{Consent, ConsentError};
use crate::Secret;
use crate::browser::{Browser, PageUrl};
use crate::callback_listener::CallbackListener;

/// Opens the page in the browser of this machine, and waits for the browser to come back.
pub struct BrowserConsent {
    listener: CallbackListener,
    browser: Browser,
    notice: Box<dyn Fn(&str) + Send + Sync>,
}

impl BrowserConsent {
    /// Opens pages with `browser`, which comes back to `listener`.
    ///
    /// `notice` is told the URL of each page before it is opened: a person without a browser here can
    /// open it by hand.
    pub fn new(
        listener: CallbackListener,
        browser: Browser,
        notice: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            listener,
            browser,
            notice: Box::new(notice),
        }
    }
}

impl Consent for BrowserConsent {
    fn redirect_uri(&self) -> String {
        self.listener.redirect_uri()
    }

    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>> {
        Box::pin(async move {
            let waiter = self.listener.wait_for(state)?;
            (self.notice)(page.as_str());
            if let Err(error) = self.browser.open(page.as_str()).await {
                tracing::warn!(%error, "cannot open a browser");
            }
            let redirect = waiter.redirect().await?;
            Ok(redirect.query().expose().to_owned())
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
