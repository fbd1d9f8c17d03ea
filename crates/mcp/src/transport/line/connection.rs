use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::config::Config;
use super::link::{EndOnDrop, Link};
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};

/// A server at the other end of a pair of byte streams.
///
/// Calls share the connection; each has an id of its own there, which is also its progress token.
/// Progress reaches the caller under its own token, or under the id of the call where it has none.
/// Dropping an unanswered call sends exactly one `notifications/cancelled`.
/// Dropping the connection closes both streams.
#[derive(Debug)]
pub struct Connection {
    link: Arc<Link>,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Talks to the server `name` by these streams. Needs a tokio runtime.
    pub fn new<R, W>(name: impl Into<Arc<str>>, reader: R, writer: W, config: Config) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let link = Arc::new(Link::new(name.into(), config));
        let guard = EndOnDrop(link.clone());
        let driver = tokio::spawn(async move {
            let end = guard.0.drive(reader, writer).await;
            guard.0.end(&end);
        });
        Self { link, driver }
    }

    /// The lines to and from the server.
    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// How many lines from the server were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.link.malformed_lines()
    }

    /// Sends no more, and waits up to `patience` for the server to finish.
    pub async fn close(mut self, patience: Duration) {
        self.link.finish();
        // Where the server has not finished by then, dropping the connection ends it.
        let _ = timeout(patience, &mut self.driver).await;
    }
}

impl Service for Connection {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.link.call(call))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
