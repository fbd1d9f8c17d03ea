use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::config::LineConfig;
use super::link::{CloseOnDrop, Link};
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::{CloseReason, ConnectionState, MessageObserver};

/// A server of the newest revision at the other end of a pair of byte streams.
///
/// A server of an older revision is not recognized here; see
/// [`StreamPair`](crate::upstream::StreamPair).
///
/// Calls share the connection; each has an id of its own on it, which is also its progress token.
/// Progress reaches the caller under the token that it gave, or else under the id of its call.
/// Dropping an unanswered call sends exactly one `notifications/cancelled`.
/// Dropping the connection closes both streams.
#[derive(Debug)]
pub struct ModernConnection {
    pub(crate) link: Arc<Link>,
    driver: JoinHandle<()>,
}

impl ModernConnection {
    /// Connects to the server `name` by these streams. Needs a tokio runtime.
    pub fn new<R, W>(name: impl Into<Arc<str>>, reader: R, writer: W, config: LineConfig) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::observed(name, reader, writer, config, None)
    }

    /// Connects as [`ModernConnection::new`] does; `observer` sees every line.
    pub fn observed<R, W>(
        name: impl Into<Arc<str>>,
        reader: R,
        writer: W,
        config: LineConfig,
        observer: Option<MessageObserver>,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let link = Arc::new(Link::new(name.into(), config, observer));
        // If the task is aborted, or the runtime ends, the calls in flight fail and do not wait for ever.
        let guard = CloseOnDrop(link.clone());
        let driver = tokio::spawn(async move {
            let reason = guard.0.drive(reader, writer).await;
            guard.0.close(&reason);
        });
        Self { link, driver }
    }

    /// State of the connection, which is never `NotConnected`.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.link.state()
    }

    /// Waits until the connection is closed, and returns the reason. Dropping the future is safe.
    pub async fn closed(&self) -> CloseReason {
        self.link.closed().await
    }

    /// Number of lines from the server that were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.link.malformed_lines()
    }

    /// Sends no more, and waits up to `limit` for the server to close its side.
    pub async fn close(mut self, limit: Duration) {
        self.link.finish();
        // If the server has not closed its side by then, the drop of `self` closes the connection.
        let _ = timeout(limit, &mut self.driver).await;
    }
}

impl Service for ModernConnection {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.link.call(call))
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.link.pass_on(notification).await })
    }
}

impl Drop for ModernConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
