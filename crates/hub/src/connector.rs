use std::sync::Arc;

use callgate_mcp::upstream::{Process, Remote, StreamPair};
use callgate_mcp::{BoxFuture, Error, Kind, Service};

use crate::reconnect::{Failure, Lock};

/// Connects to one server.
///
/// The hub knows neither configurations nor logins: what builds the hub brings a connector for each
/// server that does.
pub trait Connector: Send + Sync + 'static {
    /// Starts a process, or opens what is needed to send requests. Dropping the future gives up.
    ///
    /// The hub asks the server what it is next, under the timeout of a connection.
    ///
    /// # Errors
    /// The server cannot be started or reached.
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>>;

    /// Says what a failure to connect means: whether a person must act before the next attempt.
    fn failure(&self, error: &Error) -> Failure {
        match error.kind() {
            Kind::Unauthorized => Failure::Locked(Lock::NeedsAuth),
            _ => Failure::Transient {
                retry_after: error.retry_after(),
            },
        }
    }
}

/// Connection to one server: a service that ends.
pub trait Upstream: Service {
    /// Waits until the connection has ended, and returns the error that calls fail with.
    fn closed(&self) -> BoxFuture<'_, Error>;

    /// Ends the connection in good order: a process exits, a session is closed.
    fn close(&self) -> BoxFuture<'_, ()>;
}

macro_rules! upstream {
    ($type:ty) => {
        impl Upstream for $type {
            fn closed(&self) -> BoxFuture<'_, Error> {
                Box::pin(async { self.closed().await.to_error() })
            }

            fn close(&self) -> BoxFuture<'_, ()> {
                Box::pin(async {
                    self.close().await;
                })
            }
        }
    };
}

upstream!(Process);
upstream!(Remote);
upstream!(StreamPair);
