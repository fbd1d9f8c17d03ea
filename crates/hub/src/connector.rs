use std::future::ready;
use std::sync::Arc;

use callgate_mcp::upstream::{Process, Remote, StreamPair};
use callgate_mcp::{BoxFuture, Error, Kind, Service, Version};

use crate::reconnect::{Failure, Lock};

/// Connects to one server.
///
/// The hub knows neither configurations nor logins: what builds the hub brings a connector for each
/// server that does. A function that makes an upstream is the simplest one:
///
/// ```
/// use std::sync::Arc;
///
/// use callgate_hub::{ServerConfig, ServerName, Upstream};
/// use callgate_mcp::upstream::{ChildConfig, Process};
///
/// let connect = || {
///     let process = Process::spawn(&ChildConfig::new("files", "files-server"))?;
///     Ok(Arc::new(process) as Arc<dyn Upstream>)
/// };
/// let config = ServerConfig::new(ServerName::new("files")?, Arc::new(connect));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

impl<F> Connector for F
where
    F: Fn() -> Result<Arc<dyn Upstream>, Error> + Send + Sync + 'static,
{
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        Box::pin(async { self() })
    }
}

/// Connection to one server: a service that ends.
pub trait Upstream: Service {
    /// Waits until the connection has ended, and returns the error that calls fail with.
    fn closed(&self) -> BoxFuture<'_, Error>;

    /// Ends the connection in good order: a process exits, a session is closed.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Waits until the connection can be dropped without a loss. The hub waits for it when it gives up an attempt to
    /// connect, also before it is closed: the attempt may have begun to refresh a token that is issued only once.
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Finds out whether the server can still be reached, where [`Upstream::closed`] does not tell. The hub asks for
    /// it from time to time, so it should cost the server next to nothing. Dropping the future gives up.
    ///
    /// # Errors
    /// The server cannot be reached.
    fn check(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(ready(Ok(())))
    }

    /// Revision of the protocol that the server speaks, once it is known.
    fn version(&self) -> Option<Version> {
        None
    }

    /// Id of the process that was started for the connection, if there is one. Where the process has a
    /// supervisor, it is that of the supervisor, which is the root of the process tree.
    fn process_id(&self) -> Option<u32> {
        None
    }
}

macro_rules! upstream {
    ($type:ty, $process_id:expr, $check:expr) => {
        impl Upstream for $type {
            fn closed(&self) -> BoxFuture<'_, Error> {
                Box::pin(async { self.closed().await.to_error() })
            }

            fn close(&self) -> BoxFuture<'_, ()> {
                Box::pin(async {
                    self.close().await;
                })
            }

            fn check(&self) -> BoxFuture<'_, Result<(), Error>> {
                let check: fn(&$type) -> BoxFuture<'_, Result<(), Error>> = $check;
                check(self)
            }

            fn version(&self) -> Option<Version> {
                self.version()
            }

            fn process_id(&self) -> Option<u32> {
                let process_id: fn(&$type) -> Option<u32> = $process_id;
                process_id(self)
            }
        }
    };
}

upstream!(Process, Process::process_id, |_| Box::pin(ready(Ok(()))));
upstream!(Remote, |_| None, |remote| Box::pin(remote.check()));
upstream!(StreamPair, |_| None, |_| Box::pin(ready(Ok(()))));
