use std::sync::Arc;

use callgate_wire::Version;

use super::config::Config;
use super::identity::Identity;
use super::transport::{Hearing, Transport};
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};

/// An old server after the handshake, as a service of the newest revision.
///
/// Dropping it drops its transport.
pub(crate) struct Session {
    name: Arc<str>,
    transport: Arc<dyn Transport>,
    version: Version,
}

impl Session {
    /// Performs the handshake. `hearing` gets what the server sends outside of our requests.
    ///
    /// # Errors
    /// The server does not answer in time, refuses, or speaks no revision that we know.
    pub(crate) async fn open(
        name: Arc<str>,
        transport: Arc<dyn Transport>,
        _hearing: Hearing,
        _identity: &Identity,
        _config: Config,
    ) -> Result<Arc<Self>, Error> {
        transport.negotiated(Version::V2025_11_25);
        Ok(Arc::new(Self {
            name,
            transport,
            version: Version::V2025_11_25,
        }))
    }

    /// The revision of the handshake.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Whether the connection or the session is gone for good.
    pub(crate) fn is_over(&self) -> bool {
        self.transport.is_over()
    }
}

impl Service for Session {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let text = format!("`{}` cannot be asked for `{}` yet", self.name, call.method);
        Box::pin(async move { Err(Error::internal(text)) })
    }
}
