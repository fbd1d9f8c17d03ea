use std::sync::Arc;

use callgate_wire::Version;
use tokio::io::{AsyncRead, AsyncWrite};

use super::config::Config;
use super::era::{Era, probe};
use super::identity::Identity;
use super::speaker::{Broken, Found, Speaker, meet};
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::line::{self, Connection};

/// A server of any revision at the other end of a pair of byte streams, one message per line.
///
/// The first call finds out which revision it speaks, and all calls share what was found.
/// Dropping it closes both streams.
pub struct Stream {
    speaker: Speaker,
    name: Arc<str>,
    connection: Arc<Connection>,
    assumed: Option<Era>,
    config: Config,
}

impl Stream {
    /// Talks to the server `name` by these streams. Needs a tokio runtime.
    pub fn new<R, W>(
        name: impl Into<Arc<str>>,
        reader: R,
        writer: W,
        line: line::Config,
        config: Config,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let name = name.into();
        let connection = Connection::new(name.clone(), reader, writer, line);
        Self {
            speaker: Speaker::default(),
            name,
            connection: Arc::new(connection),
            assumed: None,
            config,
        }
    }

    /// The same server, of which the era is known already: it is not asked.
    #[must_use]
    pub fn assume(mut self, era: Era) -> Self {
        self.assumed = Some(era);
        self
    }

    /// The revision that the server speaks; `None` until a call has found out.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.speaker.version()
    }

    /// How many lines from the server were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.connection.malformed_lines()
    }
}

impl Service for Stream {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.speaker.call(call, || {
            let (name, connection) = (self.name.clone(), self.connection.clone());
            let (assumed, config) = (self.assumed, self.config);
            async move {
                let found = find(connection, assumed, config).await;
                found.unwrap_or_else(|error| Found::Broken(Broken::new(&name, &error)))
            }
        })
    }
}

async fn find(
    connection: Arc<Connection>,
    assumed: Option<Era>,
    config: Config,
) -> Result<Found, Error> {
    let identity = Identity::of_everybody();
    let link = connection.link().clone();
    let era = match assumed {
        Some(era) => era,
        None => probe(&link, &identity, &config).await?,
    };
    meet(&link, connection, era, &identity, config).await
}
