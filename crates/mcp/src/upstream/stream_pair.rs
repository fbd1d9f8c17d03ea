use std::sync::Arc;

use callgate_wire::Version;
use tokio::io::{AsyncRead, AsyncWrite};

use super::config::UpstreamConfig;
use super::detection::{Detected, Detection};
use super::era::Era;
use super::line_detection::{connect, probe};
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::line::{self, Link, ModernConnection};
use crate::transport::{CloseReason, ConnectionState, MessageObserver};

/// A server of any revision at the other end of a pair of byte streams, one message per line.
///
/// The first call detects the revision, and all calls share the outcome; a server that speaks both
/// eras is used in that of the first caller. Dropping it closes both streams.
pub struct StreamPair {
    detection: Detection,
    name: Arc<str>,
    connection: ModernConnection,
    assumed: Option<Era>,
    config: UpstreamConfig,
}

impl StreamPair {
    /// Connects to the server `name` by these streams. Needs a tokio runtime.
    pub fn new<R, W>(
        name: impl Into<Arc<str>>,
        reader: R,
        writer: W,
        line: line::LineConfig,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::observed(name, reader, writer, line, None)
    }

    /// Connects as [`StreamPair::new`] does; `observer` sees every line.
    pub fn observed<R, W>(
        name: impl Into<Arc<str>>,
        reader: R,
        writer: W,
        line: line::LineConfig,
        observer: Option<MessageObserver>,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let name = name.into();
        let connection = ModernConnection::observed(name.clone(), reader, writer, line, observer);
        Self {
            detection: Detection::new(&connection.link),
            name,
            connection,
            assumed: None,
            config: UpstreamConfig::default(),
        }
    }

    /// Sets timeouts and limits.
    #[must_use]
    pub fn with_config(mut self, config: UpstreamConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the era of the server, which is not detected then.
    #[must_use]
    pub fn assume(mut self, era: Era) -> Self {
        self.assumed = Some(era);
        self
    }

    /// Revision that the server speaks; `None` until a call has detected it.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.detection.version()
    }

    /// State of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.detection.state()
    }

    /// Waits until a stream has ended or the detection has failed, and returns the reason.
    ///
    /// Returns at once if that has happened already. Dropping the future is safe.
    pub async fn closed(&self) -> CloseReason {
        self.detection.closed().await
    }

    /// Forgets the outcome of the detection: the next call detects the revision again.
    ///
    /// This is for a detection that failed while the streams are open, for example by a timeout.
    /// Streams that have ended are replaced by a new value.
    pub fn reset(&self) {
        let link = &self.connection.link;
        // A handshake that failed may have left its sink behind.
        link.clear_message_sink();
        self.detection.reset(link);
    }

    /// Number of lines from the server that were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.connection.malformed_lines()
    }
}

impl Service for StreamPair {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let translated_from = call.cx.source.translated_from;
        self.detection.call(&self.name, call, move |_watcher| {
            let link = self.connection.link.clone();
            detect(link, self.assumed, translated_from, self.config.clone())
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        let translated_from = notification.cx.source.translated_from;
        let passing = self
            .detection
            .notify(&self.name, notification, move |_watcher| {
                let link = self.connection.link.clone();
                detect(link, self.assumed, translated_from, self.config.clone())
            });
        Box::pin(passing)
    }
}

async fn detect(
    link: Arc<Link>,
    assumed: Option<Era>,
    translated_from: Option<Version>,
    config: UpstreamConfig,
) -> Result<Detected, Error> {
    let probe = probe(&link, assumed, translated_from, &config).await?;
    connect(&link, probe, config).await
}
