use std::fmt;
use std::time::Duration;

use callgate_mcp::BoxFuture;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::ask::{Consent, ConsentError};
use crate::Secret;
use crate::browser::PageUrl;

/// Has the user open the page anywhere, and paste the URL that the browser ends up at.
///
/// The browser cannot load that URL and need not: the user copies it from the address bar.
/// Concurrent logins are asked one after the other. If a login is dropped while its line is read,
/// the line is lost.
pub struct PasteConsent {
    redirect_uri: String,
    notice: Box<dyn Fn(&str) + Send + Sync>,
    input: Mutex<Box<dyn AsyncBufRead + Send + Unpin>>,
}

impl PasteConsent {
    /// Time limit for the user.
    pub const TIMEOUT: Duration = Duration::from_secs(300);

    /// Maximum bytes of a pasted line.
    pub const MAX_BYTES: usize = 32 * 1024;

    /// Passes the URL of each page to `notice`, and reads the answer as a line of `input`.
    pub fn new(
        redirect_uri: impl Into<String>,
        notice: impl Fn(&str) + Send + Sync + 'static,
        input: impl AsyncBufRead + Send + Unpin + 'static,
    ) -> Self {
        Self {
            redirect_uri: redirect_uri.into(),
            notice: Box::new(notice),
            input: Mutex::new(Box::new(input)),
        }
    }

    async fn paste(&self, page: &PageUrl) -> Result<String, ConsentError> {
        let mut input = self.input.lock().await;
        (self.notice)(page.as_str());
        loop {
            let mut line = String::new();
            let limit = Self::MAX_BYTES + 1;
            let read = (&mut *input).take(limit as u64).read_line(&mut line).await;
            match read.map_err(ConsentError::Input)? {
                0 => return Err(ConsentError::Ended),
                length if length == limit => {
                    return Err(ConsentError::TooLong {
                        limit: Self::MAX_BYTES,
                    });
                }
                _ if line.trim().is_empty() => {}
                _ => return Ok(unquoted(line.trim()).to_owned()),
            }
        }
    }
}

/// Text without the quotes around it, which users add out of habit at a shell.
fn unquoted(line: &str) -> &str {
    let inside = |quote| line.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(line)
}

impl Consent for PasteConsent {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        _state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>> {
        Box::pin(async move {
            let pasted = timeout(Self::TIMEOUT, self.paste(page)).await;
            pasted.unwrap_or(Err(ConsentError::TimedOut(Self::TIMEOUT)))
        })
    }
}

impl fmt::Debug for PasteConsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasteConsent")
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}
