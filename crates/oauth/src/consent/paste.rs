use std::fmt;
use std::time::Duration;

use callgate_mcp::BoxFuture;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::ask::{Consent, ConsentError};
use crate::Secret;
use crate::browser::PageUrl;

/// Has a person open the page anywhere, and paste the URL that their browser ends up at.
///
/// The browser cannot load that URL, and need not: it stands in the address bar.
pub struct PasteConsent {
    redirect_uri: String,
    notice: Box<dyn Fn(&str) + Send + Sync>,
    input: Mutex<Box<dyn AsyncBufRead + Send + Unpin>>,
}

impl PasteConsent {
    /// How long a person may take.
    pub const PATIENCE: Duration = Duration::from_secs(300);

    /// The most bytes of a line that is pasted.
    pub const MAX_BYTES: usize = 32 * 1024;

    /// Tells `notice` the URL of each page, and reads the answer as a line of `input`.
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
                _ => return Ok(line.trim().to_owned()),
            }
        }
    }
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
            let pasted = timeout(Self::PATIENCE, self.paste(page)).await;
            pasted.unwrap_or(Err(ConsentError::TimedOut(Self::PATIENCE)))
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
